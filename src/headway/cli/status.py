"""`headway status`: how far a run is. Only reads, so it may be asked at any time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.completion import complete_run
from headway.cli.options import directory_option, json_option

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from headway.journal.folder import Manager, RunFolder
    from headway.report.run.summary import RunSummary

_MOST = 10


@click.command("status", short_help="Show how far a run is.")
@click.argument("run", required=False, shell_complete=complete_run)
@directory_option
@json_option
def command(run: str | None, directory: Path, as_json: bool) -> int:
    """Show how far RUN (by default the newest) is: a bar a category, what is running, what failed.

    It only reads: ask as often as you like, also while the run goes on.

    \b
    Examples:
      headway status
      headway status 3 --json | jq .tasks
      watch headway status

    The exit code is 0 if the run could be read, whatever became of it.
    """
    from headway.cli.finding import find_run, reading
    from headway.cli.output import console_for, print_json
    from headway.report.run.summary import RunSummary

    folder = find_run(directory, run)
    with reading(folder) as journal:
        summary = RunSummary.of(journal)
    manager = manager_of(folder, summary)
    state = summary.finished or ("running" if manager else "interrupted")
    if as_json:
        from headway.report.run.document import document

        print_json(document(summary, folder, state, time.time()) | {"manager_pid": manager.pid if manager else None})
    else:
        _print(console_for(), summary, folder, state, manager)
    return 0


def manager_of(folder: RunFolder, summary: RunSummary) -> Manager | None:
    """The process that manages this run now, if there is one."""
    from headway.journal.folder import Project

    if summary.finished:
        return None
    manager = Project(folder.path.parents[2]).manager()
    return manager if manager is not None and manager.run == folder.run else None


def _print(console: Console, summary: RunSummary, folder: RunFolder, state: str, manager: Manager | None) -> None:
    from rich.text import Text

    from headway.report.bars import bars
    from headway.report.run.ending import elsewhere, last_words
    from headway.report.saying import say, show
    from headway.report.words import count, harmless, moment

    now = time.time()
    say(console, _headline(summary, state, manager, now))
    if summary.settings:
        about = f"started {moment(summary.settings.at)}, sizes by {summary.settings.sizer}, journal {folder.journal}"
        show(console, about, "dim")
    console.print()
    for line in bars(list(summary.categories.values()), console.width, 1000):
        show(console, line)
    say(console, _counts(summary))
    if summary.running:
        console.print()
        console.print("running" if state == "running" else "running when the run was interrupted")
        for launched in _running(summary, now if state == "running" else summary.last_at):
            show(console, launched)
    if summary.failures:
        console.print()
        for failure in list(summary.failures.values())[:_MOST]:
            title = Text.assemble(("✗ ", "red"), (harmless(failure.task), "bold"), f": {harmless(failure.why.text)}")
            say(console, title)
            for words in last_words(folder, failure)[-2:]:
                show(console, f"    {words}", "dim")
        if len(summary.failures) > _MOST:
            console.print(f"… and {count(len(summary.failures) - _MOST, 'more failed task')} (--json lists them all)")
    if state in ("interrupted", "stopped"):
        console.print()
        show(console, f"→ headway resume{elsewhere(summary)} {folder.run}", "cyan")


def _who(manager: Manager | None) -> str:
    if manager is None:
        return ""
    return f"process {manager.pid}" + ("" if manager.is_here else f" on {manager.host}")


def _headline(summary: RunSummary, state: str, manager: Manager | None, now: float) -> Text:
    from rich.text import Text

    from headway.model.units import format_duration
    from headway.report.words import harmless

    style = {"succeeded": "bold green", "failed": "bold red", "running": "bold cyan"}.get(state, "bold yellow")
    name = harmless(summary.settings.name) if summary.settings else ""
    run = summary.settings.run if summary.settings else ""
    took = format_duration(summary.elapsed_s(now if state == "running" else None))
    more = {
        "running": f" for {took} ({_who(manager)}{', stopping' if summary.stopping else ''})",
        "interrupted": f" after {took}: its manager is gone, nothing is lost",
    }.get(state, f" after {took}")
    return Text.assemble((name, "bold"), f", run {run}: ", (state, style), more)


def _counts(summary: RunSummary) -> str:
    from headway.report.words import count

    whole = summary.whole()
    parts = {
        "succeeded": whole.succeeded,
        "reused": whole.reused,
        "running": whole.running,
        "waiting": whole.waiting,
        "failed": whole.failed,
        "cut off": whole.cut_off,
    }
    shown = ", ".join(f"{number:,} {name}" for name, number in parts.items() if number)
    return f"{count(whole.total, 'task')}: {shown or 'none'}; {count(whole.attempts, 'attempt')}"


def _running(summary: RunSummary, now: float) -> list[str]:
    from headway.model.units import format_duration
    from headway.report.bars import fitted
    from headway.report.words import harmless

    launches = list(summary.running.values())
    names = min(40, max(len(harmless(launch.task)) for launch in launches[:_MOST]))
    lines = [
        f"  {fitted(harmless(launch.task), names)}  {format_duration(max(0.0, now - launch.at)):>8}"
        f"  {launch.resources}" + (f", attempt {launch.attempt}" if launch.attempt > 1 else "")
        for launch in launches[:_MOST]
    ]
    return lines + ([f"  … and {len(launches) - _MOST:,} more"] if len(launches) > _MOST else [])
