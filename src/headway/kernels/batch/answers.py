"""Earliest start times of hypothetical jobs in the current plan."""

from __future__ import annotations

from headway.kernels.batch.profile import earliest_by_count, earliest_by_nodes
from headway.kernels.batch.state import BY_COUNT, MACHINE, N_POINTS, NEVER, RESERVED, SELECTION, Floats, State
from headway.kernels.compiled import compiled


@compiled
def starts_in_plan(state: State, nodes: Floats, req: Floats, floor: float, starts: Floats) -> None:
    """Fill `starts` with the start time of a job of each shape if it were submitted now, not before `floor`."""
    points = state.counts[N_POINTS]
    for index in range(len(nodes)):
        if nodes[index] > state.counts[MACHINE]:
            starts[index] = NEVER
        elif state.counts[SELECTION] == BY_COUNT:
            starts[index] = earliest_by_count(state.plan, points, nodes[index], req[index], floor)
        else:
            starts[index] = earliest_by_nodes(state, points, nodes[index], req[index], floor, state.sets[RESERVED])
