"""The availability profile: what is free of each resource over time, if every job uses all its requested time.

It is a step function. Neighbouring slices always differ: after reserving and releasing the profile is as before.
"""

from __future__ import annotations

from headway.kernels.batch import state as at
from headway.kernels.batch.node_sets import choose, is_same, size_of
from headway.kernels.batch.state import Floats, State, Words
from headway.kernels.compiled import compiled, inlined, inner


@inner
def forget_past(state: State) -> bool:
    """Drop slices before now; return whether more of a resource is free than in the slice that was first before."""
    times, points, now = state.plan[at.TIMES], state.counts[at.N_POINTS], state.clock[at.NOW]
    gone = 0
    while gone + 1 < points and times[gone + 1] <= now:
        gone += 1
    grew = False
    if gone:
        points -= gone
        for resource in range(at.FREE, len(state.plan)):
            grew = grew or state.plan[resource, gone] > state.plan[resource, 0]
        for index in range(points):
            times[index] = times[index + gone]
            state.plan[at.FREE, index] = state.plan[at.FREE, index + gone]
        for resource in range(at.FURTHER, len(state.plan)):
            for index in range(points):
                state.plan[resource, index] = state.plan[resource, index + gone]
        if state.sets.shape[1]:
            for index in range(points):  # rotate the rows of past slices to the end, where unused rows are
                row = state.order[at.ROWS, index]
                state.order[at.ROWS, index] = state.order[at.ROWS, index + gone]
                state.order[at.ROWS, index + gone] = row
        state.counts[at.N_POINTS] = points
    times[0] = now
    return grew


@inlined
def reserve(state: State, slot: int, begin: float, end: float) -> None:
    """Remove what the slot's job needs from the profile between `begin` and `end`."""
    _change(state, slot, -1.0, begin, end)


@inlined
def release(state: State, slot: int, begin: float, end: float) -> None:
    """Return what the slot's job needs to the profile between `begin` and `end`."""
    _change(state, slot, 1.0, begin, end)


@inner
def _change(state: State, slot: int, sign: float, begin: float, end: float) -> None:
    if end <= begin:
        return
    first = _boundary(state, begin)
    last = _boundary(state, end)
    words, held = state.sets.shape[1], state.counts[at.HELD] + slot
    nodes = sign * state.live[slot, at.NODES]
    for index in range(first, last):
        state.plan[at.FREE, index] += nodes
        row = state.order[at.ROWS, index]
        for word in range(words):
            if sign < 0:
                state.sets[row, word] &= ~state.sets[held, word]
            else:
                state.sets[row, word] |= state.sets[held, word]
    for resource in range(1, len(state.plan) - at.FREE):
        amount = sign * state.live[slot, at.NODES + resource]
        for index in range(first, last):
            state.plan[at.FREE + resource, index] += amount
    _merge(state, last)
    _merge(state, first)


@inlined
def _boundary(state: State, time: float) -> int:
    """The index of the slice that begins at `time`; a slice is split if there is none."""
    times, points = state.plan[at.TIMES], state.counts[at.N_POINTS]
    low, high = 0, points
    while low < high:
        middle = (low + high) // 2
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    if low < points and times[low] == time:
        return low
    words = state.sets.shape[1]
    spare = state.order[at.ROWS, points] if words else 0
    for index in range(points, low, -1):
        times[index] = times[index - 1]
        state.plan[at.FREE, index] = state.plan[at.FREE, index - 1]
        if words:
            state.order[at.ROWS, index] = state.order[at.ROWS, index - 1]
    times[low] = time
    state.plan[at.FREE, low] = state.plan[at.FREE, low - 1]
    for resource in range(at.FURTHER, len(state.plan)):
        for index in range(points, low - 1, -1):
            state.plan[resource, index] = state.plan[resource, index - 1]
    if words:
        state.order[at.ROWS, low] = spare
        before = state.order[at.ROWS, low - 1]
        for word in range(words):
            state.sets[spare, word] = state.sets[before, word]
    state.counts[at.N_POINTS] = points + 1
    return low


@inlined
def _merge(state: State, index: int) -> None:
    """Merge a slice with the one before it if both are equal."""
    points = state.counts[at.N_POINTS]
    if index == 0 or index >= points or state.plan[at.FREE, index] != state.plan[at.FREE, index - 1]:
        return
    for resource in range(at.FURTHER, len(state.plan)):
        if state.plan[resource, index] != state.plan[resource, index - 1]:
            return
    words = state.sets.shape[1]
    if words:
        row = state.order[at.ROWS, index]
        if not is_same(state.sets[row], state.sets[state.order[at.ROWS, index - 1]]):
            return
    points -= 1
    for later in range(index, points):
        state.plan[at.TIMES, later] = state.plan[at.TIMES, later + 1]
        state.plan[at.FREE, later] = state.plan[at.FREE, later + 1]
        if words:
            state.order[at.ROWS, later] = state.order[at.ROWS, later + 1]
    for resource in range(at.FURTHER, len(state.plan)):
        for later in range(index, points):
            state.plan[resource, later] = state.plan[resource, later + 1]
    if words:
        state.order[at.ROWS, points] = row
    state.counts[at.N_POINTS] = points


@inner
def earliest(state: State, slot: int, not_before: float) -> float:
    """The first time from which the job fits for all its requested time; also stores its nodes, by identity."""
    points, needs, req = state.counts[at.N_POINTS], state.live[slot, at.NODES :], state.live[slot, at.REQ]
    if state.counts[at.SELECTION] == at.BY_COUNT:
        return earlier_by_count(state.plan, points, needs, req, not_before, at.NEVER)
    return earliest_by_nodes(state, points, needs[0], req, not_before, state.sets[state.counts[at.HELD] + slot])


@inlined
def earlier_by_count(plan: Floats, points: int, needs: Floats, req: float, not_before: float, planned: float) -> float:
    """The earliest start of a job that already holds a reservation from `planned` on; `planned` if none is earlier.

    An earlier window ends before the planned one does, so from `planned` on what the job holds is sufficient.
    """
    times, free, nodes, further = plan[at.TIMES], plan[at.FREE], needs[0], len(needs) > 1
    begin = at.NEVER
    for index in range(points):
        if times[index] >= planned:
            break
        if free[index] < nodes or (further and not has_further(plan, index, needs)):
            begin = at.NEVER
            continue
        if begin == at.NEVER:
            begin = max(times[index], not_before)
        if index + 1 < points and times[index + 1] >= begin + req:
            return min(begin, planned)
    return min(begin, planned)


@inlined
def has_further(plan: Floats, index: int, needs: Floats) -> bool:
    """Whether a slice has what is needed of all resources but nodes."""
    enough = True
    for resource in range(1, len(needs)):
        enough = enough and plan[at.FREE + resource, index] >= needs[resource]
    return enough


@inner
def earliest_by_nodes(state: State, points: int, nodes: float, req: float, not_before: float, chosen: Words) -> float:
    """The first time from which the same `nodes` nodes are free for `req` seconds; fills `chosen` with them."""
    times, free = state.plan[at.TIMES], state.plan[at.FREE]
    common, words = state.sets[at.COMMON], state.sets.shape[1]
    anchor = 0
    while anchor < points:
        begin = max(times[anchor], not_before)
        if free[anchor] < nodes or (anchor + 1 < points and times[anchor + 1] <= begin):
            anchor += 1
            continue
        row = state.order[at.ROWS, anchor]
        for word in range(words):
            common[word] = state.sets[row, word]
        index = anchor + 1
        enough = True
        while enough and index < points and times[index] < begin + req:
            if free[index] < nodes:
                anchor = index  # no window that contains this slice is possible
                enough = False
            else:
                row = state.order[at.ROWS, index]
                for word in range(words):
                    common[word] &= state.sets[row, word]
                enough = size_of(common) >= nodes
                index += 1
        if enough and choose(common, int(nodes), state.counts[at.SELECTION], chosen):
            return begin
        anchor += 1
    return at.NEVER


@inner
def fits_now(state: State, slot: int) -> bool:
    """Whether the job fits from now on for all its requested time; stores its nodes if nodes have identities."""
    times, points, end = state.plan[at.TIMES], state.counts[at.N_POINTS], state.clock[at.NOW] + state.live[slot, at.REQ]
    needs = state.live[slot, at.NODES :]
    index = 0
    while index < points and times[index] < end:
        if state.plan[at.FREE, index] < needs[0] or not has_further(state.plan, index, needs):
            return False
        index += 1
    if state.counts[at.SELECTION] == at.BY_COUNT:
        return True
    common = state.sets[at.COMMON]
    for word in range(len(common)):
        common[word] = state.sets[state.order[at.ROWS, 0], word]
        for later in range(1, index):
            common[word] &= state.sets[state.order[at.ROWS, later], word]
    return choose(common, int(needs[0]), state.counts[at.SELECTION], state.sets[state.counts[at.HELD] + slot])


@compiled
def starts_in_plan(state: State, needs: Floats, req: Floats, floor: float, starts: Floats) -> None:
    """Fill `starts` with the start time of a job of each shape if it were submitted now, not before `floor`.

    A row of `needs` is what a job needs of each resource.
    """
    points = state.counts[at.N_POINTS]
    for index in range(len(req)):
        if needs[index, 0] > state.counts[at.MACHINE]:
            starts[index] = at.NEVER
        elif state.counts[at.SELECTION] == at.BY_COUNT:
            starts[index] = earlier_by_count(state.plan, points, needs[index], req[index], floor, at.NEVER)
        else:
            chosen = state.sets[at.RESERVED]
            starts[index] = earliest_by_nodes(state, points, needs[index, 0], req[index], floor, chosen)
