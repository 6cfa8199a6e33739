"""`headway cancel`: stop a run at once, whoever is or is not managing it."""

from __future__ import annotations

import time
from pathlib import Path

import click

from headway.cli.completion import complete_run
from headway.cli.options import directory_option, json_option
from headway.cli.output import warn

_LOOK_EVERY_S = 0.05


@click.command("cancel", short_help="Stop a run at once, resumable.")
@click.argument("run", required=False, shell_complete=complete_run)
@directory_option
@click.option("--wait/--no-wait", default=True, show_default=True, help="Return only when the run has stopped.")
@json_option
def command(run: str | None, directory: Path, wait: bool, as_json: bool) -> int:
    """Stop RUN (by default the newest) at once: its tasks get SIGTERM, then SIGKILL.

    What succeeded is kept, and `headway resume` goes on with the rest. It also ends tasks whose manager was killed.

    \b
    Examples:
      headway cancel
      headway cancel -C ~/sky 3
    """
    from headway.cli.finding import find_run
    from headway.cli.output import print_json
    from headway.drivers.runs import cancel
    from headway.journal.folder import Project

    folder = find_run(directory, run)
    message = cancel(folder, warn)
    project = Project(directory)
    while wait and (manager := project.manager()) is not None and manager.run == folder.run:
        time.sleep(_LOOK_EVERY_S)
    state = _state(folder.journal)
    if state == "stopped":
        message = f"run {folder.run} is stopped; `headway resume` goes on with it"
    if as_json:
        print_json({"run": folder.run, "state": state, "message": message})
    else:
        click.echo(message)
    return 0


def _state(journal_path: Path) -> str:
    """How the run ended, or `running` if it has not yet."""
    from headway.journal.sqlite import SqliteJournal
    from headway.model.records import Finish

    journal = SqliteJournal(journal_path, read_only=True)
    ends = list(journal.replay(kinds=["finish", "resumed"]))
    journal.close()
    last = ends[-1] if ends else None
    return last.status if isinstance(last, Finish) else "running"
