"""The jobs of a batch log that are simulated. Where a log can be read in several ways, `Choices` says how."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headway.model.batch_log import BatchJobs, BatchLog, Seconds, Whole
from headway.model.errors import InputError
from headway.model.limits import MOST_CORES
from headway.simulation.batch_resources import Further, resources_of

NO_PROCESSORS = "no processors"
NEVER_RAN = "never ran"
TOO_WIDE = "wider than the machine"


class Choices(Struct, frozen=True):
    """How to read a log where it can be read in more than one way."""

    # A job's width: the processors it requested, or those it was allocated; the other column where one is unknown.
    processors: Literal["requested", "allocated"] = "requested"
    # Run times that the scheduler is told: those requested by users, or the actual ones.
    requests: Literal["real", "accurate"] = "real"
    # Jobs that never ran: left out, run for all the time they requested, or run for a second.
    cancelled: Literal["drop", "full-request", "one-second"] = "drop"
    # Jobs that ran longer than requested: their request is extended, or they are killed at its end.
    overrun: Literal["extend", "kill"] = "extend"
    machine: int | None = None  # processors; None: as the log says
    skip_bad: bool = False  # leave out jobs that do not fit on the machine


def jobs_of(
    log: BatchLog, choices: Choices | None = None, where: str | None = None, further: Further | None = None
) -> BatchJobs:
    """The jobs to simulate; times are counted from the first submission. `where` is the log's file, for messages.

    `further`: what the machine has besides processors.
    Every job runs for at least a second and requests at least its run time.
    """
    choices = choices or Choices()
    machine = log.processors if choices.machine is None else choices.machine
    if machine < 1:
        raise InputError(f"a machine cannot have {machine} processors", todo="say how many it has, with --machine")
    if machine > MOST_CORES:
        raise InputError(f"a machine of {machine:,} processors is more than can be simulated", todo="give it fewer")
    nodes = _width(log, choices)
    left_out = dict(log.left_out)

    def without(kind: str, out: NDArray[np.bool_]) -> NDArray[np.bool_]:
        if out.any():
            left_out[kind] = left_out.get(kind, 0) + int(out.sum())
        return ~out

    keep = without(NO_PROCESSORS, nodes <= 0)
    if choices.cancelled == "drop":
        keep &= without(NEVER_RAN, keep & (log.run_s <= 0))
    too_wide = keep & (nodes > machine)
    if too_wide.any() and not choices.skip_bad:
        raise _wide(log, int(np.argmax(too_wide)), nodes, machine, where)
    keep &= without(TOO_WIDE, too_wide)
    resources = list(resources_of(log, further or Further(), nodes, machine))
    for resource in resources:
        too_much = keep & (resource.needs > resource.amount)
        if too_much.any() and not choices.skip_bad:
            raise resource.too_much(log, int(np.argmax(too_much)), where or log.name)
        keep &= without(f"too large for {resource.name}", too_much)
    if not keep.any():
        reasons = ", ".join(f"{jobs:,} {kind}" for kind, jobs in left_out.items())
        raise InputError(
            f"no job of this log can be simulated{f': {reasons}' if reasons else ''}",
            where=where or log.name,
            todo="choose otherwise, for example --cancelled one-second" if NEVER_RAN in left_out else "",
        )
    run_s, req_s = _times(log.run_s[keep], log.requested_s[keep], choices)
    submit_s = log.submit_s[keep]
    first_s = float(submit_s[0])
    return BatchJobs(
        name=log.name,
        machine=machine,
        submit_s=submit_s - first_s,
        nodes=nodes[keep],
        req_s=req_s,
        run_s=run_s,
        started_at=None if log.started_at is None else log.started_at + first_s,
        left_out=left_out,
        further={resource.name: resource.amount for resource in resources},
        needs={resource.name: resource.needs[keep] for resource in resources},
    )


def _width(log: BatchLog, choices: Choices) -> Whole:
    """Processors of each job; 0 or less where unknown."""
    first, second = log.requested, log.allocated
    if choices.processors == "allocated":
        first, second = second, first
    return np.where(first > 0, first, second)


def _times(run_s: Seconds, asked_s: Seconds, choices: Choices) -> tuple[Seconds, Seconds]:
    """Run time and requested time of each job."""
    asked = asked_s > 0
    if choices.cancelled == "full-request":
        run_s = np.where((run_s <= 0) & asked, asked_s, run_s)
    run_s = np.maximum(run_s, 1.0)
    req_s = np.where(asked, np.maximum(asked_s, 1.0), run_s)
    if choices.overrun == "kill":
        run_s = np.minimum(run_s, req_s)
    req_s = np.maximum(req_s, run_s)
    return run_s, run_s.copy() if choices.requests == "accurate" else req_s


def _wide(log: BatchLog, job: int, nodes: Whole, machine: int, where: str | None) -> InputError:
    return InputError(
        f"job {log.number[job]} wants {nodes[job]:,} processors, and the machine has {machine:,}",
        where=f"{where or log.name}:{log.line[job]}",
        todo="say how many it has with --machine, or leave such jobs out with --skip-bad",
    )
