"""Lending in a pool: how much of its own nodes a workflow leaves to others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from headway.ordering.lending import MOST_LENT, Lending, Own

RUNS_S = some.lists(some.floats(1.0, 20_000.0), min_size=1, max_size=60)


@given(some.integers(1, 40), some.floats(600.0, 100_000.0), RUNS_S)
def test_a_workflow_with_ready_tasks_lends_at_most_a_tenth(nodes: int, walltime_s: float, runs_s: list[float]) -> None:
    """Others start what they may, one node for each of their tasks."""
    asked_s = nodes * walltime_s
    lending = Lending({"own": Own(nodes=nodes, asked_s=asked_s, waiting=nodes)})
    lent_s = 0.0
    for run_s in runs_s:
        allowed = lending.allows("other", 1, run_s)
        assert allowed is (lent_s + run_s <= MOST_LENT * asked_s)
        if allowed:
            lending.begin("other", 1, run_s)
            lent_s += run_s
    assert lent_s <= MOST_LENT * asked_s


@given(some.integers(0, 8), some.integers(0, 8), some.floats(1.0, 1e6), some.booleans())
def test_what_a_workflow_cannot_use_is_lent_without_limit(uses: int, waiting: int, run_s: float, late: bool) -> None:
    own = Own(nodes=4, asked_s=3_600.0, held_s=3_600.0 if late else 0.0, uses=uses, waiting=waiting)
    lending = Lending({"own": own})
    if uses >= 4 or not waiting:
        assert lending.allows("other", 1, run_s)
    assert lending.allows("own", max(0, 4 - uses), run_s)  # its own nodes


def test_tasks_of_a_workflow_on_its_own_nodes_are_not_lent() -> None:
    both = {share: Own(nodes=4, asked_s=36_000.0, waiting=9) for share in ("own", "too")}
    lending = Lending(both)
    for _ in range(4):
        assert lending.allows("too", 1, 36_000.0)
        lending.begin("too", 1, 36_000.0)
    assert not lending.allows("too", 1, 36_000.0)  # its fifth node is not its own


def test_what_was_left_idle_was_lent_as_well() -> None:
    idle = Own(nodes=4, asked_s=14_400.0, held_s=7_200.0, used_s=5_000.0, uses=3, waiting=1)
    assert not Lending({"own": idle}).allows("other", 1, 60.0)
    busy = Own(nodes=4, asked_s=14_400.0, held_s=7_200.0, used_s=6_000.0, uses=3, waiting=1)
    assert Lending({"own": busy}).allows("other", 1, 60.0)
