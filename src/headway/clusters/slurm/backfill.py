"""When Slurm plans to start each waiting job, by the rule of its own backfill scheduler.

`slurm_starts` answers what `squeue --start` shows, from one reading of the queue. The rule is that of sched/backfill
with select/cons_tres in Slurm 22.05:

- Jobs are planned in the order of reservation, partition tier, priority and submission. A planned job keeps its nodes
  *whole* for its whole time limit, however few cores it needs, in steps of `bf_resolution` within `bf_window`.
- A job starts when running jobs that end have left enough for it. These ends are looked at in groups, which reach 30 s
  after the first end, then 60 s, 120 s and so on: a planned start is the last end of a group, hours late if it is far.
- Which nodes a job gets decides about those behind it: of neighbouring nodes with the lowest weight those that it fills
  best.

So these starts are later than the real ones wherever small jobs wait. They are not for planning: `queue_reading` is.
Not known are licences, limits of users and accounts, preemption, and the topology of a network.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from headway.clusters.slurm.job_details import JobDetails
from headway.clusters.slurm.node_choice import Machine, need_of
from headway.clusters.slurm.queue_reading import Reading
from headway.clusters.slurm.site_reading import Partition, Reservation
from headway.clusters.slurm.squeue import SeenJob

_A_YEAR_S = 365 * 86400
_MOST_TRIES = 1000
_PLAIN_FEATURES = re.compile(r"[\w.-]+(&[\w.-]+)*", re.ASCII)
_SETTING = re.compile(r"\b(bf_\w+)=(\d{1,9})", re.ASCII)
# Slurm plans jobs with these reasons; those that are held, depend on others or exceed a limit have no start.
_PLANNED = ("None", "Priority", "Resources", "ReqNodeNotAvail", "Nodes required", "Nodes_required", "Reserved for")


class Backfill(Struct, frozen=True):
    """The settings that decide about planned starts, with Slurm's defaults."""

    interval_s: int = 30
    resolution_s: int = 60
    window_s: int = 86400
    most_jobs: int = 500  # that are tested
    most_steps: int = 500  # of the plan
    most_of_user: int = 0  # zero: no limit
    most_of_partition: int = 0
    most_of_array: int = 20
    group_step_s: int = 0  # zero: each group of ends reaches twice as far as the one before


def backfill_of(parameters: str) -> Backfill:
    """Parse `SchedulerParameters`.

    >>> backfill_of("bf_window=2880,bf_max_job_test=100,bf_continue").window_s
    172800
    """
    found = {name.lower(): int(number) for name, number in _SETTING.findall(parameters)}
    most = found.get("bf_max_job_test", 500)
    return Backfill(
        interval_s=found.get("bf_interval", 30),
        resolution_s=max(1, found.get("bf_resolution", 60)),
        window_s=60 * found.get("bf_window", 1440),
        most_jobs=most,
        most_steps=found.get("bf_node_space_size", most),
        most_of_user=found.get("bf_max_job_user", 0),
        most_of_partition=found.get("bf_max_job_part", 0),
        most_of_array=found.get("bf_max_job_array_resv", 20),
        group_step_s=found.get("bf_window_linear", 0),
    )


class Step(Struct):
    """Nodes that no waiting job keeps from one time until another."""

    begin: int
    end: int
    nodes: int


class Plan:
    """The nodes that are kept for waiting jobs, over time."""

    def __init__(self, now: int, nodes: int, settings: Backfill) -> None:
        self.settings = settings
        self.end = self._floor(now + settings.window_s)
        self.steps = [Step(self._floor(now), self.end, nodes)]
        self.size = 1  # that Slurm counts; it still counts steps that it has removed
        self.is_full = False

    def _floor(self, at: float) -> int:
        return int(at // self.settings.resolution_s) * self.settings.resolution_s

    def free(self, begin: float, end: float, nodes: int) -> tuple[int, float]:
        """Which of these nodes are not kept from `begin` to `end`, and when others may be; zero: never."""
        rest, later = nodes, 0
        for step, following in zip(self.steps, [*self.steps[1:], None], strict=True):
            if step.end <= begin:
                continue
            if not later and following is not None and nodes & following.nodes & ~(rest & step.nodes):
                later = step.end
            if step.begin > end:
                break
            rest &= step.nodes
        return rest, later

    def overlaps(self, start: float, limit_s: float, nodes: int) -> bool:
        """Whether some of these nodes are kept for a job before while this one would run."""
        begin, end = self._floor(start), self._floor(start + limit_s)
        return any(step.end > begin and step.begin < end and nodes & ~step.nodes for step in self.steps)

    def keep(self, start: float, limit_s: float, nodes: int) -> None:
        """Keep nodes for a job, unless the plan has too many steps: then it is the last that has a start."""
        self.is_full = self.size >= self.settings.most_steps
        if self.is_full:
            return
        begin = max(self._floor(start), self.steps[0].begin)
        end = max(self._floor(start + limit_s), begin + self.settings.resolution_s)
        first = self._cut(begin)
        last = self._cut(end) if end < self.end else len(self.steps)
        for step in self.steps[first:last]:
            step.nodes &= ~nodes
        for index in range(max(0, first - 1), min(last + 1, len(self.steps)) - 1):
            if self.steps[index].nodes == self.steps[index + 1].nodes:
                self.steps[index].end = self.steps.pop(index + 1).end
                break

    def _cut(self, at: int) -> int:
        """Let a step begin at a time; return its number."""
        for index, step in enumerate(self.steps):
            if step.begin == at and index:
                return index
            if step.end > at:
                self.steps.insert(index + 1, Step(at, step.end, step.nodes))
                step.end = at
                self.size += 1
                return index + 1
        return len(self.steps)


def slurm_starts(
    reading: Reading,
    settings: Backfill,
    reservations: Sequence[Reservation] = (),
    details: Mapping[int, JobDetails] = MappingProxyType({}),
) -> dict[int, float]:
    """When Slurm would plan to start each waiting job, by its id; a job that it would not plan is left out.

    A job that is not submitted yet can be asked about by adding it to the jobs of the reading.
    """
    machine = Machine(reading.jobs, reading.partitions, details, settings.group_step_s)
    planner = _Planner(int(reading.at), machine, settings, reservations, details)
    tested: Counter[str | int] = Counter()
    known = {partition.name: partition for partition in reading.partitions}
    starts: dict[int, float] = {}
    for job, name, members in _in_order(reading.jobs, known, details):
        if planner.tried >= settings.most_jobs or planner.plan.is_full:
            break
        at_once = details[job.job_id].at_once if job.job_id in details else 0
        for _ in range(min(members, max(1, settings.most_of_array), at_once or members)):
            users, there = settings.most_of_user, settings.most_of_partition
            if (users and tested[job.user] >= users) or (there and tested[name] >= there):
                break
            tested.update((job.user, name))
            start = planner.start_of(job, known[name])
            if start is None:
                break
            starts[job.job_id] = min(start, starts.get(job.job_id, start)) if "," in job.partition else start
    return starts


def _in_order(
    jobs: Sequence[SeenJob], known: Mapping[str, Partition], details: Mapping[int, JobDetails]
) -> list[tuple[SeenJob, str, int]]:
    """The waiting jobs in the order of planning, once for each partition, arrays with the number of their members."""
    waiting = [
        job for job in jobs if job.state == "PENDING" and job.priority and (job.reason or "None").startswith(_PLANNED)
    ]
    members = Counter(job.job_id for job in waiting)
    each = {(job.job_id, name): (job, name) for job in waiting for name in job.partition.split(",") if name in known}
    reserved = {number for number, one in details.items() if one.reservation}

    def rank(one: tuple[SeenJob, str]) -> tuple[float, ...]:
        job, name = one
        return job.job_id not in reserved, -known[name].tier, -job.priority, job.submitted_at or 0.0, job.job_id

    return [(job, name, members[job.job_id]) for job, name in sorted(each.values(), key=rank)]


class _Planner:
    """Plans one job after the other."""

    def __init__(
        self,
        now: int,
        machine: Machine,
        settings: Backfill,
        reservations: Sequence[Reservation],
        details: Mapping[int, JobDetails],
    ) -> None:
        self.now = now
        self._details = details
        self.machine = machine
        self.plan = Plan(now, machine.works, settings)
        self.tried = 0  # jobs for which Slurm looks at nodes
        self._reservations = [(one, machine.set_of(one.nodes)) for one in reservations if one.ends_at > now]

    def start_of(self, job: SeenJob, partition: Partition) -> float | None:
        """When a job would start; its nodes are kept for it. None: it has no start."""
        details = self._details.get(job.job_id)
        need = need_of(job, partition, details)
        limit_s = min(job.limit_s or _A_YEAR_S, partition.max_time_s or _A_YEAR_S)
        here, wanted = self._suitable(partition, details)
        own = details.reservation if details else ""
        later, counted = float(self.now), False
        for _ in range(_MOST_TRIES):
            begin, allowed, again = self._allowed(own, later, limit_s, here)
            nodes, later = self.plan.free(begin, begin + limit_s, allowed)
            if again and again < self.plan.end and (not later or again < later):
                later = again
            if nodes.bit_count() >= need.nodes and not wanted & ~nodes:
                nodes = wanted if wanted.bit_count() >= need.nodes else nodes
                self.tried, counted = self.tried + (not counted), True
                if found := self.machine.earliest(need, nodes):
                    start = max(self._moment(found[0]), begin)
                    if later and start > later:
                        continue
                    if start > self.now + self.plan.settings.window_s:
                        return start
                    if start > self.now and self.plan.overlaps(start, limit_s, found[1]):
                        later = start
                        continue
                    self.plan.keep(start, limit_s, found[1])
                    return start
            if not later:
                return None
        return None

    def _suitable(self, partition: Partition, details: JobDetails | None) -> tuple[int, int]:
        """The nodes that a job may have, and those that it must have."""
        nodes = self.machine.partitions[partition.name]
        if details is None:
            return nodes, 0
        if _PLAIN_FEATURES.fullmatch(details.features):
            asked = set(details.features.split("&"))
            nodes &= self.machine.set_of([node.name for node in partition.nodes if asked <= set(node.features)])
        return nodes & ~self.machine.set_of(details.excluded), self.machine.set_of(details.wanted)

    def _moment(self, end: float) -> float:
        """When a job can start after an end: a job that is past its limit ends soon."""
        return self.now if end == -math.inf else max(end, self.now + 1.0)

    def _allowed(self, reservation: str, begin: float, limit_s: float, nodes: int) -> tuple[float, int, float]:
        """The nodes that reservations leave a job that begins then or, if they take all, later.

        Returned are the time, the nodes, and when a reservation ends that takes some of them; zero: none does.
        """
        own = next(((one, its) for one, its in self._reservations if one.name == reservation), None)
        if reservation:
            if own is None or not own[0].starts_at <= begin <= own[0].ends_at:
                return begin, 0, 0
            nodes &= own[1]
        for _ in range(10):
            others = [
                (one, its)
                for one, its in self._reservations
                if one.name != reservation and one.starts_at < begin + limit_s and one.ends_at > begin
            ]
            closed = next((one for one, its in others if not reservation and one.closes and not nodes & ~its), None)
            if closed is None:
                break
            begin = closed.ends_at
        taken = 0
        for _, its in others:
            taken |= its
        if not nodes & taken:
            return begin, nodes, 0
        soonest = min(one.ends_at for one, _ in self._reservations if one.ends_at >= begin)
        step = self.plan.settings.resolution_s
        return begin, nodes & ~taken, -(-soonest // step) * step + 1
