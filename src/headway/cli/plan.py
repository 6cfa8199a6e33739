"""`headway plan`: how best to put a workflow through a batch queue."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from headway.cli.batch_options import batch_options, check_batch_options, jobs_from, scheduling_of
from headway.cli.options import SPAN, json_option
from headway.cli.plan_on_slurm import SLURM, check_site_options
from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.kernels.batch.queue import BatchQueue
    from headway.model.instance import Instance
    from headway.model.records import SeenWait
    from headway.model.resources import Resources
    from headway.report.queue.through_queue import Passage

_PREFER = {"fast": 0.0, "cheap": 1.0}
_MOST_JOBS = 16  # where nobody says how many the site allows
_PLENTY_BYTES = 1 << 50  # of disk, which no queue knows of


class _Setting(NamedTuple):
    """A workflow at a queue."""

    instance: Instance
    future: Callable[[int], BatchQueue]
    start_s: float
    said: dict[str, Any]  # for the document: where the queue comes from
    seen_waits: tuple[SeenWait, ...] = ()
    node: Resources | None = None


@click.command("plan", short_help="Say how best to put a workflow through a batch queue.")
@click.argument("workflow", metavar="WORKFLOW", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--on", "trace", required=True, metavar="TRACE", help="The queue: a log, or lublin, as for simulate; slurm."
)
@click.option("--start", type=SPAN, metavar="T", help="When: 8d, 36h; by default halfway through the log.")
@click.option("--plan", "plans", multiple=True, metavar="P", help="Only this; may be given again. By default all.")
@click.option(
    "--most-jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"That the site allows; by default {_MOST_JOBS}, or as Slurm says.",
)
@click.option(
    "--prefer", default="fast", show_default=True, metavar="fast|cheap|0..1", help="Time, node-hours, or in between."
)
@click.option("--futures", type=click.IntRange(min=1), default=5, show_default=True, help="How many are imagined.")
@click.option("--partition", metavar="NAME", help="slurm: for jobs; by default the site's.")
@click.option("--account", metavar="NAME", help="slurm: jobs are charged to it.")
@click.option("--qos", metavar="NAME", help="slurm: the quality of service of jobs.")
@click.option("--constraint", metavar="FEATURES", help="slurm: what nodes must have.")
@click.option(
    "--history", metavar="PLACE", default="", envvar="HEADWAY_HISTORY", help="slurm: what earlier runs taught."
)
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
    most_jobs: int | None,
    prefer: str,
    futures: int,
    partition: str | None,
    account: str | None,
    qos: str | None,
    constraint: str | None,
    history: str,
    as_json: bool,
    **options: Any,
) -> int:
    """Compare the ways of putting WORKFLOW through the queue of TRACE, as it is at time T, and recommend one.

    Nothing is known of what came after T: each plan is tried in the same few imagined futures, in which jobs come as
    they came on days before T, and those that are there take as much of their requests as jobs before T did. WORKFLOW
    is a recorded one (WfFormat, Pegasus DAX). docs/planning.md has the details.

    With --on slurm it is the queue of the cluster whose login node this is, now; nothing is submitted. WORKFLOW may be
    any: tasks run as long as earlier runs, or their `time`, say. Nobody comes in the futures, and those that are
    there take what they asked for, or some share of it.

    \b
    Examples:
      headway plan montage.dax --on KTH-SP2.swf.gz --start 30d
      headway plan montage.dax --on lublin --prefer 0.5
      headway plan montage.dax --on sacct.txt --json | jq .recommended
      headway plan workflow.yaml --on slurm
    """
    from headway.cli.through_queue import plans_of
    from headway.report.queue.plan_table import alternatives_of, recommended

    check_site_options(ctx, trace)
    thrift = _thrift(prefer)
    chosen = plans_of(plans)
    if trace == SLURM:
        site = {"partition": partition, "account": account, "qos": qos, "constraint": constraint}
        setting = _on_slurm(workflow, site, history, options["seed"], most_jobs)
    else:
        check_batch_options(ctx, trace, options, also=["seed"])
        setting = _on_trace(workflow, trace, start, options, most_jobs)
    alternatives = alternatives_of(_passages(setting, chosen, futures))
    if not alternatives:
        raise InputError("no plan gets this workflow through the queue", where=str(workflow), todo="see `headway show`")
    best = recommended(alternatives, thrift)
    if as_json:
        from msgspec import to_builtins

        from headway.cli.output import print_json

        asked = {"workflow": str(workflow), "trace": trace, **setting.said}
        asked |= {"start_s": setting.start_s, "futures": futures}
        print_json(asked | {"recommended": best.plan, "plans": [to_builtins(it) for it in alternatives]})
        return 0
    from headway.cli.output import console_for
    from headway.report.queue.plan_table import advice, plan_table
    from headway.report.saying import say, show

    console = console_for()
    for line in plan_table(alternatives, best, console.width):
        show(console, line)
    console.print()
    say(console, advice(alternatives, best, futures), "bold")
    return 0


def _on_trace(
    workflow: Path, trace: str, start: float | None, options: dict[str, Any], most_jobs: int | None
) -> _Setting:
    from headway.cli.through_queue import instance_of, start_of
    from headway.simulation.batch import queue_of, seen_waits
    from headway.simulation.futures import imagined_future

    instance = instance_of(workflow)
    jobs, _, said = jobs_from(trace, options)
    start_s = start_of(start, jobs)
    queue = queue_of(jobs, scheduling_of(options), most_jobs or _MOST_JOBS)
    queue.advance(start_s)
    return _Setting(
        instance,
        lambda number: imagined_future(queue, jobs, options["seed"] + number),
        start_s,
        said,
        seen_waits(queue, jobs),
    )


def _on_slurm(workflow: Path, site: dict[str, str | None], history: str, seed: int, most_jobs: int | None) -> _Setting:
    from headway.cli.plan_on_slurm import expected_instance, imagined, kept_waits, read_queue

    now = read_queue(site)
    instance = expected_instance(workflow, history, now.cluster)
    allowed = min(most_jobs or now.most_jobs or _MOST_JOBS, now.most_jobs or most_jobs or _MOST_JOBS)
    said = {
        "partition": now.partition,
        "machine": now.machine,
        "nodes_taken": sum(nodes for nodes, _ in now.running),
        "jobs_waiting": len(now.waiting),
        "probes": now.probes,
    }
    node = now.node.replace(nodes=1, disk_bytes=_PLENTY_BYTES)
    waits = kept_waits(history, now.cluster)
    return _Setting(instance, lambda number: imagined(now, number, seed, allowed), 0.0, said, waits, node)


def _passages(setting: _Setting, plans: list[str], futures: int) -> dict[str, list[Passage]]:
    """What becomes of the workflow under each plan, in each future."""
    from headway.drivers.simulated import simulate
    from headway.drivers.through_queue import Through, run_through
    from headway.planning import PLANS
    from headway.report.queue.through_queue import passage_of

    passages: dict[str, list[Passage]] = {plan: [] for plan in plans}
    for number in range(futures):
        future = setting.future(number)
        for plan, its in passages.items():
            through = Through(PLANS[plan], setting.start_s, node=setting.node, seen_waits=setting.seen_waits)
            run = run_through(setting.instance, through)
            simulate(future.clone(), [run])
            its.append(passage_of(plan, run.journal))
    return passages


def _thrift(prefer: str) -> float:
    try:
        thrift = _PREFER.get(prefer, -1.0) if prefer in _PREFER else float(prefer)
    except ValueError:
        thrift = -1.0
    if not 0 <= thrift <= 1:
        raise InputError(f"{prefer!r} is no preference", where="--prefer", todo="write fast, cheap or 0.5 for example")
    return thrift
