"""`headway attach`: follow a run that somebody else manages, until it ends."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.completion import complete_run
from headway.cli.options import directory_option, json_option, quiet_option

if TYPE_CHECKING:
    from headway.drivers.real import Observer
    from headway.journal.folder import RunFolder
    from headway.journal.tail import JournalTail
    from headway.model.errors import SiteError
    from headway.report.run.summary import RunSummary

_LOOK_EVERY_S = 0.5
_LOOK_FOR_MANAGER_S = 3.0


@click.command("attach", short_help="Follow a run in the background until it ends.")
@click.argument("run", required=False, shell_complete=complete_run)
@directory_option
@quiet_option
@json_option
def command(run: str | None, directory: Path, quiet: bool, as_json: bool) -> int:
    """Follow RUN (by default the newest), which another process manages, as if it had been started here.

    It only reads: Ctrl-C leaves the run alone, and any number may follow it, from any shell. A run that is over is told
    of at once.

    \b
    Examples:
      headway run --detach && headway attach
      headway attach -C ~/sky 3
      headway attach --quiet && echo "all is done"

    Exit codes are those of `headway run`; 130 also if you leave with Ctrl-C, 3 if nobody manages the run any more.
    """
    from headway.cli.finding import find_run
    from headway.cli.watching import watch
    from headway.journal.tail import JournalTail
    from headway.report.run.summary import RunSummary

    folder = find_run(directory, run)
    summary = RunSummary()
    tail = JournalTail(folder.journal)
    while batch := tail.news():  # what happened before is no news
        for record in batch:
            summary.apply(record)

    def follow(observer: Observer) -> RunFolder:
        if not summary.finished:
            observer(())
            _follow(tail, summary, folder, observer)
        return folder

    try:
        return watch(follow, summary, quiet=quiet, as_json=as_json)
    except KeyboardInterrupt:
        click.echo(f"headway: run {folder.run} goes on; `headway attach` follows it again", err=True)
        return 130
    finally:
        tail.close()


def _follow(tail: JournalTail, summary: RunSummary, folder: RunFolder, observer: Observer) -> None:
    from headway.cli.status import manager_of

    looked_at = 0.0
    while not summary.finished:
        batch = tail.news()
        if batch:
            observer(batch)
            continue
        if time.monotonic() - looked_at >= _LOOK_FOR_MANAGER_S:
            looked_at = time.monotonic()
            if manager_of(folder, summary) is None and not (batch := tail.news()):
                raise _without_manager(folder, summary)
            observer(batch)
        time.sleep(_LOOK_EVERY_S)


def _without_manager(folder: RunFolder, summary: RunSummary) -> SiteError:
    """What is to be said of a run that nobody manages and that is not over."""
    import socket

    from headway.model.errors import SiteError
    from headway.report.run.ending import elsewhere

    try:
        last = (folder.path.parents[1] / "lock").read_text(errors="replace").partition(", run ")
    except OSError:
        last = ("", "", "")
    who = f" ({last[0]})" if last[2] == folder.run else ""
    why = "was killed or crashed"
    if who and not last[0].endswith(f" on {socket.gethostname()}"):
        why = "is gone, as far as can be seen from here"
    elif summary.last_at < _booted_at():
        why = "ended when this machine was restarted"
    return SiteError(
        f"nobody manages run {folder.run} any more: its manager{who} {why}; nothing is lost",
        todo=f"`headway resume --detach{elsewhere(summary)} {folder.run}` goes on with it",
    )


def _booted_at() -> float:
    try:
        return time.time() - float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0.0
