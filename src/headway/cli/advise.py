"""`headway advise`: what to ask for the tasks of each category, as configuration for the tool that runs them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from headway.api.advise import AdviceGiven, AdviseSettings, advise
from headway.cli.batch_options import given, settings_options
from headway.cli.options import FILE, SHARE, SIZE, answers, directory_option, option
from headway.cli.queue_progress import progress_bar
from headway.report.advice.table import advice_table
from headway.report.advice.tools import TOOLS
from headway.report.advice.words import preface, risks
from headway.report.columns import one_line
from headway.report.saying import say, show

_OPTIONS = {
    "--failures SHARE": "How many attempts may fail once a category is known: a share (default 3%), 0 or any.",
    "--retries N": "How often a task that ran out of memory or time is tried again, with more.",
    "--fewest N": "Records that a category needs; others are left as they are.",
    "--category-from REGEX": "Take the category from a task's name: '^nf-([A-Z_]+)', 'benchmarks/([^/.]+)'.",
    "--most-memory SIZE": "The most that a task can get, as 64GB; by default 128 GB, or what a task asked for.",
    "--workflow FILE": "For cwl: the workflow file whose steps the categories are; by default they are tools.",
    "-o --output FILE": "Write the configuration to FILE, and print a table.",
    "--html FILE": "Write a page with charts to FILE.",
    "--force": "Overwrite files.",
}


def _print(console: Console, answer: AdviceGiven) -> None:
    """Print the configuration; or a table, if the configuration is in a file."""
    advice = answer.advice
    if answer.tool != "table" and not click.get_current_context().params.get("output"):
        sys.stdout.write(answer.config)
        return
    begins, *others = preface(advice, answer.logs)
    say(console, one_line(begins), "")
    if advice.categories:
        show(console, *advice_table(advice, console.width), "")
    say(console, *others)
    for each, why in risks(advice, 3):
        say(console, f"risky: {one_line(each.category)}: {why}", style="dim")


@click.command("advise", short_help="Say what to ask for, from a log, as configuration for its tool.")
@click.argument("logs", nargs=-1, metavar="[LOG...]", type=click.Path())
@option(
    "--for tool TOOL",
    f"Who gets the advice: {', '.join(TOOLS)}; by default the tool that wrote LOG, else a table.",
    type=click.Choice(list(TOOLS)),
)
@settings_options(AdviseSettings, _OPTIONS, failures=SHARE, most_memory=SIZE, output=FILE, html=FILE)
@directory_option
@option("--history LOCATION", "Without LOG: where the history is; by default where your runs keep it.", default="")
@answers(_print)
def command(logs: tuple[str, ...], directory: Path, history: str, **options: Any) -> AdviceGiven:
    """Say what to ask for the tasks of each category: memory for the first attempt and its retries, time, and cpus.
    The answer is configuration for the tool that runs them, with the reasons as comments.

    Each figure says from how many tasks it comes. What it would have saved, and which attempts would have failed, is
    found on the log itself: each task is sized from the tasks before it, so no figure knows the future.

    LOG is any log that `headway replay` reads, or several of the same pipeline, the oldest first. Without LOG, it is
    what runs in this directory have taught.

    \b
    Examples:
      headway advise trace.txt -o advice.config        then: nextflow run … -c advice.config
      headway advise trace.txt --html advice.html      asked, used and advised, as charts
      headway advise run1.txt run2.txt --failures 0    as good as no failures
      headway advise trace.txt --for snakemake -o profile/config.yaml
      headway advise                                   this directory's own runs
    """
    with progress_bar("") as tell:
        return advise(progress=tell, **given())
