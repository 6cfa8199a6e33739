"""Reads a workflow file of any format, which its name determines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from headway.formats.base import WorkflowFormat
from headway.garbage import collecting_later
from headway.model.errors import InputError
from headway.model.instance import Instance
from headway.registry import WithPlugins

KNOWN = ".yaml or .yml (Headway), .json (WfFormat), .dax or .xml (Pegasus); the last three also with .gz"


def read_instance(
    path: Path,
    config: Mapping[str, str | list[str]] | None = None,
    is_stray: Callable[[str], bool] = lambda path: False,
) -> Instance:
    """The workflow in the file at `path`, with recorded figures of an execution if there are any.

    `config` replaces values of the key `config`, which only Headway's own files have. `is_stray`: see `read_workflow`.
    A pipe whose name does not tell its format holds such a file.
    """
    name = path.name.lower()
    ending = Path(name.removesuffix(".gz")).suffix
    piped = not ending and path.is_fifo()  # `headway show <(program)`
    if config and ending not in (".yaml", ".yml") and not piped:
        todo = "leave it out: only Headway's workflow files have 'config'"
        raise InputError(f"there is no {next(iter(config))!r} in {path}", where="--set", todo=todo)
    with collecting_later():
        if ending in (".yaml", ".yml") and not name.endswith(".gz"):
            from headway.formats.headway_yaml import read_workflow

            return Instance(read_workflow(path, config, is_stray))
        if piped:  # it has no telling name, and no directory
            from headway.formats.headway_yaml import parse_workflow

            return Instance(parse_workflow(*_content(path), Path(), config))
        if ending == ".json":
            from headway.formats.wfformat import parse_wfformat

            return parse_wfformat(*_content(path))
        if ending in (".dax", ".xml"):
            from headway.formats.pegasus_dax import parse_dax

            return parse_dax(*_content(path))
        plugins = WithPlugins[WorkflowFormat]("headway.formats", {})
        for added in plugins.values():
            if ending in added.endings:
                return added.read(*_content(path))
    known = "; ".join([KNOWN, *(added.words for added in plugins.values())])
    raise InputError("the file's name does not tell its format", where=str(path), todo=f"known are {known}")


def has_format(path: Path) -> bool:
    """Whether a plugin reads files with this name."""
    plugins = WithPlugins[WorkflowFormat]("headway.formats", {})
    return any(Path(path.name.lower().removesuffix(".gz")).suffix in added.endings for added in plugins.values())


def _content(path: Path) -> tuple[bytes, str]:
    from headway.formats.safe_yaml import shown
    from headway.formats.unpacked import read_unpacked

    return read_unpacked(path), shown(path)
