"""`headway waits`: how well each model would have predicted the waits of a log's jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from headway.api.waits import WaitsResult, WaitsSettings, waits
from headway.cli.batch_options import QUEUE_OPTIONS, given, settings_options
from headway.cli.options import FILE, answers
from headway.cli.queue_progress import progress_bar
from headway.report.queue.waits import shapes_table, waits_headline, waits_table
from headway.report.saying import say, show
from headway.report.words import count, harmless

if TYPE_CHECKING:
    from headway.api.waits_on_slurm import WaitsNow

_OPTIONS = {
    "--on CLUSTER": "slurm, instead of a log: how long jobs would wait in the queue of the Slurm cluster here, now.",
    "--partition NAME": "slurm: the partition; by default the site's.",
    "--account NAME": "slurm: the account of the jobs; by default yours.",
    "--qos NAME": "slurm: their quality of service.",
    "--preemptible NAME": "slurm: partitions whose jobs others may preempt, if jobs may go there as well.",
    "--models A,B": "Models to ask; by default all.",
    "--warm-up DAYS": "Models learn from jobs submitted in the first days, but are not scored on them.",
    **QUEUE_OPTIONS,
    "--html FILE": "Also write one page.",
    "--force": "Overwrite a FILE that exists.",
}


def _print(console: Console, result: WaitsResult | WaitsNow) -> None:
    if not isinstance(result, WaitsResult):
        waiting = f"{count(result.jobs_waiting, 'job')} waiting"
        taken = f"{result.taken} of {count(result.machine, result.counts.removesuffix('s'))} taken, {waiting}"
        say(console, Text.assemble((harmless(result.cluster), "bold"), f", {harmless(result.partition)}: {taken}"), "")
        show(console, *shapes_table(result.waits, console.width, result.counts))
        return
    title = Text.assemble((harmless(result.name), "bold"), f": {count(result.jobs, 'job')}")
    title.append(f" on {count(result.machine, 'node')}; {', '.join(result.words)}")
    say(console, title, "")
    say(console, waits_headline(result.models), "", style="bold")
    show(console, *waits_table(result.models, console.width))


@click.command("waits", short_help="Show how well queue waits could have been predicted on a log of jobs.")
@click.argument("trace", metavar="[TRACE]", default="")
@settings_options(WaitsSettings, _OPTIONS, html=FILE)
@answers(_print)
def command(trace: str, **options: Any) -> WaitsResult | WaitsNow:
    """Put the jobs of TRACE through a simulated batch queue, ask every model at each submission how long the job will
    wait, and score the answers.

    TRACE is as for `headway simulate`: a log in the Standard Workload Format or of Slurm's `sacct -P`, or the word
    lublin. Models: mixture (of the others), corrected-estimate, scheduler-estimate (the scheduler's own plan),
    quantile-bound, asa, asa-default, asa-greedy. They learn as they go: a wait becomes known when the job starts.
    `headway docs waits` has the details.

    Errors and coverage are computed over the jobs that had to wait by the scheduler's plan.

    With --on slurm and without TRACE: how long jobs of several shapes would wait in the queue of the cluster whose
    login node this is, as it is now. Nothing is submitted.

    \b
    Examples:
      headway waits KTH-SP2.swf.gz
      headway waits KTH-SP2.swf.gz --models corrected-estimate,asa --requests accurate
      headway waits sacct.txt --backfill easy --warm-up 7 --html waits.html
      headway waits lublin --machine 256 --jobs 5000 --load 0.9 --seed 7 --json
      headway waits --on slurm
    """
    with progress_bar(trace or "slurm") as tell:
        return waits(progress=tell, **given())
