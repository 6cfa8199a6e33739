"""`BatchQueue`: a batch scheduler in virtual time that can be queried and copied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headway.kernels.batch import events
from headway.kernels.batch import state as at
from headway.kernels.batch.filling import forget_plans, plan_all
from headway.kernels.batch.profile import starts_in_plan
from headway.kernels.batch.state import Floats, copied, new_state, with_more_foreign_jobs, with_more_slots
from headway.kernels.batch.twin import plan_as_lists

Backfill = Literal["fcfs", "easy", "conservative"]
Selection = Literal["counts", "ids", "contiguous"]
Rules = Literal["pyss", "batsched"]
Dependency = Literal["slurm", "reserved"]

_SELECTIONS = {"counts": at.BY_COUNT, "ids": at.LOWEST, "contiguous": at.CONTIGUOUS}
_WORDS = {at.PENDING: "pending", at.STARTED: "running", at.ENDED: "ended", at.WITHDRAWN: "withdrawn"}
# So that Ctrl-C takes effect within a second, however long the queue, and plain Python gives way to machine code soon.
_EFFORT_A_CALL = 20_000


class Scheduling(NamedTuple):
    """How a batch system schedules.

    `backfill`: fcfs: no job overtakes another. easy: a job may overtake if the first `depth` waiting jobs are not
    delayed. conservative: every waiting job holds a reservation, which only ever moves to an earlier time.
    `nodes`: counts: only the number of nodes matters. ids: a job gets the lowest free nodes. contiguous: a job gets the
    first free nodes with consecutive numbers.
    `rules`: the order of simultaneous events, see `events`.
    `dependency`: slurm: a dependent job is ignored until its predecessor ends. reserved: it holds a reservation from
    the predecessor's requested end on.
    """

    backfill: Backfill = "easy"
    nodes: Selection = "counts"
    rules: Rules = "pyss"
    depth: int = 1
    dependency: Dependency = "slurm"

    @property
    def reservations(self) -> int:
        """The depth as encoded in the kernel's state."""
        return {"fcfs": at.FCFS, "easy": max(at.EASY, self.depth), "conservative": at.CONSERVATIVE}[self.backfill]


_DEFAULT = Scheduling()
_NOTHING: Mapping[str, float] = MappingProxyType({})


class ForeignJob(NamedTuple):
    """The state of a foreign job; unknown times are NaN."""

    state: str  # pending, running, ended, withdrawn
    start: float
    end: float
    promise: float  # its first planned start, under conservative backfilling


class QueueFullError(Exception):
    """The owner has reached the limit on jobs in the system."""


class BatchQueue:
    """A machine with its queue. Jobs come from a trace, and by `submit` (foreign jobs).

    `further`: the machine's amounts of resources other than nodes, whole numbers by name. `needs`: what each job of the
    trace needs of them; nothing of those that are not named. A job runs when there is enough of everything for it.

    >>> queue = BatchQueue(10, Scheduling("easy"), submit=[0, 1], nodes=[8, 4], req=[100, 50], run=[100, 50])
    >>> queue.advance(5)
    []
    >>> float(queue.waits([2, 10], [60, 60])[1])
    145.0
    >>> job = queue.submit(2, 60)
    >>> queue.job(job).state
    'running'
    >>> queue = BatchQueue(10, further={"memory": 64})
    >>> _ = queue.submit(2, 60, needs={"memory": 50})
    >>> queue.waits(1, 60, {"memory": [14, 15]}).tolist()
    [0.0, 60.0]
    """

    def __init__(
        self,
        machine: int,
        scheduling: Scheduling = _DEFAULT,
        *,
        submit: ArrayLike = (),
        nodes: ArrayLike = (),
        req: ArrayLike = (),
        run: ArrayLike = (),
        most_jobs: int | None = None,
        further: Mapping[str, float] = _NOTHING,
        needs: Mapping[str, ArrayLike] = _NOTHING,
    ) -> None:
        if further and scheduling.nodes != "counts":
            raise ValueError("only nodes that are counted can be planned together with further resources")
        self.scheduling = scheduling
        self.machine = machine
        self.further = dict(further)
        self.most_jobs = most_jobs  # limit on waiting and running jobs per owner
        rows = [np.asarray(row, np.float64) for row in (submit, req, run)]
        self._trace = np.concatenate([rows, self._amounts(nodes, needs, len(rows[0]))])
        _check_times(self._trace)
        self._state = new_state(
            machine,
            self._trace.shape[1],
            scheduling.reservations,
            _SELECTIONS[scheduling.nodes],
            together=scheduling.rules == "batsched",
            reserving=scheduling.dependency == "reserved",
            further=list(self.further.values()),
        )
        self._owners: list[int] = []
        self._unreported: list[int] = []  # foreign jobs that started or ended during a submission or withdrawal

    def _amounts(self, nodes: ArrayLike, needs: Mapping[str, ArrayLike], jobs: int) -> Floats:
        """What jobs need, as an array [resource, job]; ValueError if one can never run on this machine."""
        self._check_names(needs)
        amounts = np.empty((1 + len(self.further), jobs))
        for row, (name, most) in enumerate({"nodes": self.machine, **self.further}.items()):
            least, amounts[row] = (0, needs.get(name, 0.0)) if row else (1, nodes)
            if not ((amounts[row] >= least) & (amounts[row] <= most) & (amounts[row] % 1 == 0)).all():
                raise ValueError(f"each job must have {least} to {most:.15g} {name}, a whole number")
        return amounts

    def _check_names(self, needs: Mapping[str, ArrayLike]) -> None:
        if unknown := needs.keys() - self.further.keys():
            raise ValueError(f"the machine has no {', '.join(sorted(unknown))}")

    def clone(self) -> BatchQueue:
        """An independent copy, for what-if questions."""
        other = copy(self)
        other._state = copied(self._state)
        other._owners, other._unreported = self._owners.copy(), self._unreported.copy()
        return other

    def with_future(self, coming: Floats, run_of: Callable[[float, float], float]) -> BatchQueue:
        """A copy with other future arrivals, none before now (rows of `coming`: submit, req, run, nodes).

        `run_of(req, elapsed)` gives the total run time of a job with that requested time that has run for `elapsed`
        seconds; it replaces the run times of all present jobs. Not possible with foreign jobs or further resources.
        """
        if self._owners or self.further:
            raise ValueError("a queue with foreign jobs or further resources cannot be given another future")
        other = self.clone()
        state, known = other._state, int(self._state.counts[at.NEXT])
        other._trace = np.concatenate([self._trace[:, :known], coming], axis=1)
        self._amounts(coming[at.T_NODES], {}, coming.shape[1])
        _check_times(coming)
        live, waiting, running = state.live, state.counts[at.N_WAITING], state.counts[at.N_RUNNING]
        for slot in state.order[at.WAITING, :waiting].tolist():
            live[slot, at.RUN] = max(1.0, run_of(float(live[slot, at.REQ]), 0.0))
        slots = state.order[at.RUNNING, :running].tolist()
        for slot in slots:
            elapsed = self.now - float(live[slot, at.START])
            live[slot, at.RUN] = max(run_of(float(live[slot, at.REQ]), elapsed), elapsed + 1.0)
            live[slot, at.END] = live[slot, at.START] + min(live[slot, at.RUN], live[slot, at.REQ])
        slots.sort(key=lambda slot: (-live[slot, at.END], -live[slot, at.SEQUENCE]))
        state.order[at.RUNNING, :running] = slots
        return other

    # --- time ---

    @property
    def waiting(self) -> int:
        """The number of waiting jobs."""
        return int(self._state.counts[at.N_WAITING])

    @property
    def running(self) -> int:
        """The number of running jobs."""
        return int(self._state.counts[at.N_RUNNING])

    @property
    def now(self) -> float:
        """The current time."""
        return float(self._state.clock[at.NOW])

    def advance(self, until: float) -> list[int]:
        """Advance to `until`, or to the first time at which foreign jobs start or end; return these jobs."""
        if self._unreported:
            until = self.now
        while True:
            events.advance.expect(self._steps)
            reason = events.advance(self._state, self._trace, float(until), _EFFORT_A_CALL)
            if reason == events.CROWDED:
                self._state = with_more_slots(self._state)
            elif reason != events.PAUSED:
                news, self._unreported = self._unreported + self._news(), []
                return list(dict.fromkeys(news))

    def run(self, progress: Callable[[int], None] | None = None) -> None:
        """Run to the end; `progress` is called now and then with the number of jobs that have arrived."""
        while (reason := events.advance(self._state, self._trace, np.inf, _EFFORT_A_CALL)) != events.ARRIVED:
            events.advance.expect(self._steps)
            if reason == events.CROWDED:
                self._state = with_more_slots(self._state)
            self._news()
            if progress:
                progress(int(self._state.counts[at.NEXT]))

    @property
    def _steps(self) -> int:
        """The steps that one event takes at most: each waiting job may look through the whole plan."""
        return int(self._state.counts[at.N_WAITING] * self._state.counts[at.N_POINTS])

    def _news(self) -> list[int]:
        count = self._state.counts
        news: list[int] = self._state.order[at.NEWS, : count[at.N_NEWS]].tolist()
        count[at.N_NEWS] = 0
        return news

    def _look(self) -> None:
        """Run the scheduler after a submission or withdrawal."""
        events.advance(self._state, self._trace, self.now, 0)
        self._unreported += self._news()

    # --- foreign jobs ---

    def submit(
        self,
        nodes: int,
        req: float,
        run: float = np.inf,
        *,
        after: int | None = None,
        owner: int = 0,
        needs: Mapping[str, float] = _NOTHING,
    ) -> int:
        """Submit a job now and return its number. It ends after `run`, after `req`, or when it is withdrawn.

        `after` is an earlier job on whose end it depends. If the job starts at once, the next `advance` reports it.
        """
        if not 0 < nodes <= self.machine or nodes != int(nodes) or not req > 0 or not run >= 0:
            raise ValueError(f"invalid job: {nodes} nodes for {req} s (run time {run} s), machine {self.machine} nodes")
        amounts = self._amounts(nodes, needs, 1)[:, 0].copy()
        if after is not None:
            self._check(after)
        if self.most_jobs is not None and self.in_system(owner) >= self.most_jobs:
            raise QueueFullError
        if not self._state.counts[at.N_UNUSED]:
            self._state = with_more_slots(self._state)
        if self._state.counts[at.N_FOREIGN] == len(self._state.foreign):
            self._state = with_more_foreign_jobs(self._state)
        state = self._state
        state.foreign[state.counts[at.N_FOREIGN], 2:] = np.nan
        self._owners.append(owner)
        job = int(events.submit(state, self._trace, amounts, float(req), run, -1 if after is None else after))
        self._look()
        state.foreign[job, at.F_STAMP] = state.counts[at.CHANGES]
        return job

    def withdraw(self, job: int) -> None:
        """Remove a waiting job or end a running one; no effect on a job that has ended."""
        if self.job(job).state in ("pending", "running"):
            events.withdraw(self._state, self._trace, job)
            self._look()

    def admit(self, job: int) -> None:
        """Let a waiting job start before the job that it depends on has ended; no effect on one that does not wait."""
        if self.job(job).state == "pending":
            events.admit(self._state, job)
            self._look()

    def shrink(self, job: int, nodes: int, needs: Mapping[str, float] = _NOTHING) -> None:
        """Leave a running job with fewer nodes, and with `needs` of further resources; all of those not named.

        No effect on a job that does not run.
        """
        if self.job(job).state == "running":
            held = self._state.live[int(self._state.foreign[job, at.F_SLOT]), at.NODES :]
            if not 0 < nodes <= held[0]:
                raise ValueError(f"a job that has {held[0]:.0f} nodes cannot be left with {nodes}")
            kept = dict(zip(self.further, held[1:].tolist(), strict=True))
            left = self._amounts(nodes, kept | dict(needs), 1)[:, 0].copy()
            if (left > held).any():
                raise ValueError("a job that shrinks cannot be left with more than it has")
            events.shrink(self._state, job, left)
            self._look()

    def job(self, job: int) -> ForeignJob:
        """The state of a foreign job."""
        self._check(job)
        row = self._state.foreign[job]
        return ForeignJob(
            _WORDS[int(row[at.F_STATE])], float(row[at.F_START]), float(row[at.F_END]), float(row[at.F_PROMISE])
        )

    def _check(self, job: int) -> None:
        if not 0 <= job < len(self._owners):
            raise ValueError(f"there is no job {job}; {len(self._owners)} jobs were submitted")

    def in_system(self, owner: int = 0) -> int:
        """The number of the owner's waiting and running jobs."""
        live = np.flatnonzero(self._state.foreign[: len(self._owners), at.F_STATE] <= at.STARTED).tolist()
        return sum(self._owners[job] == owner for job in live)

    # --- questions ---

    def waits(self, nodes: ArrayLike, req: ArrayLike, needs: Mapping[str, ArrayLike] = _NOTHING) -> Floats:
        """Predicted wait in seconds of a job of each (nodes, req, needs) shape if it were submitted now.

        The prediction follows the current plan: every job uses all its requested time, and no more jobs arrive.
        """
        self._check_names(needs)
        columns = [nodes, *(needs.get(name, 0.0) for name in self.further), req]
        *amounts, times = np.broadcast_arrays(*(np.atleast_1d(np.asarray(column, np.float64)) for column in columns))
        starts = np.empty(len(times))
        starts_in_plan(self._state, np.stack(amounts, axis=1), np.ascontiguousarray(times), self._plan(), starts)
        self._unplan()
        return np.asarray(starts - self.now)

    def plan(self) -> Floats:
        """The current plan: times (first row) and the number of free nodes from then on (second row).

        Further rows are the free amounts of further resources. Under first come first served, what is free before the
        last waiting job's start counts as taken.
        """
        floor = self._plan()
        found = self._state.plan[:, : self._state.counts[at.N_POINTS]].copy()
        self._unplan()
        if floor > self.now:
            first = int(np.searchsorted(found[at.TIMES], floor, side="right")) - 1
            found = np.concatenate([np.zeros((len(found), 1)), found[:, first:]], axis=1)
            found[at.TIMES, :2] = self.now, floor
        return found

    def plan_with_nodes(self) -> tuple[list[float], list[float], list[str]]:
        """The plan as lists of times, free nodes, and node masks as hex numbers (empty if nodes have no identities)."""
        if self.further:
            raise ValueError("a snapshot of the plan has nodes only, and this machine has further resources")
        if self.scheduling.backfill == "fcfs":
            times, free = self.plan().tolist()
            return times, free, []
        self._plan()
        found = plan_as_lists(self._state)
        self._unplan()
        return found

    def _plan(self) -> float:
        """Reserve nodes for all waiting jobs; return the earliest start of a further job."""
        if self.scheduling.backfill == "conservative":
            return self.now
        plan_all.expect(self._steps)
        return float(plan_all(self._state))

    def _unplan(self) -> None:
        if self.scheduling.backfill != "conservative":
            forget_plans(self._state)

    @property
    def starts(self) -> Floats:
        """The start time of each job of the trace; NaN if it has not started. Empty in a clone."""
        return self._state.started[0]

    @property
    def promises(self) -> Floats:
        """The first planned start of each job of the trace, under conservative backfilling."""
        return self._state.started[1]


def _check_times(trace: Floats) -> None:
    submit = trace[at.SUBMIT]
    if not (np.diff(submit) >= 0).all() or not (submit >= 0).all():
        raise ValueError("jobs must be in the order of their submission, which must not be negative")
    if not (trace[at.T_REQ] > 0).all() or not (trace[at.T_RUN] >= 0).all():
        raise ValueError("requested times must be positive, and run times must not be negative")
