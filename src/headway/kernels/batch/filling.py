"""Scheduling policies: which waiting jobs start now. First come first served, EASY and conservative backfilling."""

from __future__ import annotations

from headway.kernels.batch import state as at
from headway.kernels.batch.jobs import begin_now, is_held_back, not_before, plan, strike_off
from headway.kernels.batch.node_sets import choose
from headway.kernels.batch.profile import earliest, fits_now, has_further, release, reserve
from headway.kernels.batch.state import State, Trace
from headway.kernels.compiled import compiled, inlined, inner


@inner
def fill(state: State, trace: Trace) -> None:
    """Schedule the newly arrived jobs, or all waiting jobs if nodes became free, and start those that can start."""
    count = state.counts
    depth, newcomers, freed = count[at.DEPTH], count[at.NEWCOMERS], count[at.FREED] == 1
    count[at.NEWCOMERS] = 0
    count[at.FREED] = 0
    if depth == at.CONSERVATIVE:
        if freed:
            move_forward(state, trace)
        first = state.counts[at.N_WAITING] - newcomers
        for index in range(first, state.counts[at.N_WAITING]):
            slot = state.order[at.WAITING, index]
            if state.live[slot, at.START] == at.NEVER:
                plan(state, trace, slot)
        if count[at.TOGETHER]:
            start_planned(state, trace)
        return
    everybody = freed or state.counts[at.GREW] == 1
    state.counts[at.GREW] = 0
    if depth <= at.EASY:
        _backfill(state, trace, state.counts[at.N_WAITING] if everybody else newcomers)
    else:
        _backfill_deep(state, trace)


@inner
def move_forward(state: State, trace: Trace) -> None:
    """Conservative backfilling, one round: in the order of submission, replan each waiting job as early as possible.

    A job that moved may have freed nodes for jobs before it, so another round may move more. If no job moved and no
    nodes were freed since, another round is not needed.
    """
    if not state.counts[at.RESTLESS]:
        return
    state.clock[at.NEXT_START] = at.NEVER
    now = state.clock[at.NOW]
    moved = state.counts[at.SELECTION] != at.BY_COUNT  # jobs may also move to other nodes at the same time
    for index in range(state.counts[at.N_WAITING]):
        slot = state.order[at.WAITING, index]
        if (state.live[slot, at.START] > now or state.counts[at.TOGETHER]) and plan(state, trace, slot):
            moved = True
        state.clock[at.NEXT_START] = min(state.clock[at.NEXT_START], state.live[slot, at.START])
    state.counts[at.RESTLESS] = moved


@inner
def start_planned(state: State, trace: Trace) -> None:
    """Start the jobs whose planned time has come: in the order of planning (pyss) or of submission (batsched)."""
    live, waiting, now = state.live, state.order[at.WAITING], state.clock[at.NOW]
    kept, total, last, in_order = 0, state.counts[at.N_WAITING], -1.0, True
    for index in range(total):
        slot = waiting[index]
        if live[slot, at.START] <= now:
            in_order = in_order and (state.counts[at.TOGETHER] == 1 or live[slot, at.SEQUENCE] > last)
            last = live[slot, at.SEQUENCE]
    if in_order:  # both orders are the same, as they are when many jobs start at once: one pass is enough
        state.clock[at.NEXT_START] = at.NEVER
        for index in range(total):
            slot = waiting[index]
            if live[slot, at.START] <= now:
                begin_now(state, trace, slot)
            else:
                state.clock[at.NEXT_START] = min(state.clock[at.NEXT_START], live[slot, at.START])
                waiting[kept] = slot
                kept += 1
        state.counts[at.N_WAITING] = kept
        return
    while True:
        chosen, soonest = -1, at.NEVER
        for index in range(state.counts[at.N_WAITING]):
            slot = waiting[index]
            if live[slot, at.START] <= now:
                if chosen < 0 or (
                    not state.counts[at.TOGETHER] and live[slot, at.SEQUENCE] < live[waiting[chosen], at.SEQUENCE]
                ):
                    chosen = index
            elif live[slot, at.START] < soonest:
                soonest = live[slot, at.START]
        if chosen < 0:
            state.clock[at.NEXT_START] = soonest
            return
        slot = waiting[chosen]
        strike_off(state, at.WAITING, at.N_WAITING, chosen)
        begin_now(state, trace, slot)


@inner
def _backfill(state: State, trace: Trace, looked_at: int) -> None:
    """First come first served, or EASY: the first job that cannot start holds a reservation that no job may delay.

    While only running jobs are in the profile, what is free never decreases. So the reservation is a time (`shadow`), a
    number of spare nodes from then on, and, if nodes have identities, its nodes; what is spare of further resources is
    looked up in the profile. Only the last `looked_at` jobs are new.
    """
    live, waiting, count = state.live, state.order[at.WAITING], state.counts
    total, backfills = count[at.N_WAITING], count[at.DEPTH] == at.EASY
    by_count = count[at.SELECTION] == at.BY_COUNT
    kept, head = 0, -1
    shadow, spare = at.NEVER, 0.0
    place = 0
    while place < total:
        if state.plan[at.FREE, 0] == 0.0 or (head >= 0 and not backfills):
            break
        if head >= 0 and kept == place and place < total - looked_at:
            place = total - looked_at
            kept = place
            continue
        slot = waiting[place]
        waiting[kept] = slot
        kept += 1
        place += 1
        nodes = live[slot, at.NODES]
        held_back = is_held_back(state, slot)
        if head < 0:
            if not held_back and place > total - looked_at and _start(state, trace, slot, False):
                kept -= 1
                continue
            bound = not_before(state, slot) if held_back and backfills else state.clock[at.NOW]
            if bound == at.NEVER or (held_back and not backfills):
                continue
            head = slot
            if backfills:
                shadow = earliest(state, slot, bound)
                spare = state.plan[at.FREE, _slice_at(state, shadow)] - nodes
                for word in range(state.sets.shape[1]):
                    state.sets[at.RESERVED, word] = state.sets[count[at.HELD] + slot, word]
            continue
        if held_back or nodes > state.plan[at.FREE, 0]:
            continue
        beyond = state.clock[at.NOW] + live[slot, at.REQ] > shadow
        if beyond and by_count and (nodes > spare or not _leaves_further(state, slot, head, shadow)):
            continue
        if _start(state, trace, slot, beyond):
            kept -= 1
            if beyond:
                spare -= nodes
    if kept < place:
        while place < total:
            waiting[kept] = waiting[place]
            kept += 1
            place += 1
        count[at.N_WAITING] = kept


@inner
def _start(state: State, trace: Trace, slot: int, avoid: bool) -> bool:
    """Start a job if it fits now, without the reserved nodes if `avoid` is set; return whether it started."""
    nodes, now = state.live[slot, at.NODES], state.clock[at.NOW]
    if state.plan[at.FREE, 0] < nodes or not has_further(state.plan, 0, state.live[slot, at.NODES :]):
        return False
    if state.counts[at.SELECTION] != at.BY_COUNT:
        available = state.sets[at.COMMON]
        for word in range(len(available)):
            available[word] = state.sets[state.order[at.ROWS, 0], word]
            if avoid:
                available[word] &= ~state.sets[at.RESERVED, word]
        if not choose(available, int(nodes), state.counts[at.SELECTION], state.sets[state.counts[at.HELD] + slot]):
            return False
    reserve(state, slot, now, now + state.live[slot, at.REQ])
    begin_now(state, trace, slot)
    return True


@inlined
def _slice_at(state: State, time: float) -> int:
    index = state.counts[at.N_POINTS] - 1
    while index > 0 and state.plan[at.TIMES, index] > time:
        index -= 1
    return index


@inlined
def _leaves_further(state: State, slot: int, head: int, shadow: float) -> bool:
    """Whether a job that runs beyond `shadow` leaves what the first waiting job needs of the further resources."""
    if len(state.plan) == at.FURTHER:
        return True
    index = _slice_at(state, shadow)
    for resource in range(1, len(state.plan) - at.FREE):
        taken = state.live[head, at.NODES + resource] + state.live[slot, at.NODES + resource]
        if state.plan[at.FREE + resource, index] < taken:
            return False
    return True


@inner
def _backfill_deep(state: State, trace: Trace) -> None:
    """EASY with `depth` reservations for the first jobs that cannot start; they are made anew each time."""
    live, waiting, count, now = state.live, state.order[at.WAITING], state.counts, state.clock[at.NOW]
    kept, reservations = 0, 0
    for place in range(count[at.N_WAITING]):
        slot = waiting[place]
        waiting[kept] = slot
        kept += 1
        if not is_held_back(state, slot) and fits_now(state, slot):
            reserve(state, slot, now, now + live[slot, at.REQ])
            begin_now(state, trace, slot)
            kept -= 1
        elif reservations < count[at.DEPTH] and plan_for_now(state, slot, now) != at.NEVER:
            reservations += 1
    count[at.N_WAITING] = kept
    forget_plans(state)


@inner
def plan_for_now(state: State, slot: int, floor: float) -> float:
    """Reserve what a job needs until `forget_plans`, not before `floor`; return its planned start."""
    live = state.live
    bound = not_before(state, slot)
    if bound == at.NEVER:
        return at.NEVER
    begin = earliest(state, slot, max(bound, floor))
    live[slot, at.START] = begin
    live[slot, at.EXPECTED] = begin + live[slot, at.REQ]
    reserve(state, slot, begin, live[slot, at.EXPECTED])
    return begin


@compiled
def forget_plans(state: State) -> None:
    """Release the temporary reservations of waiting jobs."""
    live = state.live
    for index in range(state.counts[at.N_WAITING]):
        slot = state.order[at.WAITING, index]
        if live[slot, at.START] != at.NEVER:
            release(state, slot, live[slot, at.START], live[slot, at.EXPECTED])
            live[slot, at.START] = at.NEVER


@compiled
def plan_all(state: State) -> float:
    """Reserve nodes for all waiting jobs in order, until `forget_plans`: the schedule if no more jobs arrived.

    Returns the earliest start of a further job: under first come first served it cannot overtake waiting jobs.
    """
    floor = state.clock[at.NOW]
    in_line = state.counts[at.DEPTH] == at.FCFS
    for index in range(state.counts[at.N_WAITING]):
        slot = state.order[at.WAITING, index]
        if in_line and is_held_back(state, slot):
            continue
        begin = plan_for_now(state, slot, floor)
        if in_line:
            floor = begin
    return floor
