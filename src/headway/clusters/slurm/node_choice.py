"""Which nodes Slurm takes for a job, and after which running jobs: the rule of select/cons_tres."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.clusters.slurm.job_details import JobDetails
from headway.clusters.slurm.site_reading import Node, Partition
from headway.clusters.slurm.squeue import SeenJob
from headway.model.job import JobPhase

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_NOW, _NEVER = -1, 2**62
_FIRST_GROUP_S = 30
_MOST_DIGITS = 20  # of a number in a node's name
_NO_LIMIT_S = 365 * 86400.0  # what a job without a limit counts with


class Need(NamedTuple):
    """What a job needs on each of its nodes, and in all."""

    cpus_each: float
    memory_each: float
    gpus_each: float
    whole: bool  # whether it does not share its nodes
    nodes: int
    wished: int  # nodes that it gets if that is possible
    most: int
    cpus: float
    memory_per_core: float  # zero: it asks for memory by node
    step: int  # it can use multiples of so many cores


def need_of(job: SeenJob, partition: Partition, details: JobDetails | None) -> Need:
    """What a waiting job needs in a partition; without details, the same on each of the nodes that squeue shows."""
    whole = job.alone or partition.exclusive
    nodes = max(job.nodes if details is None else details.nodes, partition.min_nodes, 1)
    gpus = job.gpus / nodes
    if details is None:
        each = math.ceil(job.cpus / nodes)
        return Need(each, job.memory_bytes / nodes, gpus, whole, nodes, nodes, nodes, job.cpus, 0.0, 1)
    most = min(details.most_nodes or 2**30, partition.max_nodes or 2**30)
    wished = max(nodes, most if details.most_nodes else nodes)
    most = max(nodes, min(most, details.tasks or most))
    alone = details.cpus_per_task * (details.tasks if details.most_nodes == 1 else 1)
    each = max(details.cpus_each, alone)
    if not details.memory_per_core:
        return Need(each, job.memory_bytes / nodes, gpus, whole, nodes, wished, most, job.cpus, 0.0, 1)
    per_core = job.memory_bytes / max(1, job.cpus)
    step = max(1, details.cpus_per_task)
    return Need(each, each * per_core, gpus, whole, nodes, wished, most, job.cpus, per_core, step)


class Machine:
    """The nodes of a site, and what running jobs leave free on them when they reach their limits.

    A set of nodes is an integer with a bit for each.
    """

    def __init__(
        self,
        jobs: Sequence[SeenJob],
        partitions: Sequence[Partition],
        details: Mapping[int, JobDetails],
        group_step_s: int,
    ) -> None:
        self.nodes = {node.name: node for partition in partitions for node in partition.nodes}
        self._number = {name: number for number, name in enumerate(sorted(self.nodes, key=_natural))}
        nodes = [self.nodes[name] for name in self._number]
        self._has = np.array([_amounts(node) for node in nodes], np.float64).reshape(-1, 3)
        self._weights = np.array([node.weight for node in nodes], np.int64)
        self._group_step_s = group_step_s
        self.works = self.set_of([node.name for node in nodes if node.works])
        self.partitions = {one.name: self.set_of([node.name for node in one.nodes]) & self.works for one in partitions}
        exclusive = {partition.name for partition in partitions if partition.exclusive}
        running = sorted(filter(_runs, jobs), key=lambda job: (_end(job), job.job_id))
        self._ends = np.array([_end(job) for job in running], np.float64)
        rows = []
        for place, job in enumerate(running):
            whole = job.alone or job.partition in exclusive
            known = details[job.job_id].parts if job.job_id in details else {}
            wide = max(1, len(job.node_names))
            for node in [name for name in job.node_names if name in self._number]:
                cpus, memory = known.get(node, (job.cpus / wide, job.memory_bytes / wide))
                taken = self.nodes[node].cpus if whole else cpus
                rows.append((place, self._number[node], taken, memory, job.gpus / wide))
        parts = np.array(rows, np.float64).reshape(-1, 5)  # of jobs on nodes, by their ends
        self._job_of, self._node_of = parts[:, :2].astype(np.int64).T
        self._taken = parts[:, 2:]
        self._free = self._has.copy()
        np.subtract.at(self._free, self._node_of, self._taken)
        self._by_node = np.lexsort((self._job_of, self._node_of))
        self._ready: dict[tuple[float, ...], Places] = {}

    def set_of(self, names: Sequence[str]) -> int:
        """The set of the nodes with these names."""
        return sum({1 << self._number[name] for name in names if name in self._number})

    def ready(self, need: Need) -> Places:
        """After which of the running jobs each node has enough free for its part of a job; `_NOW` or `_NEVER`."""
        alike = need[:4]
        if alike not in self._ready:
            wanted = np.tile(np.array(need[:3]), (len(self._has), 1))
            if need.whole:
                wanted[:, 0] = np.maximum(wanted[:, 0], self._has[:, 0])
            on, taken = self._node_of[self._by_node], self._taken[self._by_node]
            first = np.searchsorted(on, on)
            sums = np.cumsum(taken, axis=0)
            after = self._free[on] + sums - (sums - taken)[first]
            lacking = np.bincount(on, (after + 1e-6 < wanted[on]).any(axis=1), len(self._has)).astype(np.int64)
            begins = np.searchsorted(on, np.arange(len(self._has) + 1))
            jobs = np.append(self._job_of[self._by_node], _NEVER)
            ready = np.where(begins[:-1] + lacking < begins[1:], jobs[begins[:-1] + lacking], _NEVER)
            ready[(self._free + 1e-6 >= wanted).all(axis=1)] = _NOW
            self._ready[alike] = ready
        return self._ready[alike]

    def earliest(self, need: Need, nodes: int) -> tuple[float, int] | None:
        """When a job can start on some of these nodes (-inf: now), and on which; None: never."""
        inside = self._bits(nodes)
        ready = np.where(inside, self.ready(need), _NEVER)
        enough = np.partition(ready, need.nodes - 1)[need.nodes - 1]
        if enough == _NEVER:
            return None
        for after in itertools.chain((_NOW,), self._groups(inside)):
            if after >= enough and (found := self._chosen(ready <= after, after, need)):
                return -math.inf if after == _NOW else float(self._ends[after]), sum(1 << node for node in found)
        return None

    def _bits(self, nodes: int) -> NDArray[np.bool_]:
        packed = np.frombuffer(nodes.to_bytes(len(self._has) // 8 + 1, "little"), np.uint8)
        return np.unpackbits(packed, bitorder="little")[: len(self._has)].astype(bool)

    def _groups(self, inside: NDArray[np.bool_]) -> Iterator[int]:
        """The running jobs after which Slurm looks whether a job could start: the last of each group."""
        parts = self._job_of[inside[self._node_of]]
        here = parts[np.diff(parts, prepend=-1) > 0]
        if not len(here):
            return
        reach, place = _FIRST_GROUP_S, 0
        origin = self._ends[here[0]] // _FIRST_GROUP_S * _FIRST_GROUP_S + _FIRST_GROUP_S
        while place < len(here):
            within = int(np.searchsorted(self._ends, origin + reach, "right"))
            place = min(max(place, int(np.searchsorted(here, within - 1))), len(here) - 1)
            yield int(here[place])
            following = here[place] + 1
            reach += self._group_step_s or reach
            while following < len(self._ends) and self._ends[following] > origin + reach:
                reach += self._group_step_s or reach
            place += 1

    def _chosen(self, fits: NDArray[np.bool_], after: int, need: Need) -> list[int]:
        """The nodes that Slurm would take once a running job has ended; none if all of them do not suffice.

        If nodes with few cores are in the way of those with more, Slurm leaves them out.
        """
        usable = np.where(fits, self._has[:, 0] if need.whole else self._usable(after, need), 0.0)
        if (usable > 0).sum() < need.nodes:
            return []
        found = self._best(usable, need)
        while not found and need.most > 1 and (usable > (least := usable[usable > 0].min())).sum() >= need.nodes:
            usable[usable <= least] = 0.0
            found = self._best(usable, need)
        return found

    def _usable(self, after: int, need: Need) -> Floats:
        """The cores that a job could use on each node once a running job has ended."""
        ended = int(np.searchsorted(self._job_of, after, "right"))
        on, taken = self._node_of[:ended], self._taken[:ended]
        cpus: Floats = self._free[:, 0] + np.bincount(on, taken[:, 0], len(self._has))
        if need.memory_per_core:
            memory = self._free[:, 1] + np.bincount(on, taken[:, 1], len(self._has))
            cpus = np.minimum(cpus, memory // need.memory_per_core) // need.step * need.step
        return cpus

    def _best(self, usable: Floats, need: Need) -> list[int]:
        """Nodes of the sets of neighbours that fit best, one set after the other until they suffice."""
        at = np.flatnonzero(usable)
        cuts = np.flatnonzero((np.diff(at) > 1) | (np.diff(self._weights[at]) != 0)) + 1
        sets = [(int(self._weights[each[0]]), float(usable[each].sum()), each) for each in np.split(at, cuts)]
        found: list[int] = []
        cpus_left, dear = float(need.cpus), need.wished - need.nodes
        while sets and len(found) < need.most:
            left = need.wished - len(found)
            best = sets[0]
            for one in sets[1:]:
                suffices, better = (each[1] >= cpus_left and len(each[2]) >= left - dear for each in (one, best))
                tighter = one[1] < best[1] or not better
                if one[0] < best[0] or (one[0] == best[0] and (tighter if suffices else one[1] > best[1])):
                    best = one
            sets = [one for one in sets if one is not best]
            members = best[2]
            if left <= 1 and len(alone := members[usable[members] >= cpus_left]):
                members = alone[[int(np.argmin(usable[alone]))]]
            for node in members.tolist():
                left, room = need.wished - len(found), need.most - len(found)
                if room == 0 or (left <= 0 and cpus_left <= 0):
                    break
                if room == 1 and usable[node] < cpus_left:
                    continue
                others = max(need.nodes - len(found) - 1, 0)  # of which each needs a core
                cpus_left -= usable[node] if need.whole else min(usable[node], max(cpus_left - others, need.cpus_each))
                found.append(node)
            if need.wished <= len(found) and cpus_left <= 0:
                break
        return found if cpus_left <= 0 and len(found) >= need.nodes else []


def _amounts(node: Node) -> tuple[int, int, int]:
    return node.cpus, node.memory_bytes, node.gpus


def _natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts names as Slurm does: n2 before n10."""
    return [
        (int(part), "") if part.isdecimal() and len(part) < _MOST_DIGITS else (0, part)
        for part in re.split(r"(\d+)", name)
    ]


def _runs(job: SeenJob) -> bool:
    if job.state == "CONFIGURING":
        return True
    return job.phase is JobPhase.RUNNING and job.state not in ("COMPLETING", "STAGE_OUT")


def _end(job: SeenJob) -> float:
    return (job.started_at or 0.0) + (job.limit_s or _NO_LIMIT_S)
