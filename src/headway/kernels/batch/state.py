"""The state of a batch queue as arrays: copying them copies the queue.

From its submission to its end a job has a slot, which is a row of `live`; `order` lists the slots of waiting and
running jobs. Jobs of the trace are numbered from 0; foreign jobs, which `submit` adds, are numbered after them.

A machine has nodes and, where asked for, further resources, such as memory or the nodes of one partition. A job needs
an amount of each. Nodes are always the first resource; the others stand behind them in `live`, `plan` and the trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

NEVER = np.inf

# Columns of `live`.
JOB, REQ, RUN = range(3)
START = 3  # actual or planned start; NEVER: no plan
END = 4  # actual end
EXPECTED = 5  # latest end: start + requested time
SEQUENCE = 6  # order among jobs that start, or end, at the same time
AFTER = 7  # the foreign job on whose end it depends, or -1
NODES = 8  # from here on, what it needs of each resource

# Columns of `foreign`.
F_SLOT, F_STATE, F_START, F_END = range(4)
F_STAMP = 4  # counts[CHANGES] after its submission
F_PROMISE = 5  # first planned start
_FOREIGN_COLUMNS = 6

# States of foreign jobs.
PENDING, STARTED, ENDED, WITHDRAWN = range(4)

# Indices of `counts`.
N_WAITING, N_RUNNING, N_UNUSED, N_POINTS, N_FOREIGN, N_NEWS = range(6)
NEXT = 6  # the next job of the trace
DRAWN = 7  # the last sequence number
CHANGES = 8  # number of changes to the queue
RESTLESS = 9  # whether another round of `move_forward` may move a job
GREW = 10  # whether nodes became free as planned since all waiting jobs were last scheduled
MACHINE = 11
DEPTH = 12
SELECTION = 13
TOGETHER = 14  # whether all events of one time are one event
RESERVING = 15  # whether a dependent job may be planned from its parent's requested end on
HELD = 16  # the first row of `sets` that belongs to a slot
NEWCOMERS = 17  # number of waiting jobs, at the end of the list, that were not scheduled yet
FREED = 18  # whether nodes became free since the last scheduling
_COUNTS = 19

# Values of counts[DEPTH]; positive values are the number of reservations.
FCFS = 0
EASY = 1
CONSERVATIVE = -1

# Values of counts[SELECTION].
BY_COUNT, LOWEST, CONTIGUOUS = range(3)

# Indices of `clock`.
NOW = 0
NEXT_START = 1  # the earliest planned start of a waiting job

# Rows of `order`.
WAITING = 0  # slots, in the order of submission
RUNNING = 1  # slots; the last one ends first
UNUSED = 2  # slots
NEWS = 3  # foreign jobs that started or ended and were not reported yet
ROWS = 4  # the row of `sets` for each slice of the plan, followed by unused rows
_ORDERS = 5

# Rows of `plan`.
TIMES = 0  # begin of each slice; the last slice has no end
FREE = 1  # number of free nodes in each slice
FURTHER = 2  # from here on, the free amount of each further resource

# Rows of `sets`: two scratch rows, one for each slice of the plan, and from counts[HELD] on one for each slot.
COMMON = 0
RESERVED = 1
_SLICES = 2

# Rows of a trace.
SUBMIT, T_REQ, T_RUN = range(3)
T_NODES = 3  # from here on, what each job needs of each resource

Trace = Floats  # [row, job]: the jobs of the trace in the order of submission; copies of a queue share it


class State(NamedTuple):
    """Everything that changes; few arrays, since each of them is passed from function to function."""

    clock: Floats
    counts: Ints
    live: Floats  # [slot, column]
    order: Ints
    plan: Floats
    sets: Words  # free nodes of slices and nodes of jobs as bit masks; no columns if nodes have no identities
    foreign: Floats  # [job, column]
    started: Floats  # actual and first planned start of the trace's jobs; no columns in copies


def new_state(
    machine: int,
    jobs: int,
    depth: int,
    selection: int,
    *,
    together: bool = False,
    reserving: bool = False,
    capacity: int = 64,
    further: Sequence[float] = (),
) -> State:
    """An empty machine before the first event; `further`: its amounts of further resources."""
    points = _points(capacity)
    count = np.zeros(_COUNTS, np.int64)
    count[N_UNUSED], count[N_POINTS], count[MACHINE], count[HELD] = capacity, 1, machine, _SLICES + points
    count[DEPTH], count[SELECTION], count[TOGETHER], count[RESERVING] = depth, selection, together, reserving
    words = (machine + 63) // 64 if selection != BY_COUNT else 0
    state = State(
        clock=np.array([0.0, NEVER]),
        counts=count,
        live=np.zeros((capacity, NODES + 1 + len(further))),
        order=np.zeros((_ORDERS, points), np.int64),
        plan=np.zeros((FURTHER + len(further), points)),
        sets=np.zeros((_SLICES + points + capacity if words else 0, words), np.uint64),
        foreign=np.zeros((16, _FOREIGN_COLUMNS)),
        started=np.full((2, jobs), np.nan),
    )
    state.order[UNUSED, :capacity] = np.arange(capacity)[::-1]
    state.order[ROWS] = np.arange(_SLICES, _SLICES + points)
    state.plan[FREE:, 0] = [machine, *further]
    for word in range(words):
        bits = min(64, machine - 64 * word)
        state.sets[_SLICES, word] = (1 << bits) - 1
    return state


def copied(state: State) -> State:
    """An independent copy, which does not record start times of the trace's jobs."""
    return State._make(array.copy() for array in state._replace(started=state.started[:, :0]))


def with_more_slots(state: State) -> State:
    """The same queue with twice as many slots for live jobs."""
    old = len(state.live)
    further = [0.0] * (len(state.plan) - FURTHER)  # the plan, which is copied, has the amounts
    bigger = new_state(
        int(state.counts[MACHINE]), 0, 0, int(state.counts[SELECTION]), capacity=2 * old, further=further
    )
    count, held, points = state.counts.copy(), state.counts[HELD], state.plan.shape[1]
    bigger.live[:old] = state.live
    bigger.order[:, :points] = state.order
    bigger.plan[:, :points] = state.plan
    spare, unused = old, count[N_UNUSED]
    bigger.order[UNUSED, :spare] = np.arange(2 * old - 1, old - 1, -1)
    bigger.order[UNUSED, spare : spare + unused] = state.order[UNUSED, :unused]
    count[N_UNUSED] += spare
    count[HELD] = bigger.counts[HELD]
    if len(state.sets):
        bigger.sets[:held] = state.sets[:held]
        bigger.sets[count[HELD] : count[HELD] + old] = state.sets[held:]
    return bigger._replace(clock=state.clock, counts=count, foreign=state.foreign, started=state.started)


def with_more_foreign_jobs(state: State) -> State:
    """The same queue with room for twice as many foreign jobs."""
    foreign = np.zeros((2 * len(state.foreign), _FOREIGN_COLUMNS))
    foreign[: len(state.foreign)] = state.foreign
    return state._replace(foreign=foreign)


def _points(capacity: int) -> int:
    """The largest number of slices: each live job begins and ends one, one begins now, one is being inserted."""
    return 2 * capacity + 4
