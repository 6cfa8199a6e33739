"""The availability profile, against an array with a cell for each second and node."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from headway.kernels.batch import profile
from headway.kernels.batch.state import (
    BY_COUNT,
    CONTIGUOUS,
    FREE,
    HELD,
    LOWEST,
    N_POINTS,
    NODES,
    NOW,
    REQ,
    ROWS,
    TIMES,
    State,
    Words,
    new_state,
)

HORIZON = 60
SELECTIONS = (BY_COUNT, LOWEST, CONTIGUOUS)


def _change(state: State, what: int, slot: int, nodes: float, begin: float, end: float) -> None:
    state.live[slot, NODES] = nodes
    if what < 0:
        profile.reserve(state, slot, begin, end)
    else:
        profile.release(state, slot, begin, end)


def _ask(state: State, what: int, slot: int, nodes: float, req: float, not_before: float, planned: float) -> float:
    state.live[slot, NODES], state.live[slot, REQ] = nodes, req
    if what == 0:
        return profile.earliest(state, slot, not_before)
    if what == 1:
        needs = state.live[slot, NODES:]
        return profile.earlier_by_count(state.plan, state.counts[N_POINTS], needs, req, not_before, planned)
    if what == 2:
        return 1.0 if profile.fits_now(state, slot) else 0.0
    return 1.0 if profile.forget_past(state) else 0.0


# Compiling takes longer than all that is tested here: so few functions, always with the same kinds of numbers.


def reserve(state: State, slot: int, nodes: float, begin: float, end: float) -> None:
    _change(state, -1, slot, float(nodes), float(begin), float(end))


def release(state: State, slot: int, nodes: float, begin: float, end: float) -> None:
    _change(state, 1, slot, float(nodes), float(begin), float(end))


def earliest(state: State, slot: int, nodes: float, req: float, not_before: float) -> float:
    return float(_ask(state, 0, slot, float(nodes), float(req), float(not_before), 0.0))


def earlier(state: State, nodes: float, req: float, not_before: float, planned: float) -> float:
    return float(_ask(state, 1, 0, float(nodes), float(req), float(not_before), float(planned)))


def fits_now(state: State, slot: int, nodes: float, req: float) -> bool:
    return bool(_ask(state, 2, slot, float(nodes), float(req), 0.0, 0.0))


def forget_past(state: State) -> bool:
    return bool(_ask(state, 3, 0, 0.0, 0.0, 0.0, 0.0))


def empty(machine: int, selection: int) -> State:
    return new_state(machine, 0, 0, selection, together=False, reserving=False)


def members(bits: Words) -> set[int]:
    return {64 * word + bit for word, value in enumerate(bits.tolist()) for bit in range(64) if value >> bit & 1}


def held(state: State, slot: int) -> set[int]:
    return members(state.sets[state.counts[HELD] + slot])


def slices(state: State) -> list[tuple[float, float]]:
    points = state.counts[N_POINTS]
    return list(zip(state.plan[TIMES, :points].tolist(), state.plan[FREE, :points].tolist(), strict=True))


def assert_is(state: State, busy: np.ndarray, selection: int) -> None:
    """Check that the profile equals the array, in the fewest slices."""
    machine, now = busy.shape[1], int(state.clock[NOW])
    found = slices(state)
    assert found[0][0] == now
    assert [time for time, _ in found] == sorted({time for time, _ in found})
    free_sets = [
        members(state.sets[state.order[ROWS, index]]) if selection != BY_COUNT else set() for index in range(len(found))
    ]
    for (_, before), (_, after), left, right in zip(found, found[1:], free_sets, free_sets[1:], strict=False):
        assert (before, left) != (after, right)
    for second in range(now, HORIZON):
        index = max(place for place, (time, _) in enumerate(found) if time <= second)
        assert found[index][1] == machine - busy[second].sum()
        if selection != BY_COUNT:
            assert free_sets[index] == set(np.flatnonzero(~busy[second]).tolist())


def choice(busy: np.ndarray, begin: int, end: int, nodes: int, selection: int) -> set[int] | None:
    if selection == BY_COUNT:
        return set() if (busy.shape[1] - busy[begin:end].sum(axis=1)).min() >= nodes else None
    free = np.flatnonzero(~busy[begin:end].any(axis=0)).tolist()
    if selection == LOWEST:
        return set(free[:nodes]) if len(free) >= nodes else None
    runs = (set(range(first, first + nodes)) for first in free)
    return next((run for run in runs if run <= set(free)), None)


steps = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 130), st.integers(1, 9), st.integers(0, 12)), min_size=1, max_size=20
)


@settings(deadline=None, max_examples=150)
@given(st.sampled_from((1, 5, 64, 65, 128)), st.sampled_from(SELECTIONS), steps)
def test_reserved_and_released_at_random(machine: int, selection: int, todo: list[tuple[int, int, int, int]]) -> None:
    state, busy = empty(machine, selection), np.zeros((10 * HORIZON, machine), bool)
    booked: list[tuple[int, int, int, list[tuple[int, list[int]]]]] = []
    for slot, (what, wide, req, when) in enumerate(todo):
        nodes = 1 + (wide - 1) % machine
        if what == 0 and booked:  # release the rest of a reservation
            owner, many, end, cells = booked.pop(wide % len(booked))
            release(state, owner, many, max(state.clock[NOW], cells[0][0]), end)
            for second, taken in cells:
                busy[second, taken] = False
        elif what == 1:  # time goes on
            state.clock[NOW] += when // 4
            forget_past(state)
        else:
            now = int(state.clock[NOW])
            bound = now + when
            begin = next(
                t for t in range(bound, 10 * HORIZON) if choice(busy, t, t + req, nodes, selection) is not None
            )
            assert earliest(state, slot, nodes, req, bound) == begin
            expected = choice(busy, begin, begin + req, nodes, selection)
            if selection != BY_COUNT:
                assert held(state, slot) == expected
            fits = choice(busy, now, now + req, nodes, selection)
            assert fits_now(state, slot, nodes, req) == (fits is not None)
            assert earliest(state, slot, nodes, req, bound) == begin
            reserve(state, slot, nodes, begin, begin + req)
            cells = []
            for second in range(begin, begin + req):  # by count: any that are free then
                taken = sorted(expected or np.flatnonzero(~busy[second])[:nodes].tolist())
                busy[second, taken] = True
                cells.append((second, taken))
            booked.append((slot, nodes, begin + req, cells))
        if busy[HORIZON:].any():
            return
        assert_is(state, busy, selection)


@pytest.mark.parametrize("machine", [64, 65, 128])
@pytest.mark.parametrize("selection", SELECTIONS)
def test_releasing_restores_the_profile(machine: int, selection: int) -> None:
    state = empty(machine, selection)
    for slot, (nodes, req, bound, begin) in enumerate(((machine, 4, 5, 5), (1, 20, 0, 9), (machine - 1, 3, 0, 0))):
        assert earliest(state, slot, nodes, req, bound) == begin
        reserve(state, slot, nodes, begin, begin + req)
    assert slices(state) == [(0, 1), (3, machine), (5, 0), (9, machine - 1), (29, machine)]
    release(state, 1, 1, 9, 29)
    assert slices(state) == [(0, 1), (3, machine), (5, 0), (9, machine)]
    release(state, 0, machine, 5, 9)
    assert slices(state) == [(0, 1), (3, machine)]
    release(state, 2, machine - 1, 0, 3)
    assert slices(state) == [(0, machine)]
    assert fits_now(state, 0, machine, 1e9)
    if selection != BY_COUNT:
        assert held(state, 0) == set(range(machine))


def test_the_past_is_forgotten() -> None:
    state = empty(10, BY_COUNT)
    reserve(state, 0, 4, 0, 5)
    reserve(state, 1, 6, 5, 8)
    state.clock[NOW] = 3
    assert not forget_past(state)
    assert slices(state) == [(3, 6), (5, 4), (8, 10)]
    state.clock[NOW] = 5
    assert not forget_past(state)  # fewer are free than before
    state.clock[NOW] = 9.5
    assert forget_past(state)
    assert slices(state) == [(9.5, 10)]


@settings(deadline=None, max_examples=150)
@given(steps, st.integers(0, 19), st.integers(0, 12))
def test_earlier_agrees_with_earliest(todo: list[tuple[int, int, int, int]], which: int, wait: int) -> None:
    """A job's earlier start, found while its own reservation is in the profile."""
    state, booked = empty(10, BY_COUNT), []
    for slot, (_, wide, req, when) in enumerate(todo):
        nodes = 1 + wide % 10
        begin = earliest(state, slot, nodes, req, when)
        reserve(state, slot, nodes, begin, begin + req)
        booked.append((slot, nodes, req, begin))
    for slot, nodes, req, begin in booked[::3]:  # some leave
        release(state, slot, nodes, begin, begin + req)
    left = [job for index, job in enumerate(booked) if index % 3]
    if not left:
        return
    slot, nodes, req, begin = left[which % len(left)]
    found = earlier(state, nodes, req, min(wait, begin), begin)
    release(state, slot, nodes, begin, begin + req)
    assert found == earliest(state, slot, nodes, req, min(wait, begin))


def test_infinite_times() -> None:
    state = empty(2, LOWEST)
    assert earliest(state, 0, 1, math.inf, 0.5) == 0.5
    reserve(state, 0, 1, 0.5, math.inf)
    assert earliest(state, 1, 1, 7, 0.25) == 0.25
    assert held(state, 1) == {1}
    assert earliest(state, 2, 2, 0.25, 0) == 0
    assert earliest(state, 2, 2, 0.75, 0) == math.inf
