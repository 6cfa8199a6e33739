"""`headway plan`: how best to put a workflow through a batch queue."""

from __future__ import annotations

from typing import Any

import click

from headway.cli.batch_options import batch_options, given
from headway.cli.options import SPAN, json_option
from headway.cli.output import console_for, print_json, warn
from headway.cli.queue_progress import progress_bar


@click.command("plan", short_help="Say how best to put a workflow through a batch queue.")
@click.argument("workflow", metavar="WORKFLOW", type=click.Path(dir_okay=False))
@click.option("--on", required=True, metavar="TRACE", help="The queue: a log, or lublin, as for simulate; or slurm.")
@click.option("--start", type=SPAN, metavar="T", help="When: 8d, 36h; by default halfway through the log.")
@click.option("--plan", multiple=True, metavar="P", help="Only this plan; may be repeated. By default all.")
@click.option(
    "--most-jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Jobs that the site allows in the queue; by default 16, or as Slurm says.",
)
@click.option(
    "--prefer", default="fast", show_default=True, metavar="fast|cheap|0..1", help="Time, node-hours, or in between."
)
@click.option(
    "--futures", type=click.IntRange(min=1), default=5, show_default=True, help="How many futures are simulated."
)
@click.option("--partition", metavar="NAME", help="slurm: the partition of jobs; by default the site's.")
@click.option("--account", metavar="NAME", help="slurm: the account that jobs are charged to.")
@click.option("--qos", metavar="NAME", help="slurm: the quality of service of jobs.")
@click.option("--constraint", metavar="FEATURES", help="slurm: the features that nodes must have.")
@click.option(
    "--history", metavar="PLACE", default="", envvar="HEADWAY_HISTORY", help="slurm: where earlier runs are recorded."
)
@batch_options("conservative")
@json_option
@click.pass_context
def command(ctx: click.Context, /, workflow: str, as_json: bool, **options: Any) -> int:
    """Compare the plans for putting WORKFLOW through the queue of TRACE, as it is at time T, and recommend one.

    What came after T is not used: each plan is simulated in the same few imagined futures, in which jobs arrive as
    they did on days before T, and jobs in the queue run for as large a share of their requests as jobs before T did.
    WORKFLOW is a recorded one (WfFormat, Pegasus DAX). docs/planning.md has the details.

    With --on slurm the queue is that of the cluster whose login node this is, now; nothing is submitted. WORKFLOW may
    be any: run times come from earlier runs, or from the `time` of tasks. In the futures no further jobs arrive, and
    those in the queue run for as long as they requested, or for a share of it.

    \b
    Examples:
      headway plan montage.dax --on KTH-SP2.swf.gz --start 30d
      headway plan montage.dax --on lublin --prefer 0.5
      headway plan montage.dax --on sacct.txt --json | jq .recommended
      headway plan workflow.yaml --on slurm
    """
    from headway.api.plan import plan

    with progress_bar(workflow, compiles=True) as tell:
        result = plan(progress=tell, **given(ctx))
    for text in result.warnings:
        warn(text)
    if as_json:
        print_json(result.document())
        return 0
    from headway.report.queue.through_queue import advice, plan_table
    from headway.report.saying import say, show

    console = console_for()
    for line in plan_table(result.plans, result.recommended, console.width):
        show(console, line)
    console.print()
    say(console, advice(result.plans, result.recommended, result.settings.futures), "bold")
    return 0
