"""Workflow files, as users name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from headway.formats.read_any import has_format, read_instance
from headway.model.errors import InputError
from headway.model.instance import Instance

_ENDINGS = (".yaml", ".yml", ".json", ".json.gz", ".dax", ".dax.gz", ".xml", ".xml.gz")


def names_file(path: Path, usual: Path = Path("workflow.yaml")) -> bool:
    """Whether the first argument of `headway run` names a workflow file rather than a task of the `usual` one."""
    if path.name.lower().endswith(_ENDINGS) or not usual.exists():
        return True
    if path.is_dir():
        return (path / usual.name).is_file()
    return path.is_file() and has_format(path)


def config_values(given: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """Return values for `config` as text, as in a workflow file: `{"n": 3}` gives `{"n": "3"}`."""
    return {
        name: list(map(_text, value)) if isinstance(value, list | tuple) else _text(value)
        for name, value in given.items()
    }


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_instance_file(path: Path, config: Mapping[str, str | list[str]] | None = None) -> Instance:
    """Read the workflow at `path`, in any format, with the execution that the file records.

    `config` replaces values of the key `config`. The InputError for a missing file suggests workflow files nearby.
    """
    if path.is_dir():
        inside = path / "workflow.yaml"
        todo = f"name the file: {inside}" if inside.is_file() else "name a file in it"
        raise InputError("this is a directory", where=str(path), todo=todo)
    if not path.exists():
        near = [other for other in path.parent.glob("*") if other.name.lower().endswith(_ENDINGS) and other.is_file()]
        here = [str(other) for other in sorted(near, key=lambda other: (other.suffix != path.suffix, other))]
        todo = f"here are {', '.join(here[:5])}" if here else "`headway init` writes one to start from"
        raise InputError("there is no such file", where=str(path), todo=todo)
    return read_instance(path, config, _made_here(path.absolute()))


def _made_here(path: Path) -> Callable[[str], bool]:
    """Return what says of a file beside a workflow file whether an earlier run made it; few workflows ask."""

    @cache
    def says() -> Callable[[str], bool]:
        from headway.drivers.earlier_runs import made_here
        from headway.journal.folder import Project

        return made_here(Project(path.parent), path.name)

    return lambda candidate: says()(candidate)  # noqa: PLW0108 - read the journal only when a file is asked about
