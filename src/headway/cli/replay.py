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
from headway.cli.replay_times import print_times
from headway.model.units import format_duration
from headway.report.replay_table import replay_table, runs_table, summary_table, verdict
from headway.report.saying import say, show
from headway.report.words import count, harmless

_OPTIONS = {
    "--resource": "sizes: memory, disk and cores. time: how often predicted run times hold, and requests for time.",
    "--sizers A,B": "Only these; by default all that `headway policies` lists.",
    "--machine AMOUNTS": "The most that a task can get, as '16 cores, 64 GB, 64 GB' (cores, memory, disk); by default "
    "the log's.",
    "--lag N": "Tasks that are sized before the outcome of one becomes known.",
    "--ttf end|observed|FRACTION": "When an attempt with too little fails: at its end, as was observed, or after a "
    "fraction of its run time.",
    "--failures SHARE": "How many attempts `ladder` may let fail once a category is known: a share, 0 or any.",
    "--together": "The LOGs are runs of one pipeline, the oldest first: what one taught is known in the next.",
    "--category PATTERN": "Only categories that match: 'eager/*'.",
    "--category-from REGEX": "Take the category from a task's name: '^nf-([A-Z_]+)', 'benchmarks/([^/.]+)'.",
    "--seed": "For sizers that draw at random.",
}


def _print(console: Console, result: ReplayResult) -> None:
    for log in (*(each.log for each in result.logs), *(each.log for each in result.times)):
        if log.bad_rows:
            rows = count(log.bad_rows, "row")
            say(console, f"{rows} that cannot be read left out; the first: {log.first_bad}", style="yellow")
    if result.times:
        print_times(console, result.times)
        return
    if result.together:
        for each in result.logs:
            say(console, _title(each, each.categories()))
        names = [harmless(each.log.name) for each in result.logs]
        show(console, "", *runs_table(names, [each.costs for each in result.logs], console.width), "")
        say(
            console,
            "failed: attempts that ran out of a resource; a run knows what the runs before it taught",
            style="dim",
        )
        return
    for each in result.logs:
        tasks, categories, asked = len(each.log.tasks), each.categories(), each.asked
        say(console, _title(each, categories), "")
        show(console, *replay_table(each.costs, asked, console.width))
        say(console, "", verdict(each.costs, asked))
        if categories == tasks > 1:
            say(console, "no two tasks are of one category: --category-from takes it from a task's name", style="dim")
        if asked and asked.tasks < tasks:
            say(console, f"asked: only {count(asked.tasks, 'task')} of {tasks:,} asked for something", style="dim")
        console.print()
    if len(result.logs) > 1:
        say(console, f"all {len(result.logs)} logs", style="bold")
        show(console, "", *summary_table([each.costs for each in result.logs], console.width), "")
        to_best = "to best: waste over the least of any sizer on the same log, geometric mean of all logs"
        say(console, to_best, style="dim")


def _title(replayed: LogReplay, categories: int) -> Text:
    """The log, the machine, and when attempts fail."""
    log, world = replayed.log, replayed.world
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

    With --resource time, rules ask for time: what `ladder` asks of a batch queue, Lotaru, and the mean of earlier run
    times with two standard deviations. A task that takes longer than asked is lost and asks for more; see
    `headway docs run-times`.

    LOG is a trace of Nextflow, benchmark files of Snakemake (or their directory), what Slurm's sacct -P, sacct --json
    or seff prints, the efficiency report of Snakemake's Slurm plugin, a directory with runs of Headway, or a log of
    Work Queue, the CCL or k-Segments; any file also with .gz, and - is standard input. `headway docs replay` has the
    details.

    \b
    Examples:
      headway replay trace.txt
      headway replay trace.txt --sizers ladder,user --machine '32 cores, 256 GB'
      headway replay trace_1.txt trace_2.txt trace_3.txt --together
      sacct --json -S 2026-01-01 | headway replay - --sizers ladder
      headway replay *_whole.csv.gz --lag 20 --ttf observed
      headway replay trace.txt --resource time
      headway replay trace.txt --json | jq '.sizers[].memory.waste'
    """
    with progress_bar("") as tell:
        return replay(progress=tell, **given())
