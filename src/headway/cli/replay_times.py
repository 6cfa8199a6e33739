"""Printing of `headway replay --resource time`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from headway.api.replay_times import TimesReplay
from headway.report.saying import say, show
from headway.report.times_table import times_table
from headway.report.words import count, harmless


def print_times(console: Console, replays: Sequence[TimesReplay]) -> None:
    """Print a table for each log, and what its columns mean."""
    for each in replays:
        log = each.log
        title = Text.assemble((harmless(log.name), "bold"), f": run times of {count(len(log.tasks), 'task')}")
        title.append(f", {each.without_run_time:,} without a run time left out" if each.without_run_time else "")
        title.append(f", {count(log.left_out, 'row')} left out" if log.left_out else "")
        title.append(f"; known after {count(each.lag, 'more task')}" if each.lag else "")
        say(console, title, "")
        show(console, *times_table(each.rules, each.asked, console.width), "")
    say(
        console,
        "ended within: tasks that took no longer than the quantile predicted for them; of known: share of attempts "
        "after the first five tasks of a category; delay: longer waits for long requests, lost attempts, and waiting "
        "again. The first task of a category is not counted.",
        style="dim",
    )
