"""The closing report of a run on the terminal: the table, failed tasks with their output, and a headline."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.text import Text

from headway.journal.folder import Project, RunFolder
from headway.journal.logs import STREAMS, open_log
from headway.journal.results import TASKS_IN, orphans_among
from headway.journal.sqlite import SqliteJournal
from headway.model.command_as_run import command_as_run
from headway.model.errors import SiteError
from headway.model.records import Launch
from headway.model.units import format_duration
from headway.report.run.job_lines import core_hours_words
from headway.report.run.orphans import orphan_sentence
from headway.report.run.story import tasks_of
from headway.report.run.summary import Failure, RunSummary
from headway.report.run.usage_table import end_table, unused_gpus
from headway.report.saying import say, show
from headway.report.words import count, first_line, harmless, share

_MOST_FAILURES = 5
_MOST_REASONS = 8
_MOST_LINES = 6
_MOST_CHARACTERS = 400
_TAIL_BYTES = 8192


def print_ending(console: Console, summary: RunSummary, folder: RunFolder, page: Path | None = None) -> None:
    """Print the closing report."""
    whole = summary.whole()
    if whole.attempts:
        show(console, "", *end_table(summary, console.width))
    if whole.reused and whole.attempts:
        console.print()
        _print_reasons(console, summary)
    if summary.failures:
        console.print()
        print_failures(console, summary, folder)
    say(console, "", headline(summary))
    if summary.calls:
        each = ", ".join(f"{times:,} {command}" for command, times in Counter(summary.calls).most_common())
        calls = count(sum(summary.calls.values()), "time")
        show(console, f"{count(len(summary.jobs.known), 'job')}; Slurm was asked {calls}: {each}")
    if summary.calls and (held := core_hours_words(summary.jobs, summary.last_at)):
        show(console, held)
    for figures in summary.categories.values():
        if unused := unused_gpus(figures):
            show(console, unused, style="yellow")
    if summary.moved:
        show(console, _moved_sentence(sorted(summary.moved)), style="yellow")
    if sentence := orphan_sentence(_orphans(summary, folder)):
        show(console, sentence, style="yellow")
    learned = compared(summary, folder)
    if learned:
        show(console, learned)
    directory = summary.settings.directory if summary.settings else str(folder.path.parents[2])
    more = "" if page is None else f", page in {shown(page)}"
    show(console, f"results in {directory}, journal in {shown(folder.path)}{more}", style="dim")


def _moved_sentence(tasks: list[str]) -> str:
    """Say whose inputs changed while they were read: no later run relies on these results."""
    others = f" and of {count(len(tasks) - 1, 'other task')}" if len(tasks) > 1 else ""
    they, them = ("it", "it") if len(tasks) == 1 else ("they", "them")
    what = f"the input of {tasks[0]}{others} changed while {they} ran (a hard link to it is a change, too)"
    return f"{what}: `headway run` runs {them} again"


def _orphans(summary: RunSummary, folder: RunFolder) -> list[str]:
    """Files of earlier runs that certainly belong to no task; tasks may have been added while the run went on."""
    lost = summary.settings.orphans if summary.settings else []
    if not lost:
        return []
    with closing(SqliteJournal(folder.journal, read_only=True)) as journal:
        seen = journal.replay(kinds=TASKS_IN, brief=True)
        return orphans_among(lost, seen, lambda path: (folder.directory / path).is_dir())


def headline(summary: RunSummary) -> Text:
    """One sentence: how the run ended, how long it took, and its tasks by outcome."""
    whole = summary.whole()
    name = harmless(summary.settings.name) if summary.settings else ""
    run = summary.settings.run if summary.settings else ""
    took = format_duration(summary.elapsed_s())
    others = {
        "reused from earlier runs": whole.reused,
        "failed": whole.failed,
        "cut off by that": whole.cut_off,
        "not run": whole.waiting + whole.running,
    }
    parts = [f"{count(whole.succeeded, 'task')} run"] if whole.succeeded else []
    tasks = ", ".join([*parts, *(f"{number:,} {words}" for words, number in others.items() if number)])
    verdict = summary.finished or "interrupted"
    style = {"succeeded": "bold green", "failed": "bold red"}.get(verdict, "bold yellow")
    line = Text.assemble((name, "bold"), f", run {run}: ", (verdict, style), f" after {took}: {tasks or 'nothing'}")
    if summary.finished == "stopped" and summary.over_budget:
        line.append("; `headway run` with a larger --budget runs the rest")
    elif summary.finished == "stopped":
        line.append(f"; `headway resume{elsewhere(summary)}` goes on with it")
    elif summary.finished == "failed" and not (summary.settings and summary.settings.growing):
        line.append("; mend it, then `headway run` keeps what succeeded")
    return line


def compared(summary: RunSummary, folder: RunFolder) -> str:
    """Memory efficiency of this run and of the previous one; empty unless this run used learned sizes."""
    ours = summary.whole().totals["memory_bytes"].awe
    earlier = [other for other in Project(folder.directory).runs() if int(other.run) < int(folder.run)]
    if not summary.learned_from or ours is None or not earlier:
        return ""
    try:
        journal = SqliteJournal(earlier[-1].journal, read_only=True)
        with closing(journal), journal.careful():
            before = RunSummary.of(journal)
    except SiteError:  # the earlier journal is unreadable
        return ""
    theirs = before.whole().totals["memory_bytes"].awe
    same = before.settings and summary.settings and before.settings.name == summary.settings.name
    return f"memory AWE {share(ours)}, in run {earlier[-1].run} it was {share(theirs)}" if same and theirs else ""


def _print_reasons(console: Console, summary: RunSummary) -> None:
    """Why tasks ran, in a run that reused other results."""
    reasons = Counter(summary.reasons).most_common(_MOST_REASONS)
    for (category, because), tasks in reasons:
        say(console, Text.assemble("ran: ", (harmless(category), "bold"), f" ({tasks:,}), {harmless(because)}"))
    more = len(summary.reasons) - len(reasons)
    if more > 0:
        show(console, f"… and for {count(more, 'more reason')}: headway why{elsewhere(summary)} TASK")


def print_failures(console: Console, summary: RunSummary, folder: RunFolder) -> None:
    """Print the tasks that failed, why, and the last of what they wrote."""
    failures = list(summary.failures.values())
    commands = _commands(folder, [failure for failure in failures[:_MOST_FAILURES] if failure.attempt])
    for failure in failures[:_MOST_FAILURES]:
        say(console, failure_title(failure))
        if failure.task in commands:
            show(console, f"    $ {commands[failure.task]}", style="dim")
        show(console, *(f"    {line}" for line in last_words(folder, failure)), style="dim")
        verb = "logs" if failure.attempt else "why"
        show(console, f"  → headway {verb}{elsewhere(summary)} {shlex.quote(failure.task)}", style="cyan")
    more = len(failures) - _MOST_FAILURES
    if more > 0:
        show(console, f"… and {count(more, 'more failed task')}: headway status{elsewhere(summary)}")


def _commands(folder: RunFolder, failures: Collection[Failure]) -> dict[str, str]:
    """The first line of the commands of failed tasks, as their last attempts ran them."""
    if not failures:
        return {}
    with closing(SqliteJournal(folder.journal, read_only=True)) as journal:
        tasks = tasks_of(journal)
        launches = {
            record.task: record
            for failure in failures
            for record in journal.replay(failure.task, kinds=["launch"])
            if isinstance(record, Launch)
        }
    given = {task: launch.ceiling or launch.resources for task, launch in launches.items()}
    return {task: first_line(command_as_run(tasks[task], given[task])) for task in given if tasks[task].command.strip()}


def failure_title(failure: Failure) -> Text:
    """A line with the failed task and why it failed."""
    return Text.assemble(("✗ ", "red"), (harmless(failure.task), "bold"), f": {harmless(failure.why.text)}")


def last_words(folder: RunFolder, failure: Failure) -> list[str]:
    """The last lines of the failed attempt's standard error, or of its standard output if that is empty."""
    if not failure.attempt:
        return []
    for name in reversed(STREAMS):
        log = open_log(folder, failure.task, failure.attempt, name)
        lines = _tail(log) if log else []
        if lines:
            return lines
    return []


def _tail(log: BinaryIO) -> list[str]:
    with log:
        size = log.seek(0, os.SEEK_END)
        log.seek(max(0, size - _TAIL_BYTES))
        text = log.read().decode(errors="replace")
    lines = [harmless(line.rsplit("\r", 1)[-1]).rstrip()[:_MOST_CHARACTERS] for line in text.rstrip().split("\n")]
    return [line for line in lines if line][-_MOST_LINES:]


def shown(path: Path) -> str:
    """The path, relative to the working directory if it lies below."""
    try:
        relative = os.path.relpath(path)
    except OSError:
        return str(path)
    return relative if not relative.startswith("..") else str(path)


def elsewhere(summary: RunSummary) -> str:
    """The `-C` option that commands need outside of the workflow's directory; empty inside."""
    directory = summary.settings.directory if summary.settings else "."
    try:
        here = os.getcwd()
    except OSError:
        here = ""
    return "" if os.path.realpath(here) == os.path.realpath(directory) else f" -C {shlex.quote(shown(Path(directory)))}"
