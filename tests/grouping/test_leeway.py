"""The leeway that each search finds, worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.grouping.base import Group
from headway.grouping.leeway import (
    Search,
    WaitWith,
    coarse,
    halving,
    one_way,
    smallest,
    with_leeway,
)
from tests.grouping.flows import by_nodes

ALL = (one_way, smallest, coarse, halving)


def steps(*steps_s: tuple[float, float]) -> WaitWith:
    """A wait for each range of leeways."""

    def wait_with(leeway_s: float) -> float:
        return next(wait_s for from_s, wait_s in reversed(steps_s) if leeway_s >= from_s)

    return wait_with


@pytest.mark.parametrize(
    ("search", "leeway_s"),
    [
        # Half of 3000 is tried first. With it the job starts after 3100 s, when the one before it has ended: enough.
        (one_way, 1500),
        # The first that has the job start between 3000 and 3600 s.
        (smallest, 1000),
        # 1500: 100 s late, so between 0 and 1499. 749: 3000 s early, so 750 to 1499. 1124: late, so 750 to 1123: close.
        (coarse, 1123),
        # Half of 3000 makes it late, half of 1500 does not.
        (halving, 1500),
    ],
)
def test_a_start_soon_after_the_delay(search: Search, leeway_s: float) -> None:
    wait_with = steps((0, 0), (1000, 3100), (2000, 9000))
    assert search(wait_with, 0.0, 3000.0) == leeway_s


@pytest.mark.parametrize(
    ("search", "leeway_s", "wait_s"),
    [
        (one_way, 2000, 5000),  # half of 4000; the job is late now, and the leeway cannot shrink
        # No leeway leads to a start between 4000 and 4600 s. 2000 is the least with which the job does not expire.
        (smallest, 2000, 5000),
        # 2000: late, 0 to 1999. 999: early, 1000 to 1999. 1499: early, 1500 to 1999, close. It expires half way.
        (coarse, 1999, 0),
        (halving, 2000, 5000),  # half of 4000 makes it late, half of 2000 does not
    ],
)
def test_a_queue_that_is_either_early_or_late(search: Search, leeway_s: float, wait_s: float) -> None:
    wait_with = steps((0, 0), (2000, 5000))
    assert search(wait_with, 0.0, 4000.0) == leeway_s
    assert wait_with(leeway_s) == wait_s


@pytest.mark.parametrize(
    ("search", "leeway_s"),
    [
        # 800 is missing. 400: the job still starts after 200 s, and is held open until 600. 400 more: until 1000.
        (one_way, 800),
        (smallest, 800),
        # Half way, at 400, it is 800 s early: 401 to 800 is close.
        (coarse, 800),
        (halving, 800),
    ],
)
def test_a_wait_that_does_not_depend_on_the_leeway(search: Search, leeway_s: float) -> None:
    assert search(steps((0, 200)), 200.0, 1000.0) == leeway_s


def test_half_is_enough_when_each_second_asked_for_is_a_second_more_to_wait() -> None:
    # 250 s of leeway are 250 s of waiting more: held open until 500 + 250 + 250.
    assert one_way(lambda leeway_s: 500 + leeway_s, 500.0, 1000.0) == 250
    # But only with 500 it does not start too early.
    assert smallest(lambda leeway_s: 500 + leeway_s, 500.0, 1000.0) == 500


def test_a_late_start_is_found_up_to_the_delay() -> None:
    assert smallest(steps((0, 2000), (1500, 3000)), 2000.0, 3000.0) == 1500


@pytest.mark.parametrize(("wait_s", "leeway_s"), [(3600, 2500), (3601, 2000)])
def test_more_than_ten_minutes_late_is_too_late(wait_s: float, leeway_s: float) -> None:
    # 2500 s would make it late by 600 or 601 s; with 2000 it starts after 1000 s and lasts for long enough.
    assert smallest(steps((0, 1000), (2500, wait_s)), 1000.0, 3000.0) == leeway_s


@pytest.mark.parametrize(("wait_s", "leeway_s"), [(3000, 3000), (3001, 1500)])
def test_halving_ends_when_half_is_not_late(wait_s: float, leeway_s: float) -> None:
    assert halving(steps((0, 0), (1000, wait_s)), 0.0, 3000.0) == leeway_s


def test_steps_are_seconds() -> None:
    # 1.5 s are missing: one, then another, but never more than the delay.
    assert one_way(steps((0, 0)), 0.0, 1.5) == 1.5
    assert one_way(steps((0, 5)), 5.0, 6.5) == 2


def test_a_job_that_waits_long_enough_needs_no_leeway() -> None:
    group = Group(0, 0, 1, 500.0, wait_s=1000.0)
    for search in ALL:
        assert with_leeway(group, by_nodes({}), 1000.0, search) == group


def test_the_wait_is_that_of_the_longer_job() -> None:
    # Up to 2000 s long it would start after 100 s; with 1501 s of leeway after 5000.
    waits = by_nodes({2: [(2000, 100), (9000, 5000)]})
    found = with_leeway(Group(0, 0, 2, 500.0, wait_s=100.0), waits, 4800.0, smallest)
    assert found == Group(0, 0, 2, 500.0, leeway_s=1501.0, wait_s=5000.0)


@given(
    waits_s=st.lists(st.floats(0, 1e7) | st.just(math.inf), min_size=1, max_size=8),
    width_s=st.floats(1, 1e6),
    delay_s=st.floats(0, 1e7),
)
def test_a_job_is_held_open_for_long_enough(waits_s: list[float], width_s: float, delay_s: float) -> None:
    def wait_with(leeway_s: float) -> float:
        return waits_s[int(leeway_s // width_s) % len(waits_s)]

    for search in (one_way, smallest, smallest):
        if waits_s[0] < delay_s:
            leeway_s = search(wait_with, waits_s[0], delay_s)
            assert leeway_s >= delay_s - wait_with(leeway_s)


@given(
    waits_s=st.lists(st.floats(0, 1e7) | st.just(math.inf), min_size=1, max_size=8).map(sorted),
    width_s=st.floats(1, 1e6),
    delay_s=st.floats(0, 1e7),
)
def test_the_leeway_never_exceeds_the_naive_one(waits_s: list[float], width_s: float, delay_s: float) -> None:
    def wait_with(leeway_s: float) -> float:
        return waits_s[min(int(leeway_s // width_s), len(waits_s) - 1)]

    if waits_s[0] < delay_s:
        for search in ALL:
            most_s = delay_s if search is smallest else delay_s - waits_s[0]
            assert 0 <= search(wait_with, waits_s[0], delay_s) <= most_s + 1, "to a second"
