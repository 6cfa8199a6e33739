"""How long idle nodes are kept: what holds for any waits and arrivals."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as some

from headway.planning.keeping import keep_s

SECONDS = some.floats(1.0, 100_000.0)
SEEN = some.lists(SECONDS, max_size=12)


def mean_cost(kept_s: float, wait_s: float, idle_s: Sequence[float]) -> float:
    """What it would have cost so far, the wait itself counted as one more time."""
    each = [it if it <= kept_s else kept_s + wait_s for it in (*idle_s, wait_s)]
    return sum(each) / len(each)


@given(SECONDS, SEEN, some.floats(0.0, 1.0))
def test_no_other_time_up_to_the_wait_would_have_cost_less(wait_s: float, idle_s: list[float], part: float) -> None:
    kept_s = keep_s(wait_s, idle_s)
    assert 0.0 <= kept_s <= wait_s
    assert mean_cost(kept_s, wait_s, idle_s) <= mean_cost(part * wait_s, wait_s, idle_s) * (1 + 1e-6)


@given(SECONDS, SECONDS)
def test_without_arrivals_it_costs_at_most_twice_as_much_as_to_know_the_next_one(wait_s: float, next_s: float) -> None:
    kept_s = keep_s(wait_s, [])
    cost_s = next_s if next_s <= kept_s else kept_s + wait_s
    assert cost_s <= 2 * min(next_s, wait_s)


@given(SECONDS, some.lists(SECONDS, min_size=1, max_size=12))
def test_nodes_are_kept_for_work_that_has_always_come_within_the_wait(wait_s: float, parts: list[float]) -> None:
    soon = [wait_s * part / 100_000.0 for part in parts]
    assert keep_s(wait_s, soon) == wait_s


@given(SECONDS, SEEN, some.sampled_from([0.25, 2.0, 64.0]))  # powers of two, so that nothing is rounded
def test_units_of_time_do_not_matter(wait_s: float, idle_s: list[float], unit: float) -> None:
    scaled = keep_s(unit * wait_s, [unit * it for it in idle_s])
    costs = [mean_cost(kept_s, wait_s, idle_s) for kept_s in (scaled / unit, keep_s(wait_s, idle_s))]
    assert costs[0] == pytest.approx(costs[1])


def test_nodes_are_given_back_at_once_where_work_comes_later_than_others_would() -> None:
    assert keep_s(600.0, [3_600.0, 7_200.0, 3_000.0]) == 0.0
    assert keep_s(4 * 3_600.0, [3_600.0, 7_200.0, 3_000.0]) == 4 * 3_600.0
