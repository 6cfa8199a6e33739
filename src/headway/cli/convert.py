"""`headway convert`: a workflow file, or what one run took, in another format."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli.completion import complete_run
from headway.cli.options import json_option
from headway.model.errors import InputError, SiteError
from headway.model.task import is_pattern

if TYPE_CHECKING:
    from headway.model.instance import Instance

FORMATS = ("wfformat", "yaml")
_ENDINGS = {".json": "wfformat", ".json.gz": "wfformat", ".yaml": "yaml", ".yml": "yaml"}
_NAMES = {"wfformat": "WfFormat 1.5", "yaml": "a Headway workflow file"}
_STANDARD_OUTPUT = "-"


@click.command("convert", short_help="Write a workflow, or a finished run, in another format.")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target")
@click.option("--to", "wanted", type=click.Choice(FORMATS), help="The format, where TARGET's name does not say it.")
@click.option(
    "--run", metavar="RUN", shell_complete=complete_run, help="Of a directory, the run; by default the newest."
)
@click.option("-f", "--force", is_flag=True, help="Overwrite TARGET.")
@json_option
def command(source: Path, target: str, wanted: str | None, run: str | None, force: bool, as_json: bool) -> int:
    """Write SOURCE in another format to TARGET.

    SOURCE is a workflow file (.yaml, WfFormat .json, Pegasus .dax or .xml; the latter also with .gz), or a directory in
    which something was run: then what every task took is written too, as measured. TARGET's name says the format: .json
    or .json.gz is WfFormat 1.5, .yaml a Headway workflow file; `-` is the standard output.

    \b
    Examples:
      headway convert workflow.yaml workflow.json    for other tools
      headway convert . run.json.gz                  the newest run here, with what it took
      headway convert montage.dax montage.yaml       to run it
      headway convert . - --run 3 --to wfformat | jq .workflow.execution.tasks
    """
    kind = wanted or _format_of(target)
    if kind == "yaml" and target.lower().endswith(".gz"):
        raise InputError("a workflow file is not packed", where=target, todo="drop .gz from its name")
    if target == _STANDARD_OUTPUT and as_json:
        raise InputError("the answer in JSON and the workflow would mix on standard output", todo="name a file")
    if target != _STANDARD_OUTPUT:
        _check_target(Path(target), force=force)
    instance = _read(source, run)
    data = _written(instance, kind)
    if target == _STANDARD_OUTPUT:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        _write(Path(target), data)
    answer = _answer(instance, source, target, kind)
    if as_json:
        from headway.cli.output import print_json

        print_json(answer)
    else:
        _say(instance, answer, kind)
    return 0


def _format_of(target: str) -> str:
    name = target.lower()
    found = next((kind for ending, kind in _ENDINGS.items() if name.endswith(ending)), None)
    if found is None:
        what = "standard output has no name" if target == _STANDARD_OUTPUT else f"{target!r} does not say which format"
        raise InputError(what, todo=f"add --to {' or --to '.join(FORMATS)}")
    return found


def _read(source: Path, run: str | None) -> Instance:
    if source.is_dir():
        from headway.api.finding import find_run
        from headway.api.run_instance import instance_of

        return instance_of(find_run(source, run))
    if run is not None:
        raise InputError("a file has no runs", where=str(source), todo="name the directory in which it was run")
    from headway.api.reading import read_instance_file

    return read_instance_file(source)


def _written(instance: Instance, kind: str) -> bytes:
    if kind == "yaml":
        from headway.formats.headway_yaml_out import headway_yaml

        return headway_yaml(instance.workflow)
    from headway.formats.wfformat_out import wfformat

    return wfformat(instance)


def _check_target(target: Path, *, force: bool) -> None:
    """Before any work is done for it."""
    if target.is_dir():
        raise InputError("this is a directory", where=str(target), todo="name a file in it")
    if target.exists() and not force:
        raise InputError("this file exists", where=str(target), todo="choose another name, or --force")
    if not target.parent.is_dir():
        raise InputError("there is no such directory", where=str(target.parent), todo="make it first")


def _write(target: Path, data: bytes) -> None:
    """All of it or nothing: it is written beside and then takes the name."""
    if target.suffix.lower() == ".gz":
        import gzip

        data = gzip.compress(data, mtime=0)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with beside.open("xb") as file:
            file.write(data)
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise SiteError(f"cannot write here: {error.strerror}", where=str(target)) from error


def _answer(instance: Instance, source: Path, target: str, kind: str) -> dict[str, Any]:
    tasks = list(instance.workflow)
    named = {path for task in tasks for path in (*task.inputs, *task.outputs) if not is_pattern(path)}
    lost = kind == "yaml"  # which says what to do, and not what it took
    return {
        "source": str(source),
        "target": target,
        "format": kind,
        "workflow": instance.workflow.name,
        "tasks": len(tasks),
        "categories": len({task.category for task in tasks}),
        "dependencies": sum(len(task.parents) for task in tasks),
        "files": len(named | instance.file_bytes.keys()),
        "recorded": len(instance.recorded),
        "without_command": sum(not task.command for task in tasks),
        "left_out": {
            "recorded": len(instance.recorded) if lost else 0,
            "file_sizes": len(instance.file_bytes) if lost else 0,
        },
    }


def _say(instance: Instance, answer: dict[str, Any], kind: str) -> None:
    from headway.cli.output import console_for
    from headway.report.saying import say
    from headway.report.words import count, harmless

    to_screen = answer["target"] == _STANDARD_OUTPUT
    console = console_for(as_json=to_screen)  # the workflow has standard output for itself
    place = "to standard output" if to_screen else harmless(answer["target"])
    share = "all" if answer["recorded"] == answer["tasks"] else f"{answer['recorded']:,}"
    figures = f", {share} with what they took" if answer["recorded"] and kind == "wfformat" else ""
    say(
        console,
        f"wrote {place}: {harmless(instance.workflow.name)} as {_NAMES[kind]}, {count(answer['tasks'], 'task')}"
        f" in {answer['categories']:,} categor{'y' if answer['categories'] == 1 else 'ies'}{figures}",
    )
    left_out = answer["left_out"]
    lost = [f"what {count(left_out['recorded'], 'task')} took"] if left_out["recorded"] else []
    lost += [f"the sizes of {count(left_out['file_sizes'], 'file')}"] if left_out["file_sizes"] else []
    if lost:
        say(console, f"left out: {' and '.join(lost)}, for which a workflow file has no place", "yellow")
    if answer["without_command"]:
        say(
            console,
            f"{count(answer['without_command'], 'task')} without a command: known is only what they took",
            "dim",
        )
