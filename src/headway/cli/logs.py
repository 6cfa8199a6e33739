"""`headway logs`: what a task wrote."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from headway.cli.completion import complete_run, complete_task
from headway.cli.options import directory_option, json_option

if TYPE_CHECKING:
    from headway.journal.folder import RunFolder
    from headway.model.task import Task

_STREAMS = ("stdout", "stderr")
_LOOK_EVERY_S = 0.2
_BLOCK = 1 << 16


@click.command("logs", short_help="Show what a task wrote.")
@click.argument("task", shell_complete=complete_task)
@click.option("--attempt", type=click.IntRange(min=1), metavar="N", help="Attempt number N; by default the newest.")
@click.option("--run", metavar="RUN", shell_complete=complete_run, help="The run; by default the newest.")
@click.option("--only", type=click.Choice(_STREAMS), help="Only what it wrote to this stream.")
@click.option("-f", "--follow", is_flag=True, help="Go on showing what it writes until it ends.")
@directory_option
@json_option
def command(
    task: str,
    attempt: int | None,
    run: str | None,
    only: str | None,
    follow: bool,
    directory: Path,
    as_json: bool,
) -> int:
    """Show what TASK wrote to its standard output and standard error, also while it is running.

    The name of a category with several tasks lists them. If an earlier run's result was reused, its log is shown.

    \b
    Examples:
      headway logs total
      headway logs 'count[ab]' --attempt 1
      headway logs 'count[ab]' --only stderr | less
    """
    from headway.cli.finding import find_run, find_tasks, reading
    from headway.cli.listing import show_category
    from headway.report.run.story import tasks_of

    folder = find_run(directory, run)
    with reading(folder) as journal:
        found = find_tasks(task, tasks_of(journal), folder.run)
        if len(found) > 1:
            return show_category(journal, task, found, "logs", as_json=as_json)
    folder = _where_it_ran(directory, folder, found[0])
    number = _attempt_number(folder, found[0].id, attempt)
    place = folder.attempt(found[0].id, number)
    if as_json:
        _print_json(place, folder.run, found[0].id, number, _attempts(folder, found[0].id))
        return 0
    streams = [only] if only else [name for name in _STREAMS if follow or _size(place / name)]
    if follow:
        _follow(place, streams)
    elif streams:
        _show(place, streams)
    if not any(_size(place / name) for name in streams):
        click.echo(f"headway: attempt {number} of {found[0].id!r} wrote nothing", err=True)
    return 0


def _where_it_ran(directory: Path, folder: RunFolder, task: Task) -> RunFolder:
    """The run that executed the task: this one, or the earlier one whose result it reused."""
    from headway.cli.finding import find_run, reading
    from headway.model.records import Reuse

    if _attempts(folder, task.id):
        return folder
    with reading(folder) as journal:
        earlier = [record.run for record in journal.replay(task.id) if isinstance(record, Reuse)]
    if not earlier:
        return folder
    click.echo(f"headway: run {folder.run} did not run it again; this is run {earlier[-1]}", err=True)
    return find_run(directory, earlier[-1])


def _attempts(folder: RunFolder, task: str) -> list[int]:
    """The numbers of the task's attempts, oldest first."""
    try:
        entries = folder.attempt(task, 1).parent.iterdir()
        return sorted(int(entry.name) for entry in entries if entry.name.isdigit())
    except FileNotFoundError:
        return []


def _attempt_number(folder: RunFolder, task: str, wanted: int | None) -> int:
    from headway.model.errors import InputError

    attempts = _attempts(folder, task)
    if not attempts:
        raise InputError(f"task {task!r} has not run in run {folder.run}", todo="`headway why` says what it waits for")
    if wanted is not None and wanted not in attempts:
        raise InputError(
            f"task {task!r} has no attempt {wanted} in run {folder.run}",
            todo=f"it has {', '.join(str(number) for number in attempts)}",
        )
    return wanted or attempts[-1]


def _size(path: Path) -> int:
    """How much a log holds; an empty one may have been removed."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _show(place: Path, streams: list[str]) -> None:
    out = sys.stdout.buffer
    for name in streams:
        if len(streams) > 1:
            out.write(f"==> {name} <==\n".encode())
        last = b"\n"
        try:
            with (place / name).open("rb") as log:
                while block := log.read(_BLOCK):
                    out.write(block)
                    last = block[-1:]
        except FileNotFoundError:
            continue
        if len(streams) > 1 and last != b"\n":
            out.write(b"\n")
    out.flush()


def _follow(place: Path, streams: list[str]) -> None:
    """Show what is there and what comes, until the attempt's result is written."""
    logs: dict[str, BinaryIO] = {}
    shown = ""
    while True:
        over = (place / "result.json").exists()
        for name in streams:
            if name not in logs and (place / name).exists():
                logs[name] = (place / name).open("rb")
            block = logs[name].read() if name in logs else b""
            if block:
                if len(streams) > 1 and shown != name:
                    sys.stdout.buffer.write(f"==> {name} <==\n".encode())
                    shown = name
                sys.stdout.buffer.write(block)
                sys.stdout.buffer.flush()
        if over:
            return
        time.sleep(_LOOK_EVERY_S)


def _print_json(place: Path, run: str, task: str, attempt: int, attempts: list[int]) -> None:
    from headway.cli.output import print_json

    logs = {name: (place / name).read_text(errors="replace") if _size(place / name) else "" for name in _STREAMS}
    print_json({"run": run, "task": task, "attempt": attempt, "attempts": attempts, "directory": str(place), **logs})
