"""`plan`: how best to put a workflow through a batch queue, a log's or that of the Slurm cluster here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from headway.api.keywords import Tell, refuse, settled
from headway.api.queues import QueueSettings, check_queue_settings, jobs_from
from headway.api.workflow_in_queue import (
    OF_JOBS,
    USUAL_MOST_JOBS,
    PlanSettings,
    QueueAt,
    plans_of,
    seconds_of,
    start_of,
)
from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.report.queue.through_queue import Alternative, Passage

__all__ = ["PlanResult", "PlanSettings", "plan"]

SLURM = "slurm"
_ONLY_SLURM = (*OF_JOBS, "set")
USUAL_FUTURES, FUTURES_FOR_A_CHANCE = 5, 20
_PREFER = {"fast": 0.0, "cheap": 1.0}


class PlanResult(Struct, frozen=True):
    """The plans that got the workflow through in every future, and the recommended one."""

    workflow: str
    settings: PlanSettings
    source: dict[str, Any]
    start_s: float
    recommended: Alternative
    plans: list[Alternative]  # the shortest expected makespan first
    warnings: tuple[str, ...] = ()
    in_cores: bool = False  # whether the queue counts cores instead of nodes
    futures: int = USUAL_FUTURES
    deadline_s: float | None = None

    def document(self) -> dict[str, Any]:
        """The answer of `headway plan --json`."""
        asked = {"workflow": self.workflow, "trace": self.settings.on, **self.source}
        asked |= {"start_s": self.start_s, "futures": self.futures, "deadline_s": self.deadline_s}
        plans = [to_builtins(alternative) for alternative in self.plans]
        return asked | {"recommended": self.recommended.plan, "plans": plans}


def plan(
    workflow: str | Path, settings: PlanSettings | None = None, *, progress: Tell | None = None, **named: Any
) -> PlanResult:
    """Simulate each plan for a workflow in the same imagined futures of a queue, and recommend one. Submits nothing.

    Keywords are the fields of `PlanSettings`; `on` is required: `plan("w.dax", on="log.swf.gz", start="30d")`.
    """
    from headway.report.queue.through_queue import alternatives_of, cheapest_in_time, recommended

    asked, given = settled(PlanSettings, settings, named)
    deadline_s = None if asked.deadline is None else seconds_of(asked.deadline)
    futures = asked.futures or (USUAL_FUTURES if deadline_s is None else FUTURES_FOR_A_CHANCE)
    path = Path(workflow)
    if not asked.on:
        raise InputError("no queue is named", where="--on", todo="name a log, lublin or slurm")
    thrift, plans = _thrift(asked.prefer), plans_of(asked.plan)
    if asked.on == SLURM:
        from headway.api.plan_on_slurm import queue_on_slurm

        of_a_trace = [name for name in QueueSettings.__struct_fields__ if name not in ("seed", "nodes")]
        if asked.asks() is None:
            of_a_trace.append("nodes")
        refuse([*of_a_trace, "start"], given, "logs, and this queue is a real one")
        moment = queue_on_slurm(path, asked, USUAL_MOST_JOBS)
    else:
        refuse(_ONLY_SLURM, given, "a real queue, and this is a log")
        check_queue_settings(asked.on, asked, given, also="seed")
        asked.check_nodes(given)
        moment = _queue_of_trace(path, asked)
    alternatives = alternatives_of(_passages(moment, plans, futures, progress), deadline_s)
    if not alternatives:
        why = "".join(f"; {warning}" for warning in moment.warnings)
        what = f"no plan gets this workflow through the queue{why}"
        raise InputError(what, where=str(path), todo="see `headway show`")
    best = recommended(alternatives, thrift) if deadline_s is None else cheapest_in_time(alternatives)
    return PlanResult(
        str(path),
        asked,
        moment.source,
        moment.start_s,
        best,
        alternatives,
        moment.warnings,
        in_cores=moment.asks is not None,
        futures=futures,
        deadline_s=deadline_s,
    )


def _queue_of_trace(path: Path, asked: PlanSettings) -> QueueAt:
    from headway.drivers.through_queue import check_node
    from headway.simulation.batch import queue_of, seen_waits
    from headway.simulation.futures import imagined_future
    from headway.studies.runs import recorded_instance

    instance = recorded_instance(path, "simulate a recorded workflow")
    found = jobs_from(asked.on, asked)
    start_s = start_of(asked.start, found.jobs)
    queue = queue_of(found.jobs, asked.scheduling(), asked.most_jobs or USUAL_MOST_JOBS)
    if (node := asked.node()) is not None:
        check_node(node, queue.machine, instance)
    queue.advance(start_s)
    return QueueAt(
        instance,
        lambda number: imagined_future(queue, found.jobs, asked.seed + number),
        start_s,
        found.source,
        seen_waits(queue, found.jobs, unit=asked.unit),
        node,
        asks=asked.asks(),
    )


def _passages(moment: QueueAt, plans: list[str], futures: int, progress: Tell | None) -> dict[str, list[Passage]]:
    """The workflow's passage under each plan, in each future."""
    from headway.drivers.assemble import plans as all_plans
    from headway.drivers.simulated import simulate
    from headway.drivers.through_queue import Through, run_through
    from headway.report.queue.through_queue import passage_of

    passages: dict[str, list[Passage]] = {plan: [] for plan in plans}
    for number in range(futures):
        future = moment.future(number)
        for done, (name, its) in enumerate(passages.items()):
            if progress:
                progress(f"{name}, future {number + 1}", number * len(plans) + done, futures * len(plans))
            through = Through(
                all_plans()[name], moment.start_s, node=moment.node, seen_waits=moment.seen_waits, asks=moment.asks
            )
            run = run_through(moment.instance, through)
            simulate(future.clone(), [run])
            its.append(passage_of(name, run.journal))
    return passages


def _thrift(prefer: float | str) -> float:
    """How much node-hours count against time: from 0 to 1."""
    try:
        thrift = _PREFER[prefer] if isinstance(prefer, str) and prefer in _PREFER else float(prefer)
    except ValueError:
        thrift = -1.0
    if not 0 <= thrift <= 1:
        todo = "write fast, cheap or 0.5 for example"
        raise InputError(f"{str(prefer)!r} is no preference", where="--prefer", todo=todo)
    return thrift
