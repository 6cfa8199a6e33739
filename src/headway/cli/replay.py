"""`headway replay`: what each sizer would have cost on a log of tasks."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.text import Text

from headway.api.replay import LogReplay, ReplayResult, ReplaySettings, replay
from headway.cli.batch_options import given, settings_options
from headway.cli.options import answers
from headway.cli.queue_progress import progress_bar
from headway.model.units import format_duration
from headway.report.replay_table import replay_table, summary_table, verdict
from headway.report.saying import say, show
from headway.report.words import count, harmless

_OPTIONS = {
    "--sizers A,B": "Only these; by default all that `headway policies` lists.",
    "--machine AMOUNTS": "The most that a task can get, as '16 cores, 64 GB, 64 GB' (cores, memory, disk); by default "
    "the log's.",
    "--lag N": "Tasks that are sized before the outcome of one becomes known.",
    "--ttf end|observed|FRACTION": "When an attempt with too little fails: at its end, as was observed, or after a "
    "fraction of its run time.",
    "--failures SHARE": "How many attempts `ladder` may let fail once a category is known: a share, 0 or any.",
    "--category PATTERN": "Only categories that match: 'eager/*'.",
    "--seed": "For sizers that draw at random.",
}


def _print(console: Console, result: ReplayResult) -> None:
    for each in result.logs:
        tasks, asked = len(each.log.tasks), each.asked
        say(console, _title(each), "")
        show(console, *replay_table(each.costs, asked, console.width))
        say(console, "", verdict(each.costs, asked))
        if asked and asked.tasks < tasks:
            say(console, f"asked: only {count(asked.tasks, 'task')} of {tasks:,} asked for something", style="dim")
        console.print()
    if len(result.logs) > 1:
        say(console, f"all {len(result.logs)} logs", style="bold")
        show(console, "", *summary_table([each.costs for each in result.logs], console.width), "")
        to_best = "to best: waste over the least of any sizer on the same log, geometric mean of all logs"
        say(console, to_best, style="dim")


def _title(replayed: LogReplay) -> Text:
    """The log, the machine, and when attempts fail."""
    log, world = replayed.log, replayed.world
    categories = len({task.category for task in log.tasks})
    title = Text.assemble((harmless(log.name), "bold"), f": {count(len(log.tasks), 'task')}")
    title.append(f" of {categories:,} categories" if categories > 1 else " of one category")
    title.append(f", {log.left_out:,} left out" if log.left_out else "")
    title.append(f"; up to {world.machine}; ")
    if world.ttf == "observed":
        after = {name.removesuffix("_bytes"): format_duration(after_s) for name, after_s in log.failed_after_s.items()}
        when = ", ".join(f"{name} after {duration}" for name, duration in after.items())
        title.append(f"attempts fail as observed ({when or 'where their memory over time says'})")
    elif world.ttf == "end":
        title.append("attempts fail at their end")
    else:
        title.append(f"attempts fail after {world.ttf:g} of their time")
    return title.append(f"; known after {count(world.lag, 'more task')}" if world.lag else "")


@click.command("replay", short_help="Show what each way of sizing tasks would have cost on a log.")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...", type=click.Path())
@settings_options(ReplaySettings, _OPTIONS)
@answers(_print)
def command(logs: tuple[str, ...], **options: Any) -> ReplayResult:
    """Size the tasks of LOG again with each sizer, in the order in which they started, and add up the cost. A sizer
    knows nothing of a task before it has sized it.

    When one resource runs out, everything that the attempt held is wasted, and the task is sized again. AWE is the
    amount that successful attempts used over the amount allocated, both weighted by run time; waste is the rest;
    failed counts the attempts that ran out of the resource. The line `asked` is what the log's own requests wasted.

    LOG is a Nextflow trace (raw or formatted), a Work Queue transaction log or its attempts as CSV, k-Segments'
    tasks.csv, or records of the CCL; any of them also with .gz. `headway docs replay` has the details.

    \b
    Examples:
      headway replay trace.txt
      headway replay trace.txt --sizers ladder,user --machine '32 cores, 256 GB'
      headway replay *_whole.csv.gz --lag 20 --ttf observed
      headway replay trace.txt --json | jq '.sizers[].memory.waste'
    """
    with progress_bar("") as tell:
        return replay(progress=tell, **given())
