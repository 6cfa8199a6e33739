"""`headway logs`: show what a task wrote."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from headway.api.logs import STREAMS, TaskLogs, logs
from headway.api.task_list import TaskList
from headway.cli.completion import complete_task
from headway.cli.options import COUNT, directory_option, json_option, option, run_option
from headway.cli.output import console_for, print_json
from headway.cli.task_list import print_task_list


@click.command("logs", short_help="Show what a task wrote.")
@click.argument("task", shell_complete=complete_task)
@option("--attempt N", "Attempt N; by default the newest.", type=COUNT)
@run_option
@option("--only", "Only this stream.", type=click.Choice(STREAMS))
@option("-f --follow", "Go on until the attempt ends.", is_flag=True)
@directory_option
@json_option
def command(
    task: str, attempt: int | None, run: str | None, only: str | None, follow: bool, directory: Path, as_json: bool
) -> int:
    """Show what TASK wrote to its standard output and standard error, also while it is running.

    A category, or a pattern with * and ?, that means several tasks lists them. If an earlier run's
    result was reused, its log is shown.

    \b
    Examples:
      headway logs total
      headway logs 'count[ab]' --attempt 1
      headway logs 'count[ab]' --only stderr | less
    """
    found = logs(task, run, directory, attempt=attempt)
    if not isinstance(found, TaskList) and found.run != found.asked_run:
        click.echo(f"headway: run {found.asked_run} did not run it again; this is run {found.run}", err=True)
    if as_json:
        print_json(found.document())
    elif isinstance(found, TaskList):
        print_task_list(console_for(), found, "logs")
    else:
        _print(found, only, follow=follow)
    return 0


def _print(logs: TaskLogs, only: str | None, *, follow: bool) -> None:
    streams = [only] if only else [name for name in STREAMS if follow or logs.size_bytes(name)]
    (_follow if follow else _show)(logs, streams)
    if not any(logs.size_bytes(name) for name in streams):
        click.echo(f"headway: attempt {logs.attempt} of {logs.task!r} wrote nothing", err=True)


def _show(logs: TaskLogs, streams: list[str]) -> None:
    out = sys.stdout.buffer
    for name in streams:
        if len(streams) > 1:
            out.write(f"==> {name} <==\n".encode())
        last = b"\n"
        for block in logs.blocks(name):
            out.write(block)
            last = block[-1:]
        if len(streams) > 1 and last != b"\n":
            out.write(b"\n")
    out.flush()


def _follow(logs: TaskLogs, streams: list[str]) -> None:
    shown = ""
    for name, block in logs.follow(streams):
        if len(streams) > 1 and shown != name:
            sys.stdout.buffer.write(f"==> {name} <==\n".encode())
            shown = name
        sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()
