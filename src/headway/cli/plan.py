"""`headway plan`: how best to put a workflow through a batch queue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli.batch_options import batch_options, check_batch_options, jobs_from, scheduling_of
from headway.cli.options import SPAN, json_option
from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.report.through_queue import Passage

_PREFER = {"fast": 0.0, "cheap": 1.0}


@click.command("plan", short_help="Say how best to put a workflow through a batch queue.")
@click.argument("workflow", metavar="WORKFLOW", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--on", "trace", required=True, metavar="TRACE", help="The queue: a log, or lublin, as for simulate.")
@click.option("--start", type=SPAN, metavar="T", help="When: 8d, 36h; by default halfway through the log.")
@click.option("--plan", "plans", multiple=True, metavar="P", help="Only this; may be given again. By default all.")
@click.option("--most-jobs", type=click.IntRange(min=1), default=16, show_default=True, help="That the site allows.")
@click.option(
    "--prefer", default="fast", show_default=True, metavar="fast|cheap|0..1", help="Time, node-hours, or in between."
)
@click.option("--futures", type=click.IntRange(min=1), default=5, show_default=True, help="How many are imagined.")
@batch_options("conservative")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    workflow: Path,
    trace: str,
    start: float | None,
    plans: tuple[str, ...],
    most_jobs: int,
    prefer: str,
    futures: int,
    as_json: bool,
    **options: Any,
) -> int:
    """Compare the ways of putting WORKFLOW through the queue of TRACE, as it is at time T, and recommend one.

    Nothing is known of what came after T: each plan is tried in the same few imagined futures, in which jobs come as
    they came on days before T, and those that are there take as much of their requests as jobs before T did. WORKFLOW
    is a recorded one (WfFormat, Pegasus DAX). docs/planning.md has the details.

    \b
    Examples:
      headway plan montage.dax --on KTH-SP2.swf.gz --start 30d
      headway plan montage.dax --on lublin --prefer 0.5
      headway plan montage.dax --on sacct.txt --json | jq .recommended
    """
    from headway.cli.through_queue import instance_of, plans_of, start_of
    from headway.report.plan_table import alternatives_of, recommended
    from headway.simulation.batch import queue_of
    from headway.simulation.futures import imagined_future

    check_batch_options(ctx, trace, options, also=["seed"])
    thrift = _thrift(prefer)
    chosen = plans_of(plans)
    instance = instance_of(workflow)
    jobs, _, said = jobs_from(trace, options)
    start_s = start_of(start, jobs)

    from headway.drivers.simulated import simulate
    from headway.drivers.through_queue import Through, run_through
    from headway.planning import PLANS
    from headway.report.through_queue import passage_of
    from headway.simulation.batch import seen_waits

    queue = queue_of(jobs, scheduling_of(options), most_jobs)
    queue.advance(start_s)
    seen = seen_waits(queue, jobs)
    passages: dict[str, list[Passage]] = {plan: [] for plan in chosen}
    for number in range(futures):
        future = imagined_future(queue, jobs, options["seed"] + number)
        for plan, its in passages.items():
            run = run_through(instance, Through(PLANS[plan], start_s, seen_waits=seen))
            simulate(future.clone(), [run])
            its.append(passage_of(plan, run.journal))
    alternatives = alternatives_of(passages)
    if not alternatives:
        raise InputError("no plan gets this workflow through the queue", where=str(workflow), todo="see `headway show`")
    best = recommended(alternatives, thrift)
    if as_json:
        from msgspec import to_builtins

        from headway.cli.output import print_json

        asked = {"workflow": str(workflow), "trace": trace, **said, "start_s": start_s, "futures": futures}
        print_json(asked | {"recommended": best.plan, "plans": [to_builtins(it) for it in alternatives]})
        return 0
    from headway.cli.output import console_for
    from headway.report.plan_table import advice, plan_table
    from headway.report.saying import say, show

    console = console_for()
    for line in plan_table(alternatives, best, console.width):
        show(console, line)
    console.print()
    say(console, advice(alternatives, best, futures), "bold")
    return 0


def _thrift(prefer: str) -> float:
    try:
        thrift = _PREFER.get(prefer, -1.0) if prefer in _PREFER else float(prefer)
    except ValueError:
        thrift = -1.0
    if not 0 <= thrift <= 1:
        raise InputError(f"{prefer!r} is no preference", where="--prefer", todo="write fast, cheap or 0.5 for example")
    return thrift
