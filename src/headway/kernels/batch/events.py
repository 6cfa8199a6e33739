"""The event loop: jobs arrive and end, and waiting jobs are scheduled.

There are two sets of rules, each that of a known simulator:
- one by one (pyss): at equal times arrivals come before ends, and ends before starts; the scheduler runs after each of
  these events.
- together (batsched): all events of one time are one event, ends before arrivals; conservative plans are moved forward
  only if a job ended.
"""

from __future__ import annotations

from headway.kernels.batch import state as at
from headway.kernels.batch.filling import fill, start_planned
from headway.kernels.batch.jobs import end_now, enqueue, strike_off
from headway.kernels.batch.node_sets import choose
from headway.kernels.batch.profile import forget_past, release
from headway.kernels.batch.state import Floats, State, Trace
from headway.kernels.compiled import compiled, inlined, inner

# Why `advance` returns.
ARRIVED = 0  # it reached the requested time, or no events are left
TOLD = 1  # foreign jobs started or ended
CROWDED = 2  # there is no slot for another live job
PAUSED = 3  # the limit on work was reached


@compiled
def advance(state: State, trace: Trace, until: float, most_effort: int) -> int:
    """Process all events up to and including `until`; stop after a time at which foreign jobs started or ended.

    It also stops after about `most_effort` inspections of waiting jobs, so that the caller can handle signals.
    """
    count, clock = state.counts, state.clock
    effort = 0
    while True:
        if count[at.NEWCOMERS] or count[at.FREED]:
            fill(state, trace)
        submit = trace[at.SUBMIT, count[at.NEXT]] if count[at.NEXT] < trace.shape[1] else at.NEVER
        end = _next_end(state)
        date = min(submit, end, clock[at.NEXT_START])
        if count[at.N_NEWS] and date > clock[at.NOW]:
            return TOLD
        if date > until or date == at.NEVER:
            if clock[at.NOW] < until < at.NEVER:
                _set_clock(state, until)
            return ARRIVED
        if effort >= most_effort:
            return PAUSED
        arriving = 0
        if count[at.TOGETHER]:
            arriving = _arriving_at(trace, count[at.NEXT], date)
        elif submit == date:
            arriving = 1
        if arriving > count[at.N_UNUSED]:
            return CROWDED
        effort += 1 + count[at.N_WAITING]
        _set_clock(state, date)
        if count[at.TOGETHER]:
            while _next_end(state) == date:
                _end_one(state, trace)
        elif not arriving and end == date:
            _end_one(state, trace)
        for _ in range(arriving):
            job = count[at.NEXT]
            count[at.NEXT] += 1
            enqueue(state, job, trace[at.T_NODES :, job], trace[at.T_REQ, job], trace[at.T_RUN, job])
        if not count[at.NEWCOMERS] and not count[at.FREED]:  # the only event at this time is a planned start
            start_planned(state, trace)


@inlined
def _next_end(state: State) -> float:
    running = state.counts[at.N_RUNNING]
    return state.live[state.order[at.RUNNING, running - 1], at.END] if running else at.NEVER


@inner
def _set_clock(state: State, date: float) -> None:
    state.clock[at.NOW] = date
    if forget_past(state):
        state.counts[at.GREW] = 1


@inner
def _arriving_at(trace: Trace, first: int, date: float) -> int:
    arriving = 0
    while first + arriving < trace.shape[1] and trace[at.SUBMIT, first + arriving] == date:
        arriving += 1
    return arriving


@inner
def _end_one(state: State, trace: Trace) -> None:
    state.counts[at.N_RUNNING] -= 1
    slot = state.order[at.RUNNING, state.counts[at.N_RUNNING]]
    if state.live[slot, at.EXPECTED] > state.clock[at.NOW]:
        state.counts[at.RESTLESS] = 1
    end_now(state, trace, slot)
    state.counts[at.FREED] = 1


@compiled
def submit(state: State, trace: Trace, needs: Floats, req: float, run: float, after: int) -> int:
    """Submit a foreign job now and return its number; the next `advance` schedules it."""
    foreign = state.counts[at.N_FOREIGN]
    state.counts[at.N_FOREIGN] += 1
    slot = enqueue(state, trace.shape[1] + foreign, needs, req, run)
    state.live[slot, at.AFTER] = after
    state.foreign[foreign, at.F_SLOT] = slot
    state.foreign[foreign, at.F_STATE] = at.PENDING
    return foreign


@compiled
def withdraw(state: State, trace: Trace, foreign: int) -> None:
    """Withdraw or end a foreign job now. If nothing happened since its submission, the state is as before it."""
    count = state.counts
    slot = int(state.foreign[foreign, at.F_SLOT])
    began = state.foreign[foreign, at.F_STATE] != at.PENDING
    untouched = state.foreign[foreign, at.F_STAMP] == count[at.CHANGES]
    restless = count[at.RESTLESS]
    row, length = (at.RUNNING, at.N_RUNNING) if began else (at.WAITING, at.N_WAITING)
    place = 0
    while state.order[row, place] != slot:
        place += 1
    strike_off(state, row, length, place)
    end_now(state, trace, slot)
    if untouched:
        count[at.RESTLESS] = restless
        count[at.CHANGES] -= 3 if began else 2
        _find_next_start(state)
    else:
        count[at.RESTLESS] = 1
        count[at.FREED] = 1


@compiled
def admit(state: State, foreign: int) -> None:
    """Let a waiting foreign job start although the job that it depends on has not ended; it keeps its rank."""
    state.live[int(state.foreign[foreign, at.F_SLOT]), at.AFTER] = -1.0
    state.counts[at.CHANGES] += 1
    state.counts[at.RESTLESS] = 1
    state.counts[at.FREED] = 1


@compiled
def shrink(state: State, foreign: int, needs: Floats) -> None:
    """Leave a running foreign job with less, and with the lowest of the nodes that it has."""
    count, slot, words = state.counts, int(state.foreign[foreign, at.F_SLOT]), state.sets.shape[1]
    held = count[at.HELD] + slot
    for resource in range(len(needs)):  # `release` returns what stands in the slot's rows
        state.live[slot, at.NODES + resource] -= needs[resource]
    if words:
        choose(state.sets[held], int(needs[0]), at.LOWEST, state.sets[at.COMMON])
        for word in range(words):
            state.sets[held, word] &= ~state.sets[at.COMMON, word]
    release(state, slot, state.clock[at.NOW], state.live[slot, at.EXPECTED])
    for word in range(words):
        state.sets[held, word] = state.sets[at.COMMON, word]
    for resource in range(len(needs)):
        state.live[slot, at.NODES + resource] = needs[resource]
    count[at.CHANGES] += 1
    count[at.RESTLESS] = 1
    count[at.FREED] = 1


@inner
def _find_next_start(state: State) -> None:
    state.clock[at.NEXT_START] = at.NEVER
    for index in range(state.counts[at.N_WAITING]):
        start = state.live[state.order[at.WAITING, index], at.START]
        state.clock[at.NEXT_START] = min(state.clock[at.NEXT_START], start)
