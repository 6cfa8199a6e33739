"""The life of one job: submission, planning, start, end."""

from __future__ import annotations

from headway.kernels.batch.profile import earlier_by_count, earliest, release, reserve
from headway.kernels.batch.state import (
    AFTER,
    BY_COUNT,
    CHANGES,
    DRAWN,
    END,
    ENDED,
    EXPECTED,
    F_END,
    F_PROMISE,
    F_SLOT,
    F_START,
    F_STATE,
    JOB,
    N_FOREIGN,
    N_NEWS,
    N_POINTS,
    N_RUNNING,
    N_UNUSED,
    N_WAITING,
    NEVER,
    NEWCOMERS,
    NEWS,
    NEXT_START,
    NODES,
    NOW,
    REQ,
    RESERVING,
    RESTLESS,
    RUN,
    RUNNING,
    SELECTION,
    SEQUENCE,
    START,
    STARTED,
    UNUSED,
    WAITING,
    WITHDRAWN,
    State,
    Trace,
)
from headway.kernels.compiled import inlined, inner


@inlined
def drawn(state: State) -> int:
    """Draw the next sequence number."""
    state.counts[DRAWN] += 1
    return state.counts[DRAWN]


@inner
def enqueue(state: State, job: int, nodes: float, req: float, run: float) -> int:
    """Give a job a slot and append it to the waiting jobs; return the slot."""
    count = state.counts
    count[N_UNUSED] -= 1
    slot = state.order[UNUSED, count[N_UNUSED]]
    live = state.live
    live[slot, JOB] = job
    live[slot, NODES] = nodes
    live[slot, REQ] = req
    live[slot, RUN] = run
    live[slot, START] = NEVER
    live[slot, AFTER] = -1.0
    state.order[WAITING, count[N_WAITING]] = slot
    count[N_WAITING] += 1
    count[NEWCOMERS] += 1
    count[CHANGES] += 1
    return slot


@inner
def not_before(state: State, slot: int) -> float:
    """The earliest start that the job's dependency allows; NEVER if it is not known yet."""
    parent = int(state.live[slot, AFTER])
    if parent < 0:
        return state.clock[NOW]
    status = state.foreign[parent, F_STATE]
    if status >= ENDED:
        return state.clock[NOW]
    if not state.counts[RESERVING]:
        return NEVER
    parent_slot = int(state.foreign[parent, F_SLOT])
    begin = state.live[parent_slot, START]  # NEVER if the parent waits and has no planned start
    return max(state.clock[NOW], begin + state.live[parent_slot, REQ])


@inner
def is_held_back(state: State, slot: int) -> bool:
    """Whether the job depends on a job that has not ended."""
    parent = int(state.live[slot, AFTER])
    return parent >= 0 and state.foreign[parent, F_STATE] <= STARTED


@inner
def plan(state: State, trace: Trace, slot: int) -> bool:
    """Reserve the job's nodes as early as possible; return whether its planned start changed."""
    live = state.live
    nodes, req, before = live[slot, NODES], live[slot, REQ], live[slot, START]
    bound = not_before(state, slot)
    if bound == NEVER:
        return False
    if before != NEVER and state.counts[SELECTION] == BY_COUNT:
        begin = earlier_by_count(state.plan, state.counts[N_POINTS], nodes, req, bound, before)
        if begin == before:
            return False
    if before != NEVER:
        release(state, slot, nodes, before, live[slot, EXPECTED])
    begin = earliest(state, slot, nodes, req, bound)
    live[slot, START] = begin
    live[slot, EXPECTED] = begin + req
    reserve(state, slot, nodes, begin, begin + req)
    if begin == before:
        return False
    live[slot, SEQUENCE] = drawn(state)
    if before == NEVER:
        _promised(state, trace, slot)
    state.clock[NEXT_START] = min(state.clock[NEXT_START], begin)
    return True


@inner
def _promised(state: State, trace: Trace, slot: int) -> None:
    job = int(state.live[slot, JOB])
    if job >= trace.shape[1]:
        state.foreign[job - trace.shape[1], F_PROMISE] = state.live[slot, START]
    elif state.started.shape[1]:
        state.started[1, job] = state.live[slot, START]


@inner
def begin_now(state: State, trace: Trace, slot: int) -> None:
    """Start a job whose nodes are already reserved. The caller removes it from the waiting jobs."""
    live, running, count, now = state.live, state.order[RUNNING], state.counts, state.clock[NOW]
    live[slot, START] = now
    live[slot, EXPECTED] = now + live[slot, REQ]
    live[slot, END] = now + min(live[slot, RUN], live[slot, REQ])
    live[slot, SEQUENCE] = drawn(state)
    end, place = live[slot, END], count[N_RUNNING]
    low, high = 0, place  # jobs are sorted by end, last first; at equal ends the job that started first is last
    while low < high:
        middle = (low + high) // 2
        if live[running[middle], END] > end:
            low = middle + 1
        else:
            high = middle
    for index in range(place, low, -1):
        running[index] = running[index - 1]
    running[low] = slot
    count[N_RUNNING] += 1
    count[CHANGES] += 1
    job = int(live[slot, JOB])
    if job >= trace.shape[1]:
        foreign = job - trace.shape[1]
        state.foreign[foreign, F_STATE] = STARTED
        state.foreign[foreign, F_START] = now
        _tell(state, foreign)
    elif state.started.shape[1]:
        state.started[0, job] = now


@inner
def end_now(state: State, trace: Trace, slot: int) -> None:
    """Release the nodes of a job that ended or was withdrawn. The caller has removed it from its list."""
    live, count, now = state.live, state.counts, state.clock[NOW]
    job = int(live[slot, JOB])
    if live[slot, START] != NEVER:
        release(state, slot, live[slot, NODES], max(now, live[slot, START]), live[slot, EXPECTED])
    live[slot, START] = NEVER
    state.order[UNUSED, count[N_UNUSED]] = slot
    count[N_UNUSED] += 1
    count[CHANGES] += 1
    if state.counts[N_FOREIGN]:  # a job that depends on it can be planned now
        count[RESTLESS] = 1
    if job >= trace.shape[1]:
        foreign = job - trace.shape[1]
        state.foreign[foreign, F_STATE] = ENDED if state.foreign[foreign, F_STATE] == STARTED else WITHDRAWN
        state.foreign[foreign, F_END] = now
        _tell(state, foreign)


@inlined
def _tell(state: State, foreign: int) -> None:
    for index in range(state.counts[N_NEWS]):
        if state.order[NEWS, index] == foreign:
            return
    state.order[NEWS, state.counts[N_NEWS]] = foreign
    state.counts[N_NEWS] += 1
