"""The event loop: jobs arrive and end, and waiting jobs are scheduled.

There are two sets of rules, each that of a known simulator:
- one by one (pyss): at equal times arrivals come before ends, and ends before starts; the scheduler runs after each of
  these events.
- together (batsched): all events of one time are one event, ends before arrivals; conservative plans are moved forward
  only if a job ended.
"""

from __future__ import annotations

from headway.kernels.batch.filling import fill, start_planned
from headway.kernels.batch.jobs import end_now, enqueue
from headway.kernels.batch.profile import forget_past
from headway.kernels.batch.state import (
    AFTER,
    CHANGES,
    END,
    EXPECTED,
    F_SLOT,
    F_STAMP,
    F_STATE,
    FREED,
    GREW,
    N_FOREIGN,
    N_NEWS,
    N_RUNNING,
    N_UNUSED,
    N_WAITING,
    NEVER,
    NEWCOMERS,
    NEXT,
    NEXT_START,
    NOW,
    PENDING,
    RESTLESS,
    RUNNING,
    START,
    SUBMIT,
    T_NODES,
    T_REQ,
    T_RUN,
    TOGETHER,
    WAITING,
    Ints,
    State,
    Trace,
)
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
        if count[NEWCOMERS] or count[FREED]:
            fill(state, trace)
        submit = trace[SUBMIT, count[NEXT]] if count[NEXT] < trace.shape[1] else NEVER
        end = _next_end(state)
        date = min(submit, end, clock[NEXT_START])
        if count[N_NEWS] and date > clock[NOW]:
            return TOLD
        if date > until or date == NEVER:
            if clock[NOW] < until < NEVER:
                _set_clock(state, until)
            return ARRIVED
        if effort >= most_effort:
            return PAUSED
        arriving = 0
        if count[TOGETHER]:
            arriving = _arriving_at(trace, count[NEXT], date)
        elif submit == date:
            arriving = 1
        if arriving > count[N_UNUSED]:
            return CROWDED
        effort += 1 + count[N_WAITING]
        _set_clock(state, date)
        if count[TOGETHER]:
            while _next_end(state) == date:
                _end_one(state, trace)
        elif not arriving and end == date:
            _end_one(state, trace)
        for _ in range(arriving):
            job = count[NEXT]
            count[NEXT] += 1
            enqueue(state, job, trace[T_NODES, job], trace[T_REQ, job], trace[T_RUN, job])
        if not count[NEWCOMERS] and not count[FREED]:  # the only event at this time is a planned start
            start_planned(state, trace)


@inlined
def _next_end(state: State) -> float:
    running = state.counts[N_RUNNING]
    return state.live[state.order[RUNNING, running - 1], END] if running else NEVER


@inner
def _set_clock(state: State, date: float) -> None:
    state.clock[NOW] = date
    if forget_past(state):
        state.counts[GREW] = 1


@inner
def _arriving_at(trace: Trace, first: int, date: float) -> int:
    arriving = 0
    while first + arriving < trace.shape[1] and trace[SUBMIT, first + arriving] == date:
        arriving += 1
    return arriving


@inner
def _end_one(state: State, trace: Trace) -> None:
    state.counts[N_RUNNING] -= 1
    slot = state.order[RUNNING, state.counts[N_RUNNING]]
    if state.live[slot, EXPECTED] > state.clock[NOW]:
        state.counts[RESTLESS] = 1
    end_now(state, trace, slot)
    state.counts[FREED] = 1


@compiled
def submit(state: State, trace: Trace, nodes: float, req: float, run: float, after: int) -> int:
    """Submit a foreign job now and return its number; the next `advance` schedules it."""
    foreign = state.counts[N_FOREIGN]
    state.counts[N_FOREIGN] += 1
    slot = enqueue(state, trace.shape[1] + foreign, nodes, req, run)
    state.live[slot, AFTER] = after
    state.foreign[foreign, F_SLOT] = slot
    state.foreign[foreign, F_STATE] = PENDING
    return foreign


@compiled
def withdraw(state: State, trace: Trace, foreign: int) -> None:
    """Withdraw or end a foreign job now. If nothing happened since its submission, the state is as before it."""
    count = state.counts
    slot = int(state.foreign[foreign, F_SLOT])
    began = state.foreign[foreign, F_STATE] != PENDING
    untouched = state.foreign[foreign, F_STAMP] == count[CHANGES]
    restless = count[RESTLESS]
    if began:
        _strike(state.order[RUNNING], count, N_RUNNING, slot)
    else:
        _strike(state.order[WAITING], count, N_WAITING, slot)
    end_now(state, trace, slot)
    if untouched:
        count[RESTLESS] = restless
        count[CHANGES] -= 3 if began else 2
        _find_next_start(state)
    else:
        count[RESTLESS] = 1
        count[FREED] = 1


@inner
def _strike(slots: Ints, count: Ints, which: int, slot: int) -> None:
    place = 0
    while slots[place] != slot:
        place += 1
    count[which] -= 1
    for index in range(place, count[which]):
        slots[index] = slots[index + 1]


@inner
def _find_next_start(state: State) -> None:
    state.clock[NEXT_START] = NEVER
    for index in range(state.counts[N_WAITING]):
        start = state.live[state.order[WAITING, index], START]
        state.clock[NEXT_START] = min(state.clock[NEXT_START], start)
