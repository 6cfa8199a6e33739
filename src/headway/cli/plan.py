"""`headway plan`: how best to put a workflow through a batch queue."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from headway.api.plan import PlanResult, PlanSettings, plan
from headway.cli.batch_options import NODE_OPTIONS, QUEUE_OPTIONS, given, settings_options
from headway.cli.job_options import NAMED
from headway.cli.options import SPAN, answers, option, set_option
from headway.cli.output import warn
from headway.cli.queue_progress import progress_bar
from headway.report.saying import say, show

_OPTIONS = {
    "--start T": "When: 8d, 36h; by default halfway through the log.",
    "--plan P": "Only this plan; may be repeated. By default all.",
    "--most-jobs N": "Jobs that the site allows in the queue; by default 16, or as Slurm says.",
    "--prefer fast|cheap|0..1": "Time, node-hours, or in between.",
    "--deadline T": "Recommend the cheapest plan that ends within T in 90% of the futures.",
    "--futures": "How many futures are simulated; by default 5, with --deadline 20.",
    **NAMED,
}


def _print(console: Console, result: PlanResult) -> None:
    from headway.report.queue.front import front_picture
    from headway.report.queue.through_queue import advice, chance, plan_table

    show(console, *plan_table(result.plans, result.recommended, console.width, in_cores=result.in_cores), "")
    if picture := front_picture(result.plans, result.recommended, console.width, in_cores=result.in_cores):
        show(console, *picture, "")
    if result.deadline_s is None:
        say(console, advice(result.plans, result.recommended, result.futures), style="bold")
    else:
        say(console, chance(result.recommended, result.deadline_s, result.futures), style="bold")


@click.command("plan", short_help="Say how best to put a workflow through a batch queue.")
@click.argument("workflow", metavar="WORKFLOW", type=click.Path(dir_okay=False))
@option("--on TRACE", "The queue: a log, or lublin, as for simulate; or slurm.", required=True)
@settings_options(PlanSettings, _OPTIONS, start=SPAN, deadline=SPAN)
@set_option()
@option("--history PLACE", "slurm: where earlier runs are recorded.", default="", envvar="HEADWAY_HISTORY")
@settings_options(PlanSettings, QUEUE_OPTIONS | NODE_OPTIONS)
@answers(_print)
def command(workflow: str, **options: Any) -> PlanResult:
    """Compare the plans for putting WORKFLOW through the queue of TRACE, as it is at time T, and recommend one.

    What came after T is not used: each plan is simulated in the same few imagined futures, in which jobs arrive as
    they did on days before T, and jobs in the queue run for as large a share of their requests as jobs before T did.
    WORKFLOW is a recorded one (WfFormat, Pegasus DAX). `headway docs planning` has the details.

    With --on slurm the queue is that of the cluster whose login node this is, now; nothing is submitted. WORKFLOW may
    be any: run times come from earlier runs, or from the `time` of tasks. In the futures no further jobs arrive, and
    those in the queue run for as long as they requested, or for a share of it. --nodes is whole or shared, as for
    `headway run`.

    \b
    Examples:
      headway plan montage.dax --on KTH-SP2.swf.gz --start 30d
      headway plan montage.dax --on lublin --prefer 0.5
      headway plan montage.dax --on KTH-SP2.swf.gz --deadline 24h
      headway plan montage.dax --on sacct.txt --json | jq .recommended
      headway plan workflow.yaml --on slurm
    """
    with progress_bar(workflow) as tell:
        result = plan(progress=tell, **given())
    for text in result.warnings:
        warn(text)
    return result
