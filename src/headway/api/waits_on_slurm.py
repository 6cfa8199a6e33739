"""`waits(on="slurm")`: how long jobs of several shapes would wait in the queue of the cluster here, as it is now."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import structs

from headway.api.answers import Answer
from headway.api.plan_on_slurm import imagined
from headway.api.settings import batch_settings
from headway.clusters.slurm.options import options_of
from headway.clusters.slurm.queue_now import QueueNow, queue_now
from headway.report.queue.waits import ShapeWait

_LENGTHS_S = (600.0, 3600.0, 6 * 3600.0, 86_400.0)


class WaitsNow(Answer, frozen=True):
    """The queue of a partition as it is now, and how long jobs of several shapes would wait."""

    cluster: str
    partition: str
    counts: Literal["nodes", "cores"]  # cores where jobs share nodes
    machine: int  # in these
    taken: int  # in these
    jobs_waiting: int
    probes: int  # how many of Slurm's own estimates were used
    waits: list[ShapeWait]


Queues = list[QueueNow]  # of the partition that jobs go to, and of the preemptible ones that the user allows


def waits_on_slurm(given: Mapping[str, str | None]) -> WaitsNow:
    """Read the queue of the cluster here, and plan jobs of several shapes in it. Nothing is submitted.

    `given` is what jobs are to have, beside the settings. Each wait is the shortest in the partition that jobs go to
    and in the preemptible ones that the user allows.
    """
    return waits_in(read_queues(given, Path.cwd()))


def read_queues(given: Mapping[str, str | None], directory: Path) -> Queues:
    """Ask Slurm for the queues that jobs of `directory` may go to; the first is that of the partition."""
    options = options_of(batch_settings(directory, given))
    now = queue_now(options)
    allowed = [name for name in (options.preemptible or "").split(",") if name not in ("", now.partition)]
    alike = structs.replace(options, preemptible=None, nodes="shared" if now.shares else "whole")
    return [now, *(queue_now(structs.replace(alike, partition=name)) for name in allowed)]


def waits_in(queues: Queues) -> WaitsNow:
    """Plan jobs of several shapes in queues that were read."""
    now = queues[0]
    soonest = _soonest(queues, [(units, length_s) for units in _widths(now) for length_s in _lengths_s(now)])
    taken, probes = sum(units for units, _ in now.running), sum(queue.probes for queue in queues)
    counts: Literal["nodes", "cores"] = "cores" if now.shares else "nodes"
    return WaitsNow(now.cluster, now.partition, counts, now.machine, taken, len(now.waiting), probes, soonest)


def wait_of_shape(queues: Queues, nodes: int, cores: int, walltime_s: float) -> ShapeWait:
    """Plan one job of `nodes` nodes with `cores` cores on each; its wait is endless if it does not fit."""
    now = queues[0]
    fits = cores <= now.node.cores
    found = _soonest(queues, [(nodes * cores if now.shares else nodes, walltime_s)])[0]
    wait_s = found.wait_s if fits else math.inf
    return structs.replace(found, nodes=nodes, cores=nodes * cores, wait_s=wait_s)


def _soonest(queues: Queues, shapes: Sequence[tuple[int, float]]) -> list[ShapeWait]:
    waits = zip(*(_waits(queue, shapes) for queue in queues), strict=True)
    return [min(each, key=lambda wait: wait.wait_s) for each in waits]


def _widths(now: QueueNow) -> list[int]:
    """Sizes of jobs, in nodes or cores: doubled up to a node, and from there on, up to the largest job."""
    each = max(1, int(now.node.cores)) if now.shares else 1
    widest = min(now.machine, now.node.nodes * each)
    powers = [2**power for power in range(20)]
    doubled = [*(units for units in powers if units < each), *(each * units for units in powers)]
    return [*(units for units in doubled if units < widest), widest]


def _lengths_s(now: QueueNow) -> list[float]:
    longest_s = now.node.walltime_s or _LENGTHS_S[-1]
    return [*(length_s for length_s in _LENGTHS_S if length_s < longest_s), longest_s]


def _waits(now: QueueNow, shapes: Sequence[tuple[int, float]]) -> list[ShapeWait]:
    """The waits in one partition; endless for jobs that do not fit there."""
    longest_s, each = now.node.walltime_s or math.inf, max(1, int(now.node.cores))
    units, lengths_s = zip(*shapes, strict=True)
    planned = imagined(now, 0, 0, most_jobs=1).waits([min(wide, now.machine) for wide in units], list(lengths_s))
    found = []
    for (wide, length_s), wait_s in zip(shapes, planned.tolist(), strict=True):
        nodes, cores = (-(-wide // each), wide) if now.shares else (wide, wide * each)
        fits = wide <= now.machine and length_s <= longest_s
        found.append(ShapeWait(nodes, cores, length_s, wait_s if fits else math.inf, now.partition))
    return found
