"""The queue twin: a copy of a queue's plan that predicts waits and does not advance in time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headway.kernels.batch import state as at
from headway.kernels.batch.profile import starts_in_plan
from headway.kernels.batch.state import Floats, State, new_state

_WORD_BYTES = 8


def plan_as_lists(state: State) -> tuple[list[float], list[float], list[str]]:
    """The plan as lists of times, free nodes, and node masks as hex numbers (empty if nodes have no identities)."""
    points = state.counts[at.N_POINTS]
    times, free = state.plan[:, :points].tolist()
    sets = state.sets[state.order[at.ROWS, :points]] if len(state.sets) else np.empty((0, 0), np.uint64)
    return times, free, [f"{int.from_bytes(words.tobytes(), 'little'):x}" for words in sets]


def twin_of(times: Sequence[float], free: Sequence[float], nodes: Sequence[str], *, contiguous: bool) -> State:
    """The twin with this plan."""
    machine, points = int(free[-1]), len(times)
    selection = (at.CONTIGUOUS if contiguous else at.LOWEST) if nodes else at.BY_COUNT
    twin = new_state(machine, 0, at.CONSERVATIVE, selection, capacity=max(1, points // 2))
    twin.counts[at.N_POINTS] = points
    twin.clock[at.NOW] = times[0]
    twin.plan[at.TIMES, :points] = times
    twin.plan[at.FREE, :points] = free
    for index, digits in enumerate(nodes):
        words = int(digits, 16).to_bytes(twin.sets.shape[1] * _WORD_BYTES, "little")
        twin.sets[twin.order[at.ROWS, index]] = np.frombuffer(words, np.uint64)
    return twin


def twin_waits(twin: State, nodes: Floats, req: Floats, not_before: float = 0.0) -> Floats:
    """Predicted wait in seconds for each (nodes, req) shape; no start before `not_before` seconds from now."""
    starts = np.empty(len(nodes))
    now = float(twin.clock[at.NOW])
    starts_in_plan.expect(len(nodes) * int(twin.counts[at.N_POINTS]))
    starts_in_plan(twin, nodes[:, np.newaxis], req, now + not_before, starts)
    return np.asarray(starts - now)
