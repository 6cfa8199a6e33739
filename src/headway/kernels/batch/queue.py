"""`BatchQueue`: a batch scheduler in virtual time, to be asked and to be copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headway.kernels.batch import events
from headway.kernels.batch.answers import starts_in_plan
from headway.kernels.batch.filling import forget_plans, plan_everybody
from headway.kernels.batch.state import (
    BY_COUNT,
    CHANGES,
    CONSERVATIVE,
    CONTIGUOUS,
    EASY,
    END,
    ENDED,
    F_END,
    F_PROMISE,
    F_STAMP,
    F_START,
    F_STATE,
    FCFS,
    LOWEST,
    N_FOREIGN,
    N_NEWS,
    N_POINTS,
    N_RUNNING,
    N_UNUSED,
    N_WAITING,
    NEWS,
    NEXT,
    NOW,
    PENDING,
    REQ,
    RUN,
    RUNNING,
    SEQUENCE,
    START,
    STARTED,
    SUBMIT,
    T_NODES,
    T_REQ,
    T_RUN,
    TIMES,
    WAITING,
    WITHDRAWN,
    Floats,
    copied,
    new_state,
    with_more_foreigners,
    with_more_slots,
)
from headway.kernels.batch.twin import plan_as_lists

Backfill = Literal["fcfs", "easy", "conservative"]
Selection = Literal["counts", "ids", "contiguous"]
Rules = Literal["pyss", "batsched"]
Dependency = Literal["slurm", "reserved"]

_SELECTIONS = {"counts": BY_COUNT, "ids": LOWEST, "contiguous": CONTIGUOUS}
_WORDS = {PENDING: "pending", STARTED: "running", ENDED: "ended", WITHDRAWN: "withdrawn"}
_EFFORT_A_CALL = 200_000  # so that Ctrl-C is heard within a second, however long the line


class Scheduling(NamedTuple):
    """How a batch system schedules.

    `backfill`: nobody overtakes (fcfs); others may overtake the first in line if that does not delay it (easy), or the
    first `depth`; everybody has a reservation that only ever moves forward (conservative).
    `nodes`: only their number counts; or jobs get the lowest free ones; or the first free neighbours.
    `rules`: see `events`. `dependency`: a job that waits for another's end is not looked at before (slurm), or holds a
    reservation from the other's requested end on (reserved).
    """

    backfill: Backfill = "easy"
    nodes: Selection = "counts"
    rules: Rules = "pyss"
    depth: int = 1
    dependency: Dependency = "slurm"

    @property
    def reservations(self) -> int:
        """The depth as the kernel knows it."""
        return {"fcfs": FCFS, "easy": max(EASY, self.depth), "conservative": CONSERVATIVE}[self.backfill]


_DEFAULT = Scheduling()


class ForeignJob(NamedTuple):
    """What became of a job that was submitted from outside; times that are not known are NaN."""

    state: str  # pending, running, ended, withdrawn
    start: float
    end: float
    promise: float  # when it was first planned to start; only under conservative backfilling


class QueueFullError(Exception):
    """Its owner has as many jobs in the system as are allowed."""


class BatchQueue:
    """A machine with its queue, fed by a trace of jobs and from outside.

    >>> queue = BatchQueue(10, Scheduling("easy"), submit=[0, 1], nodes=[8, 4], req=[100, 50], run=[100, 50])
    >>> queue.advance(5)
    []
    >>> float(queue.waits([2, 10], [60, 60])[1])
    145.0
    >>> job = queue.submit(2, 60)
    >>> queue.job(job).state
    'running'
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
    ) -> None:
        self.scheduling = scheduling
        self.machine = machine
        self.most_jobs = most_jobs  # that one owner may have in the system
        self._trace = np.array([submit, nodes, req, run], np.float64)
        _check_trace(self._trace, machine)
        self._state = new_state(
            machine,
            self._trace.shape[1],
            scheduling.reservations,
            _SELECTIONS[scheduling.nodes],
            together=scheduling.rules == "batsched",
            reserving=scheduling.dependency == "reserved",
        )
        self._owners: list[int] = []
        self._untold: list[int] = []  # foreign jobs that started or ended when they, or others, came or went

    def clone(self) -> BatchQueue:
        """A queue that goes on from here by itself, for a question of the kind `what if`."""
        other = BatchQueue.__new__(BatchQueue)
        other.scheduling, other.machine, other.most_jobs = self.scheduling, self.machine, self.most_jobs
        other._trace = self._trace
        other._state = copied(self._state)
        other._owners, other._untold = self._owners.copy(), self._untold.copy()
        return other

    def with_future(self, coming: Floats, run_of: Callable[[float, float], float]) -> BatchQueue:
        """A queue that goes on from here with other jobs to come (rows: submit, nodes, req, run; none before now).

        `run_of` says how long a job will have run that asked for so much and has run for so long already; what the
        trace knows of those that are here is forgotten. Only for a queue without jobs from outside.
        """
        if self._owners:
            raise ValueError("jobs from outside have no other future")
        other = self.clone()
        state, known = other._state, int(self._state.counts[NEXT])
        other._trace = np.concatenate([self._trace[:, :known], coming], axis=1)
        _check_trace(other._trace[:, known:], self.machine)
        live, waiting, running = state.live, state.counts[N_WAITING], state.counts[N_RUNNING]
        for slot in state.order[WAITING, :waiting].tolist():
            live[slot, RUN] = max(1.0, run_of(float(live[slot, REQ]), 0.0))
        slots = state.order[RUNNING, :running].tolist()
        for slot in slots:
            elapsed = self.now - float(live[slot, START])
            live[slot, RUN] = max(run_of(float(live[slot, REQ]), elapsed), elapsed + 1.0)
            live[slot, END] = live[slot, START] + min(live[slot, RUN], live[slot, REQ])
        slots.sort(key=lambda slot: (-live[slot, END], -live[slot, SEQUENCE]))
        state.order[RUNNING, :running] = slots
        return other

    # --- time ---

    @property
    def now(self) -> float:
        """The time up to which all has happened."""
        return float(self._state.clock[NOW])

    def advance(self, until: float) -> list[int]:
        """Let time go on to `until`, or to the first date on which a foreign job starts or ends: which ones did."""
        if self._untold:
            until = self.now
        while True:
            reason = events.advance(self._state, self._trace, until, _EFFORT_A_CALL)
            if reason == events.CROWDED:
                self._make_room()
            elif reason != events.PAUSED:
                news, self._untold = self._untold + self._news(), []
                return list(dict.fromkeys(news))

    def run(self, progress: Callable[[int], None] | None = None) -> None:
        """Let everything happen; `progress` hears now and then how many jobs of the trace have come."""
        while (reason := events.advance(self._state, self._trace, np.inf, _EFFORT_A_CALL)) != events.ARRIVED:
            if reason == events.CROWDED:
                self._make_room()
            self._news()
            if progress:
                progress(int(self._state.counts[NEXT]))

    def _news(self) -> list[int]:
        count = self._state.counts
        news: list[int] = self._state.order[NEWS, : count[N_NEWS]].tolist()
        count[N_NEWS] = 0
        return news

    def _look(self) -> None:
        """Let the scheduler see what came or went from outside."""
        events.advance(self._state, self._trace, self.now, 0)
        self._untold += self._news()

    def _make_room(self) -> None:
        self._state = with_more_slots(self._state)

    # --- jobs from outside ---

    def submit(self, nodes: int, req: float, run: float = np.inf, *, after: int | None = None, owner: int = 0) -> int:
        """Submit a job now; its number. It ends after `run`, when it is `withdrawn`, or when all of `req` is used up.

        `after` is an earlier job whose end it waits for. It may start at once: the next `advance` tells.
        """
        if not 0 < nodes <= self.machine or nodes != int(nodes) or not req > 0 or not run >= 0:
            raise ValueError(f"a job of {nodes} nodes for {req} s (it runs for {run} s) on a machine of {self.machine}")
        if after is not None:
            self._check(after)
        if self.most_jobs is not None and self.in_system(owner) >= self.most_jobs:
            raise QueueFullError
        state = self._state
        if not state.counts[N_UNUSED]:
            self._make_room()
        if state.counts[N_FOREIGN] == len(state.foreign):
            self._state = with_more_foreigners(self._state)
        state = self._state
        state.foreign[state.counts[N_FOREIGN], 2:] = np.nan
        self._owners.append(owner)
        job = int(events.submit(state, self._trace, float(nodes), float(req), run, -1 if after is None else after))
        self._look()
        state.foreign[job, F_STAMP] = state.counts[CHANGES]
        return job

    def withdraw(self, job: int) -> None:
        """Take a job back if it waits, end it if it runs; nothing if it is over."""
        if self.job(job).state in ("pending", "running"):
            events.withdraw(self._state, self._trace, job)
            self._look()

    def job(self, job: int) -> ForeignJob:
        """What became of a foreign job so far."""
        self._check(job)
        row = self._state.foreign[job]
        return ForeignJob(_WORDS[int(row[F_STATE])], float(row[F_START]), float(row[F_END]), float(row[F_PROMISE]))

    def _check(self, job: int) -> None:
        if not 0 <= job < len(self._owners):
            raise ValueError(f"there is no job {job}: {len(self._owners)} were submitted")

    def in_system(self, owner: int = 0) -> int:
        """How many jobs of that owner wait or run."""
        states = self._state.foreign[: len(self._owners), F_STATE].tolist()
        return sum(own == owner and state <= STARTED for own, state in zip(self._owners, states, strict=True))

    # --- questions ---

    def waits(self, nodes: ArrayLike, req: ArrayLike) -> Floats:
        """How long jobs of these shapes would wait, each submitted now, by the current plan: everybody takes as long as
        they asked for, and nobody comes."""
        shapes, times = np.atleast_1d(np.asarray(nodes, np.float64)), np.atleast_1d(np.asarray(req, np.float64))
        shapes, times = (np.ascontiguousarray(column) for column in np.broadcast_arrays(shapes, times))
        starts = np.empty(len(shapes))
        starts_in_plan(self._state, shapes, times, self._plan(), starts)
        self._unplan()
        return np.asarray(starts - self.now)

    def plan(self) -> Floats:
        """From when on (first row) how many nodes are free (second), by the current plan; the last holds for ever.

        What is free before others in line, whom nobody may overtake, counts as taken.
        """
        floor = self._plan()
        found = self._state.plan[:, : self._state.counts[N_POINTS]].copy()
        self._unplan()
        if floor > self.now:
            first = int(np.searchsorted(found[TIMES], floor, side="right")) - 1
            found = np.concatenate([[[self.now], [0.0]], found[:, first:]], axis=1)
            found[TIMES, 1] = floor
        return found

    def plan_with_nodes(self) -> tuple[list[float], list[float], list[str]]:
        """The plan as lists, and which nodes are free, as hexadecimal numbers (none if only their number counts)."""
        if self.scheduling.backfill == "fcfs":
            times, free = self.plan().tolist()
            return times, free, []
        self._plan()
        found = plan_as_lists(self._state)
        self._unplan()
        return found

    def _plan(self) -> float:
        """Put all that wait into the plan; from when on somebody else could start."""
        return self.now if self._is_conservative else float(plan_everybody(self._state))

    def _unplan(self) -> None:
        if not self._is_conservative:
            forget_plans(self._state)

    @property
    def _is_conservative(self) -> bool:
        return self.scheduling.backfill == "conservative"

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return int(self._state.counts[N_WAITING])

    @property
    def running(self) -> int:
        """How many jobs run."""
        return int(self._state.counts[N_RUNNING])

    @property
    def starts(self) -> Floats:
        """When each job of the trace started; NaN for those that have not. Nothing in a clone."""
        return self._state.started[0]

    @property
    def promises(self) -> Floats:
        """When each job of the trace was first planned to start, under conservative backfilling."""
        return self._state.started[1]


def _check_trace(trace: Floats, machine: int) -> None:
    submit, nodes = trace[SUBMIT], trace[T_NODES]
    if not (np.diff(submit) >= 0).all() or not (submit >= 0).all():
        raise ValueError("jobs come in the order of their submission, none before 0")
    if not ((nodes >= 1) & (nodes <= machine) & (nodes == np.floor(nodes))).all():
        raise ValueError(f"jobs have from 1 to {machine} nodes")
    if not (trace[T_REQ] > 0).all() or not (trace[T_RUN] >= 0).all():
        raise ValueError("jobs ask for some time, and run for no less than none")
