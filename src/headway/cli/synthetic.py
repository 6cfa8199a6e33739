"""`headway run --synthetic`: its options, and stand-ins for an instance's tasks."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.options import Function
from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.generators.stand_ins import Scale, StandIns
    from headway.model.workflow import Workflow


def synthetic_options(function: Function) -> Function:
    """`--synthetic` and how much of what was recorded stand-ins take."""
    about = {
        "--scale": "Take so much of the recorded time, memory and bytes: 0.01 is a hundredth.",
        "--scale-time": "The same for time alone.",
        "--scale-memory": "The same for memory alone.",
        "--scale-bytes": "The same for the sizes of files alone.",
    }
    for name, text in reversed(about.items()):
        option = click.option(name, type=float, callback=_positive, metavar="FACTOR", help=text)
        function = option(function)
    text = "Run stand-ins for the tasks of an instance, which take what was recorded of them."
    return click.option("--synthetic", is_flag=True, help=text)(function)


def _positive(ctx: click.Context, _: click.Parameter, value: float | None) -> float | None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise click.BadParameter(f"{value:g} is not a factor; write for example 0.01", ctx)
    return value


def scales_of(
    synthetic: bool,
    scale: float | None,
    scale_time: float | None,
    scale_memory: float | None,
    scale_bytes: float | None,
) -> Scale | None:
    """What the options say; None if they do not ask for stand-ins."""
    apart = {"--scale-time": scale_time, "--scale-memory": scale_memory, "--scale-bytes": scale_bytes}
    if synthetic:
        from headway.generators.stand_ins import Scale

        time, memory, size = (value or scale or 1.0 for value in apart.values())
        return Scale(time, memory, size)
    for name, value in ({"--scale": scale} | apart).items():
        if value is not None:
            raise InputError(f"{name} is about stand-ins", todo="add --synthetic, or leave it out")
    return None


def read_runnable(path: Path) -> Workflow:
    """The workflow of a file, which must say what its tasks run. Of a past execution, stand-ins can be run instead."""
    from headway.api.reading import read_instance_file
    from headway.drivers.inputs import check_sources

    instance = read_instance_file(path)
    workflow = instance.workflow
    todo = "--synthetic runs stand-ins that take what was recorded"
    silent = [task.id for task in workflow if not task.command]
    if silent:
        what = f"task {silent[0]!r} has" if len(silent) == 1 else f"{len(silent)} of {len(workflow)} tasks have"
        raise InputError(f"{what} no command", where=str(path), todo=todo)
    if instance.recorded:
        try:
            check_sources(workflow, path.absolute().parent)
        except InputError as error:
            raise InputError(error.what, where=error.where, todo=f"{error.todo}, or {todo}") from None
    return workflow


def stand_ins_for(path: Path, scale: Scale, stated_cores: float | None) -> StandIns:
    """Stand-ins for the instance in a file."""
    from headway.api.reading import read_instance_file
    from headway.clusters.machine import machine
    from headway.generators.stand_ins import folder_beside, stand_ins

    instance = read_instance_file(path)
    most_cores = stated_cores or machine(path.absolute().parent).cores
    try:
        return stand_ins(instance, folder_beside(path), scale, most_cores)
    except InputError as error:
        raise InputError(error.what, where=str(path), todo=error.todo) from None


def name_of_stand_ins(name: str, scale: Scale) -> str:
    """What the history calls them: what they take says nothing of the real tasks, nor of those at another scale."""
    return f"{name}, stand-ins at {scale.time:g}/{scale.memory:g}/{scale.size:g}"


def make_files(made: StandIns, directory: Path) -> None:
    """Make the files that stand-ins need; not while somebody else is at work with them, of whom `start` will tell."""
    from headway.journal.folder import Project

    if Project(directory).manager() is None:
        made.make_files(directory)
