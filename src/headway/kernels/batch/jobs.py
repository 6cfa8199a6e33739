"""The life of one job: submission, planning, start, end."""

from __future__ import annotations

from headway.kernels.batch import state as at
from headway.kernels.batch.profile import earlier_by_count, earliest, release, reserve
from headway.kernels.batch.state import Floats, State, Trace
from headway.kernels.compiled import inlined, inner


@inlined
def drawn(state: State) -> int:
    """Draw the next sequence number."""
    state.counts[at.DRAWN] += 1
    return state.counts[at.DRAWN]


@inner
def enqueue(state: State, job: int, needs: Floats, req: float, run: float) -> int:
    """Give a job a slot and append it to the waiting jobs; return the slot."""
    count = state.counts
    count[at.N_UNUSED] -= 1
    slot = state.order[at.UNUSED, count[at.N_UNUSED]]
    live = state.live
    live[slot, at.JOB] = job
    for resource in range(len(needs)):
        live[slot, at.NODES + resource] = needs[resource]
    live[slot, at.REQ] = req
    live[slot, at.RUN] = run
    live[slot, at.START] = at.NEVER
    live[slot, at.AFTER] = -1.0
    state.order[at.WAITING, count[at.N_WAITING]] = slot
    count[at.N_WAITING] += 1
    count[at.NEWCOMERS] += 1
    count[at.CHANGES] += 1
    return slot


@inner
def strike_off(state: State, row: int, count: int, place: int) -> None:
    """Remove the slot at `place` from a list of slots: a row of `order`, whose length is an entry of `counts`."""
    state.counts[count] -= 1
    for index in range(place, state.counts[count]):
        state.order[row, index] = state.order[row, index + 1]


@inner
def not_before(state: State, slot: int) -> float:
    """The earliest start that the job's dependency allows; NEVER if it is not known yet."""
    parent = int(state.live[slot, at.AFTER])
    if parent < 0:
        return state.clock[at.NOW]
    status = state.foreign[parent, at.F_STATE]
    if status >= at.ENDED:
        return state.clock[at.NOW]
    if not state.counts[at.RESERVING]:
        return at.NEVER
    parent_slot = int(state.foreign[parent, at.F_SLOT])
    begin = state.live[parent_slot, at.START]  # NEVER if the parent waits and has no planned start
    return max(state.clock[at.NOW], begin + state.live[parent_slot, at.REQ])


@inner
def is_held_back(state: State, slot: int) -> bool:
    """Whether the job depends on a job that has not ended."""
    parent = int(state.live[slot, at.AFTER])
    return parent >= 0 and state.foreign[parent, at.F_STATE] <= at.STARTED


@inner
def plan(state: State, trace: Trace, slot: int) -> bool:
    """Reserve what the job needs as early as possible; return whether its planned start changed."""
    live = state.live
    req, before = live[slot, at.REQ], live[slot, at.START]
    bound = not_before(state, slot)
    if bound == at.NEVER:
        return False
    if before != at.NEVER and state.counts[at.SELECTION] == at.BY_COUNT:
        begin = earlier_by_count(state.plan, state.counts[at.N_POINTS], live[slot, at.NODES :], req, bound, before)
        if begin == before:
            return False
    if before != at.NEVER:
        release(state, slot, before, live[slot, at.EXPECTED])
    begin = earliest(state, slot, bound)
    live[slot, at.START] = begin
    live[slot, at.EXPECTED] = begin + req
    reserve(state, slot, begin, begin + req)
    if begin == before:
        return False
    live[slot, at.SEQUENCE] = drawn(state)
    if before == at.NEVER:
        _promised(state, trace, slot)
    state.clock[at.NEXT_START] = min(state.clock[at.NEXT_START], begin)
    return True


@inner
def _promised(state: State, trace: Trace, slot: int) -> None:
    job = int(state.live[slot, at.JOB])
    if job >= trace.shape[1]:
        state.foreign[job - trace.shape[1], at.F_PROMISE] = state.live[slot, at.START]
    elif state.started.shape[1]:
        state.started[1, job] = state.live[slot, at.START]


@inner
def begin_now(state: State, trace: Trace, slot: int) -> None:
    """Start a job that already holds its reservation. The caller removes it from the waiting jobs."""
    live, running, count, now = state.live, state.order[at.RUNNING], state.counts, state.clock[at.NOW]
    live[slot, at.START] = now
    live[slot, at.EXPECTED] = now + live[slot, at.REQ]
    live[slot, at.END] = now + min(live[slot, at.RUN], live[slot, at.REQ])
    live[slot, at.SEQUENCE] = drawn(state)
    end, place = live[slot, at.END], count[at.N_RUNNING]
    low, high = 0, place  # jobs are sorted by end, last first; at equal ends the job that started first is last
    while low < high:
        middle = (low + high) // 2
        if live[running[middle], at.END] > end:
            low = middle + 1
        else:
            high = middle
    for index in range(place, low, -1):
        running[index] = running[index - 1]
    running[low] = slot
    count[at.N_RUNNING] += 1
    count[at.CHANGES] += 1
    job = int(live[slot, at.JOB])
    if job >= trace.shape[1]:
        foreign = job - trace.shape[1]
        state.foreign[foreign, at.F_STATE] = at.STARTED
        state.foreign[foreign, at.F_START] = now
        _tell(state, foreign)
    elif state.started.shape[1]:
        state.started[0, job] = now


@inner
def end_now(state: State, trace: Trace, slot: int) -> None:
    """Release what a job holds that ended or was withdrawn. The caller has removed it from its list."""
    live, count, now = state.live, state.counts, state.clock[at.NOW]
    job = int(live[slot, at.JOB])
    if live[slot, at.START] != at.NEVER:
        release(state, slot, max(now, live[slot, at.START]), live[slot, at.EXPECTED])
    live[slot, at.START] = at.NEVER
    state.order[at.UNUSED, count[at.N_UNUSED]] = slot
    count[at.N_UNUSED] += 1
    count[at.CHANGES] += 1
    if state.counts[at.N_FOREIGN]:  # a job that depends on it can be planned now
        count[at.RESTLESS] = 1
    if job >= trace.shape[1]:
        foreign = job - trace.shape[1]
        state.foreign[foreign, at.F_STATE] = (
            at.ENDED if state.foreign[foreign, at.F_STATE] == at.STARTED else at.WITHDRAWN
        )
        state.foreign[foreign, at.F_END] = now
        _tell(state, foreign)


@inlined
def _tell(state: State, foreign: int) -> None:
    for index in range(state.counts[at.N_NEWS]):
        if state.order[at.NEWS, index] == foreign:
            return
    state.order[at.NEWS, state.counts[at.N_NEWS]] = foreign
    state.counts[at.N_NEWS] += 1
