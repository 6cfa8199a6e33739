"""The walltime that jobs request."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.planning.requested_time import requested_s


@pytest.mark.parametrize(
    ("expired", "asked_s"),
    [(0, 1160.0), (1, 1260.0), (2, 1560.0), (3, 3060.0), (4, 6060.0)],
)
def test_by_hand(expired: int, asked_s: float) -> None:
    assert requested_s(1000.0, expired) == asked_s


@given(st.floats(0, 1e8), st.integers(0, 12))
def test_whole_seconds_that_are_enough_and_grow(expected_s: float, expired: int) -> None:
    asked_s = requested_s(expected_s, expired)
    assert asked_s == int(asked_s)
    assert asked_s >= expected_s + 60
    assert requested_s(expected_s, expired + 1) >= asked_s


@given(st.floats(1, 1e6), st.floats(1, 1e6))
def test_any_task_has_enough_time_in_the_end(expected_s: float, really_s: float) -> None:
    """However wrong the estimate is."""
    assert any(requested_s(expected_s, expired) >= really_s for expired in range(30))
