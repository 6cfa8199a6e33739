"""A queue's plan by itself, as it was read: it answers when a job would start, and nothing more happens to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headway.kernels.batch.answers import starts_in_plan
from headway.kernels.batch.state import (
    BY_COUNT,
    CONSERVATIVE,
    CONTIGUOUS,
    FREE,
    LOWEST,
    N_POINTS,
    NOW,
    ROWS,
    TIMES,
    Floats,
    State,
    new_state,
)

_WORD_BYTES = 8


def plan_as_lists(state: State) -> tuple[list[float], list[float], list[str]]:
    """From when on how many nodes are free, and which, as hexadecimal numbers (none if only their number counts)."""
    points = state.counts[N_POINTS]
    times, free = state.plan[:, :points].tolist()
    sets = state.sets[state.order[ROWS, :points]] if len(state.sets) else np.empty((0, 0), np.uint64)
    return times, free, [f"{int.from_bytes(words.tobytes(), 'little'):x}" for words in sets]


def twin_of(times: Sequence[float], free: Sequence[float], nodes: Sequence[str], *, contiguous: bool) -> State:
    """A queue that has this plan."""
    machine, points = int(free[-1]), len(times)
    selection = (CONTIGUOUS if contiguous else LOWEST) if nodes else BY_COUNT
    capacity = max(1, points // 2)
    twin = new_state(machine, 0, CONSERVATIVE, selection, together=False, reserving=False, capacity=capacity)
    twin.counts[N_POINTS] = points
    twin.clock[NOW] = times[0]
    twin.plan[TIMES, :points] = times
    twin.plan[FREE, :points] = free
    for index, digits in enumerate(nodes):
        words = int(digits, 16).to_bytes(twin.sets.shape[1] * _WORD_BYTES, "little")
        twin.sets[twin.order[ROWS, index]] = np.frombuffer(words, np.uint64)
    return twin


def twin_waits(twin: State, nodes: Floats, req: Floats, not_before: float = 0.0) -> Floats:
    """How long jobs of these shapes would wait that may start so long from now."""
    starts = np.empty(len(nodes))
    now = float(twin.clock[NOW])
    starts_in_plan(twin, nodes, req, now + not_before, starts)
    return np.asarray(starts - now)
