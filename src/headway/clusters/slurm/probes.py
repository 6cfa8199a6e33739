"""Slurm's own estimates: a few calls of `sbatch --test-only` correct our plan."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct, structs

from headway.clusters.slurm.commands import Commands, NoAnswerError
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.site_reading import Partition
from headway.clusters.slurm.submitting import complaint_of, refusal, resource_arguments
from headway.kernels.batch.twin import twin_of as kernel_twin
from headway.kernels.batch.twin import twin_waits
from headway.model.records import QueueRead
from headway.model.resources import Resources

MOST_PROBES = 5  # each takes the controller's time and a job id
_PROBE_AGAIN = 30.0  # times the usual interval between looks at the queue
_START = re.compile(r"to start at (\S+) using")
_ROUNDS = 3  # a correction at one time may make another necessary
_RESOLUTION_S = 60.0  # Slurm plans in steps of about a minute; smaller differences count as agreement

Shape = tuple[int, float]  # nodes, seconds


class Probe(Struct, frozen=True):
    """When Slurm says that a job of a shape would start."""

    nodes: int  # or cores
    walltime_s: float
    starts_at: float


def default_shapes(machine: int, most: Resources) -> list[Shape]:
    """All nodes, half, a quarter and one of the nodes for an hour; one node for as long as possible."""
    longest_s = most.walltime_s or 86400.0
    usual_s = min(3600.0, longest_s)
    counts = [min(count, most.nodes) for count in (machine, machine // 2, machine // 4, 1) if count]
    return list(dict.fromkeys([*((count, usual_s) for count in counts), (1, longest_s)]))[:MOST_PROBES]


def probe(
    commands: Commands,
    shapes: Sequence[Shape],
    node: Resources,
    partition: Partition,
    options: SlurmOptions,
    complaints: list[str] | None = None,
    *,
    in_cores: bool = False,
) -> list[Probe]:
    """Ask Slurm when jobs of a few shapes would start. Refused shapes are left out; without an answer it stops.

    What Slurm complains about is added to `complaints`. With `in_cores`, jobs may share the nodes, and a probe counts
    cores.
    """
    found = []
    for nodes, walltime_s in shapes[:MOST_PROBES]:
        asked = node.replace(nodes=nodes, walltime_s=walltime_s, disk_bytes=0)
        arguments = ["sbatch", "--test-only", *resource_arguments(asked, partition, options, shared=in_cores)]
        arguments += options.arguments()
        try:
            answer = commands.read(*arguments, "--wrap=true")
        except NoAnswerError:
            break
        start = _START.search(answer.complaint)
        if answer.code == 0 and start and (moment := _moment(start[1])) is not None:
            found.append(Probe(nodes * int(node.cores) if in_cores else nodes, walltime_s, moment))
            continue
        if complaints is not None:
            complaints.append(complaint_of(answer))
        if not refusal(answer):
            break
    return found


class Probing:
    """Corrects plans by Slurm's estimates, of which a few are asked for at most once in an interval.

    Between two rounds the last estimates count only where they are later than the plan: the nodes that were free for a
    probe may be taken by now, also by our own jobs. `sent` is when probes were sent, also for jobs with other options.
    """

    def __init__(self, commands: Commands, options: SlurmOptions, sent: list[float] | None = None) -> None:
        self._commands = commands
        self._options = options
        self._asked_at = -math.inf
        self._last: list[Probe] = []
        self._sent: list[float] = [] if sent is None else sent

    def wishing(self, options: SlurmOptions) -> Probing:
        """The same for jobs with other options: both together send no more probes than one."""
        return Probing(self._commands, options, self._sent)

    def corrected(self, plan: QueueRead, most: Resources, partition: Partition) -> QueueRead:
        """Correct a plan for requests of at most `most`; if Slurm agrees about the largest, one probe is enough."""
        now, again_s = time.monotonic(), _PROBE_AGAIN * self._options.interval_s
        self._sent[:] = [at for at in self._sent if at > now - again_s]
        room = MOST_PROBES - len(self._sent)
        if now < self._asked_at + again_s or room <= 0:
            return corrected(plan, [seen for seen in self._last if seen.starts_at > plan.at], only_later=True)
        self._asked_at = now
        in_cores = plan.counts == "cores"
        each = int(most.cores) if in_cores else 1
        first, *others = default_shapes(int(max(plan.free)) // each, most)
        self._last = probe(self._commands, [first], most, partition, self._options, in_cores=in_cores)
        planned_s = _wait_s(plan.times, plan.free, (first[0] * each, first[1]))
        self._sent.append(now)
        if self._last and abs(self._last[0].starts_at - plan.at - planned_s) > _RESOLUTION_S:
            others = others[: room - 1]
            self._sent += [now] * len(others)
            self._last += probe(self._commands, others, most, partition, self._options, in_cores=in_cores)
        return corrected(plan, self._last)


def _moment(text: str) -> float | None:
    """Parse seconds, as we ask for them, or the local time that some versions print all the same."""
    if text.isdecimal():
        return float(text)
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def corrected(plan: QueueRead, probes: Sequence[Probe], *, only_later: bool = False) -> QueueRead:
    """Change the plan so that a probed shape starts when Slurm says, or if `only_later` not before that.

    If that is later than planned, some nodes are taken by what we do not see (hidden jobs, reservations). If it is
    earlier, jobs share nodes.
    """
    times, free = list(plan.times), list(plan.free)
    for seen in probes:
        for _ in range(_ROUNDS):
            planned = times[0] + _wait_s(times, free, (seen.nodes, seen.walltime_s))
            if seen.starts_at > planned + _RESOLUTION_S:
                times, free = _limited(times, free, planned, seen.starts_at, most=seen.nodes - 1)
            elif seen.starts_at < planned - _RESOLUTION_S and not only_later:
                begin = max(seen.starts_at, times[0])
                times, free = _limited(times, free, begin, begin + seen.walltime_s, least=seen.nodes)
    return structs.replace(plan, times=times, free=free)


def _wait_s(times: list[float], free: list[float], shape: Shape) -> float:
    import numpy as np

    twin = kernel_twin(times, free, (), contiguous=False)
    return float(twin_waits(twin, np.array([float(shape[0])]), np.array([shape[1]]))[0])


def _limited(
    times: list[float], free: list[float], begin: float, end: float, *, most: float = float("inf"), least: float = 0.0
) -> tuple[list[float], list[float]]:
    """The plan with at most `most`, or at least `least`, free nodes from `begin` to `end`."""
    points = sorted({*times, max(begin, times[0]), end})
    values = [free[max(index for index, time in enumerate(times) if time <= point)] for point in points]
    changed = [
        min(max(value, least), most) if begin <= point < end else value
        for point, value in zip(points, values, strict=True)
    ]
    kept = [index for index in range(len(points)) if index == 0 or changed[index] != changed[index - 1]]
    return [points[index] for index in kept], [changed[index] for index in kept]
