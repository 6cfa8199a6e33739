"""How far a run is, as text: a bar per category, what is running, what failed."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from headway.journal.folder import Manager, RunFolder
from headway.journal.story.jobs import Job
from headway.model.records import RunStarted
from headway.model.units import format_duration
from headway.report.bars import bars, fitted
from headway.report.run.again import again, chosen_words
from headway.report.run.by_column import ByColumn, table_of
from headway.report.run.ending import elsewhere, failure_title, last_words
from headway.report.run.figures import STATES, task_state
from headway.report.run.job_lines import job_lines, without_nodes
from headway.report.run.summary import RunSummary
from headway.report.saying import say, show
from headway.report.words import clock, count, harmless, moment

_MOST = 10


def print_status(
    console: Console,
    summary: RunSummary,
    folder: RunFolder,
    state: str,
    manager: Manager | None,
    now: float,
    in_jobs: str = "",
    table: ByColumn | None = None,
) -> None:
    """Print a bar per category, what is running and what failed; `in_jobs` says which jobs managers are in.

    A `table` is shown instead of bars and of what is running.
    """
    say(console, _headline(summary, state, None if in_jobs else manager, now))
    if in_jobs:
        show(console, f"manager: {in_jobs}")
    if summary.settings:
        show(console, _about(summary.settings, folder), *_settings(summary.settings), style="dim")
    if table:
        show(console, "", *table_of(table, console.width), "")
    else:
        show(console, "", *bars(list(summary.categories.values()), console.width, 1000, state))
    say(console, _counts(summary, state))
    if summary.running and not table:
        title = "running" if state == "running" else "running when the run was interrupted"
        show(console, "", title, *_running(summary, now if state == "running" else summary.last_at))
    if summary.batch and not summary.finished and (jobs := list(summary.jobs.live().values())):
        show(console, "", "jobs", *_jobs(jobs, now))
    if summary.unread and not summary.finished:
        show(console, "", "waiting for nodes", *(f"  {': '.join(without_nodes(it))}" for it in summary.unread.values()))
    if avoided := [it for it in summary.avoided.values() if it.until > now and not summary.finished]:
        show(console, "", "nodes that are avoided")
        show(console, *(f"  {it.node}  until {clock(it.until)}: {it.why.text}" for it in avoided))
    if summary.failures:
        console.print()
        for failure in list(summary.failures.values())[:_MOST]:
            say(console, failure_title(failure))
            show(console, *(f"    {words}" for words in last_words(folder, failure)[-2:]), style="dim")
        if len(summary.failures) > _MOST:
            console.print(f"… and {count(len(summary.failures) - _MOST, 'more failed task')} (--json lists them all)")
    if state in ("interrupted", "stopped"):
        in_job = " --manager job" if in_jobs else ""
        show(console, "", f"→ headway resume{in_job}{elsewhere(summary)} {folder.run}", style="cyan")


def _about(settings: RunStarted, folder: RunFolder) -> str:
    part = {"only": (*settings.tasks, *settings.only), "until": settings.until}
    said = [f"{word} {harmless(' '.join(names))}" for word, names in part.items() if names]
    return ", ".join(
        [f"started {moment(settings.at)}", *said, f"sizes by {settings.sizer}", f"journal {folder.journal}"]
    )


def _settings(settings: RunStarted) -> list[str]:
    """The settings that the user chose, and the command that does the run again."""
    chosen, command = chosen_words(settings), again(settings)
    said = [f"settings: {harmless(', '.join(chosen))}"] if chosen else []
    return [*said, f"to do it again: {command}"] if command else said


def _headline(summary: RunSummary, state: str, manager: Manager | None, now: float) -> Text:
    style = {"succeeded": "bold green", "failed": "bold red", "running": "bold cyan"}.get(state, "bold yellow")
    name = harmless(summary.settings.name) if summary.settings else ""
    run = summary.settings.run if summary.settings else ""
    took = format_duration(summary.elapsed_s(now if state == "running" else None))
    host = f" on {manager.host}" if manager and not manager.is_here else ""
    about = [f"process {manager.pid}{host}"] if manager else []
    about += ["stopping"] if summary.stopping else []
    more = {
        "running": f" for {took}" + (f" ({', '.join(about)})" if about else ""),
        "interrupted": f" after {took}: its manager is gone, nothing is lost",
    }.get(state, f" after {took}")
    return Text.assemble((name, "bold"), f", run {run}: ", (state, style), more)


def _counts(summary: RunSummary, state: str) -> str:
    whole = summary.whole()
    parts = {task_state(name, state).replace("_", " "): getattr(whole, name) for name in STATES}
    shown = ", ".join(f"{number:,} {name}" for name, number in parts.items() if number)
    return f"{count(whole.total, 'task')}: {shown or 'none'}; {count(whole.attempts, 'attempt')}"


def _jobs(jobs: Sequence[Job], now: float) -> list[str]:
    """A line for each job that waits or runs: its id, for how long, what it asks for, and why it waits."""
    lines = [f"  {line}" for line in job_lines(jobs[:_MOST], now)]
    more = len(jobs) - _MOST
    return lines + ([f"  … and {more:,} more (--json lists them all)"] if more > 0 else [])


def _running(summary: RunSummary, now: float) -> list[str]:
    launches = list(summary.running.values())
    names = min(40, max(len(harmless(launch.task)) for launch in launches[:_MOST]))
    lines = [
        f"  {fitted(harmless(launch.task), names)}  {format_duration(max(0.0, now - launch.at)):>8}"
        f"  {launch.resources}" + (f", attempt {launch.attempt}" if launch.attempt > 1 else "")
        for launch in launches[:_MOST]
    ]
    return lines + ([f"  … and {len(launches) - _MOST:,} more"] if len(launches) > _MOST else [])
