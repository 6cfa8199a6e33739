"""A slow and simple reference implementation of the batch queue, from the rules alone.

There is no profile here. Whether nodes are free is found out by asking every job that runs or has a reservation.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from dataclasses import dataclass

from headway.kernels.batch.queue import Scheduling


@dataclass(eq=False)
class Job:
    number: int  # of the trace, or of the foreign ones
    nodes: int
    req: float
    run: float
    foreign: bool = False
    after: Job | None = None
    state: str = "pending"
    start: float = math.nan
    end: float = math.nan
    planned: float = math.inf
    promise: float = math.nan
    held: frozenset[int] = frozenset()  # which nodes, if that matters
    planned_as: int = 0  # among those planned for the same time: who was first
    needs: tuple[int, ...] = ()  # of further resources

    @property
    def amounts(self) -> tuple[int, ...]:
        return self.nodes, *self.needs

    @property
    def over(self) -> bool:
        return self.state in ("ended", "withdrawn")

    @property
    def held_back(self) -> bool:
        return self.after is not None and not self.after.over

    def window(self) -> tuple[float, float]:
        """The time in which the job holds its nodes, by start and requested time."""
        begin = self.start if self.state == "running" else self.planned
        return begin, begin + self.req

    def has_nodes_at(self, date: float) -> bool:
        begin, end = self.window()
        return begin <= date < end


class Oracle:
    """The same interface as `BatchQueue`."""

    def __init__(
        self,
        machine: int,
        scheduling: Scheduling,
        jobs: Iterable[tuple[float, int, float, float]] = (),
        further: tuple[int, ...] = (),
        needs: list[tuple[int, ...]] | None = None,
    ) -> None:
        self.machine, self.scheduling, self.further = machine, scheduling, further
        self.now = 0.0
        self.coming = [(submit, Job(n, nodes, req, run)) for n, (submit, nodes, req, run) in enumerate(jobs)]
        self.trace = [job for _, job in self.coming]
        for job, amounts in zip(self.trace, needs or [], strict=needs is not None):
            job.needs = amounts
        self.line: list[Job] = []
        self.running: list[Job] = []  # who started first comes first
        self.foreign: list[Job] = []
        self.news: list[int] = []
        self.happened = 0
        self.planned = 0
        self.before: dict[int, tuple[int, dict[str, object]]] = {}  # foreign job: what was before it came

    # --- nodes ---

    def choose(self, begin: float, end: float, wanted: Job, others: list[Job]) -> frozenset[int] | None:
        """Nodes that are free from `begin` to `end`; None if there are too few, or too little of something else."""
        nodes = wanted.nodes
        inside = [job for job in others if job.window()[0] < end and job.window()[1] > begin]
        if self.scheduling.nodes == "counts":
            dates = [begin, *(job.window()[0] for job in inside if job.window()[0] > begin)]
            for which, amount in enumerate((self.machine, *self.further)):
                most = max(sum(job.amounts[which] for job in inside if job.has_nodes_at(date)) for date in dates)
                if amount - most < wanted.amounts[which]:
                    return None
            return frozenset()
        free = sorted(set(range(self.machine)).difference(*(job.held for job in inside)))
        if self.scheduling.nodes == "ids":
            return frozenset(free[:nodes]) if len(free) >= nodes else None
        for first in free:
            if set(range(first, first + nodes)) <= set(free):
                return frozenset(range(first, first + nodes))
        return None

    def earliest(self, job: Job, not_before: float, others: list[Job]) -> tuple[float, frozenset[int]]:
        """The earliest start: candidates are now and the ends of other jobs."""
        ends = {other.window()[1] for other in others}
        dates = sorted({not_before, *(end for end in ends if end > not_before)})
        for date in dates:
            held = self.choose(date, date + job.req, job, others)
            if held is not None:
                return date, held
        raise AssertionError("on an empty machine there is room")

    def not_before(self, job: Job) -> float:
        """Now, or the parent's end if reservations may rely on it; infinity if unknown."""
        if not job.held_back:
            return self.now
        assert job.after is not None
        if self.scheduling.dependency == "slurm":
            return math.inf
        return max(self.now, job.after.window()[1])

    # --- what happens ---

    def tell(self, job: Job) -> None:
        self.happened += 1
        if job.foreign and job.state != "pending" and job.number not in self.news:
            self.news.append(job.number)

    def begin(self, job: Job) -> None:
        self.line.remove(job)
        self.running.append(job)
        job.state, job.start = "running", self.now
        self.tell(job)

    def finish(self, job: Job) -> None:
        """The job ends or is withdrawn."""
        job.end = self.now
        if job.state == "running":
            self.running.remove(job)
            job.state = "ended"
        else:
            self.line.remove(job)
            job.state = "withdrawn"
        self.tell(job)

    def enter(self, job: Job) -> None:
        self.line.append(job)
        self.tell(job)

    # --- who starts ---

    def look(self, ended: bool) -> None:
        """Run the scheduler after an event."""
        if self.scheduling.backfill != "conservative":
            self.serve_line()
            return
        for job in list(self.line):
            due = job.planned <= self.now and self.scheduling.rules == "pyss"  # it can no longer be delayed
            if not due and (ended or job.planned == math.inf):
                self.plan(job)
        if self.scheduling.rules == "batsched":
            self.start_due()

    def plan(self, job: Job) -> None:
        bound = self.not_before(job)
        if bound == math.inf:
            return
        before, job.planned = job.planned, math.inf
        job.planned, job.held = self.earliest(job, bound, self.others(job))
        if before == math.inf:
            job.promise = job.planned
        if before != job.planned:
            self.planned += 1
            job.planned_as = self.planned

    def others(self, job: Job) -> list[Job]:
        return [other for other in self.running + self.line if other is not job and other.window()[0] < math.inf]

    def start_due(self) -> None:
        due = [job for job in self.line if job.planned <= self.now]
        if self.scheduling.rules == "pyss":
            due.sort(key=lambda job: job.planned_as)
        for job in due:
            self.begin(job)

    def serve_line(self) -> None:
        """In order: start jobs that fit; the first that do not hold reservations (FCFS stops there)."""
        reserved: list[Job] = []
        for job in list(self.line):
            if job.held_back and self.scheduling.backfill == "fcfs":
                continue
            bound = self.not_before(job)
            if bound == math.inf:
                continue
            date, held = self.earliest(job, bound, self.running + reserved)
            if date == self.now and not job.held_back:
                job.held = held
                self.begin(job)
            elif self.scheduling.backfill == "fcfs":
                break
            elif len(reserved) < self.scheduling.depth:
                job.planned, job.held = date, held
                reserved.append(job)
        for job in reserved:
            job.planned = math.inf

    # --- time ---

    def advance(self, until: float) -> list[int]:
        if self.news:
            until = self.now
        while True:
            submit = self.coming[0][0] if self.coming else math.inf
            end = min((self.ends(job) for job in self.running), default=math.inf)
            date = min(submit, end, min((job.planned for job in self.line), default=math.inf))
            if (self.news and date > self.now) or date > until or date == math.inf:
                if not self.news and self.now < until < math.inf:
                    self.now = until
                news, self.news = self.news, []
                return news
            self.now = date
            if self.scheduling.rules == "batsched":
                self.all_at_once()
            elif submit == date:
                self.enter(self.coming.pop(0)[1])
                self.look(ended=False)
            elif end == date:
                self.finish(next(job for job in self.running if self.ends(job) == date))
                self.look(ended=True)
            else:
                self.start_due()

    def all_at_once(self) -> None:
        over = [job for job in self.running if self.ends(job) == self.now]
        for job in over:
            self.finish(job)
        came = 0
        while self.coming and self.coming[0][0] == self.now:
            self.enter(self.coming.pop(0)[1])
            came += 1
        if over or came:
            self.look(ended=bool(over))
        else:
            self.start_due()

    @staticmethod
    def ends(job: Job) -> float:
        return job.start + min(job.run, job.req)

    def run(self) -> list[float]:
        while self.advance(math.inf):
            pass
        return [job.start for job in self.trace]

    # --- from outside ---

    def submit(
        self, nodes: int, req: float, run: float = math.inf, after: int | None = None, needs: tuple[int, ...] = ()
    ) -> int:
        before = copy.deepcopy({key: value for key, value in vars(self).items() if key != "before"})
        number = len(self.foreign)
        parent = None if after is None else self.foreign[after]
        job = Job(number, nodes, req, run, foreign=True, after=parent, needs=needs or (0,) * len(self.further))
        self.foreign.append(job)
        self.enter(job)
        self.look(ended=False)
        self.before[number] = self.happened, before
        return number

    def withdraw(self, number: int) -> None:
        job = self.foreign[number]
        if job.over:
            return
        happened, before = self.before[number]
        if self.happened == happened:  # as if it had not come
            self.finish(job)
            now, news, since = self.now, self.news, self.foreign[number:]  # those after it went before it
            vars(self).update(before)
            self.now, self.news = now, news
            self.foreign += since
        else:
            self.finish(job)
            self.look(ended=True)

    def clone(self) -> Oracle:
        return copy.deepcopy(self)

    def free(self, date: float) -> int:
        """The number of nodes neither in use nor reserved at a time."""
        return self.machine - sum(job.nodes for job in self.running + self.line if job.has_nodes_at(date))
