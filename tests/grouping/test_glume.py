"""GLUME's choices, by hand. The run times are those in `four_levels`."""

from __future__ import annotations

import math

import pytest

from headway.grouping.base import Group
from headway.grouping.glume import Glume
from tests.grouping.flows import by_nodes, four_levels, listed, two_levels

# One node is free for jobs of up to 1000 s, four are soon for jobs of up to 3000 s.
QUEUE = by_nodes({1: [(1000, 0), (9000, 4000)], 2: [(9000, 6000)], 3: [(9000, 6000)], 4: [(3000, 1000), (9000, 6000)]})
# Wait + run of all levels on 1 to 4 nodes: 12000, 11000, 11000, 10000. So one job on 4 nodes takes 10000.
#
# l = 0: level 0 runs at once for 1000 s. The rest, 1-3, on 1 to 4 nodes: 4000 + 7000, 6000 + 4000, the same,
#        1000 + 3000: 4 nodes. They are there just when level 0 ends: no leeway. Line 17: 0 + 1000 + 0 + 3000 = 4000.
# l = 1: 0-1: 4000 + 5000, 6000 + 3000, the same, 1000 + 2000: 4 nodes. The rest: 4000 + 3000 or 6000 + 2000: 1 node,
#        which comes 2000 s after 0-1 has ended. Line 17: 1000 + 4000 + 0 + 3000 = 8000.
# l = 2: 0-2 on 4 nodes: 1000 + 3000. The rest could start at once, 3000 s too early. A second of leeway makes it wait
#        for 4000 s, which is 1000 s late; nothing is between. Line 17: 1000 + 4000 + 1 + 1000 = 6001.


def test_the_split_with_the_least_makespan() -> None:
    assert Glume().next_group(four_levels(), QUEUE, 0.0) == Group(0, 0, 1, 1000.0)


def test_as_the_simulator_does_it() -> None:
    # l = 0: 0 + max(1000, 1000) + 3000 = 4000, l = 1: 1000 + max(2000, 4000) + 3000 = 8000.
    # l = 2: of 3000 s of leeway 1500, 749 and 374 all make the rest late; 373 is too much for its 1000 s.
    assert Glume.as_coded().next_group(four_levels(), QUEUE, 0.0) == Group(0, 0, 1, 1000.0)


@pytest.mark.parametrize(("beat", "last"), [(0.0, 0), (0.59, 0), (0.6, 3), (1.0, 3)])
def test_a_split_has_to_be_shorter_by_a_share(beat: float, last: int) -> None:
    # 4000 < 0.41 of 10000, but not below 0.4 of it.
    chosen = Glume(beat=beat).next_group(four_levels(), QUEUE, 0.0)
    assert chosen == (Group(0, 0, 1, 1000.0) if last == 0 else Group(0, 3, 4, 4000.0, wait_s=6000.0))


def test_by_default_a_split_must_be_five_percent_shorter() -> None:
    def last(wait_s: float) -> int:
        waits = listed({(1, 2000.0): wait_s, (1, 1000.0): 1000.0})
        return Glume().next_group(two_levels(1000.0, 1000.0), waits, 0.0).last

    # The split takes 1000 + 1000 + 1000. One job may take 3000 / 0.95 = 3157.9.
    assert last(1157.0) == 1
    assert last(1158.0) == 0


def test_of_equal_makespans_one_job_wins() -> None:
    waits = listed({(1, 2000.0): 1000.0, (1, 1000.0): 1000.0})
    assert Glume(beat=0.0).next_group(two_levels(1000.0, 1000.0), waits, 0.0) == Group(0, 1, 1, 2000.0, wait_s=1000.0)


def test_the_two_makespans() -> None:
    # The rest starts after 700 s, however long it is held open; its leeway is 300 s, less than a tenth.
    # Line 17: 0 + 700 + 300 + 5000 = 6000. Overlapping: 0 + max(1000, 700) + 300 + 5000 = 6300.
    # One job: 200 + 6000 = 6200, which is between the two.
    waits = by_nodes({1: [(1000, 0), (5999, 700), (6000, 200)]})
    levels = two_levels(1000.0, 5000.0)
    assert Glume(beat=0.0).next_group(levels, waits, 0.0) == Group(0, 0, 1, 1000.0)
    whole = Group(0, 1, 1, 6000.0, wait_s=200.0)
    assert Glume(beat=0.0, overlapping=True).next_group(levels, waits, 0.0) == whole
    # The naive leeway of 300 s is close enough for the simulator: the same.
    assert Glume.as_coded().next_group(levels, waits, 0.0) == whole


@pytest.mark.parametrize(("second_s", "last"), [(3000.0, 0), (2999.0, 1)])
def test_the_second_job_may_idle_for_a_tenth(second_s: float, last: int) -> None:
    # 700 s of wait and 300 s of leeway; one job would wait for a day.
    waits = by_nodes({1: [(1000, 0), (3999, 700), (9000, 86400)]})
    assert Glume().next_group(two_levels(1000.0, second_s), waits, 0.0).last == last


@pytest.mark.parametrize(("first_s", "last"), [(1000.0, 0), (999.0, 1)])
def test_the_first_job_may_idle_for_a_tenth(first_s: float, last: int) -> None:
    # Whatever it is, it starts at once, or if it is longer than 1100 s after 1200 s. The delay is 100 s.
    # The second starts after 1200 s, when the first has ended.
    waits = by_nodes({1: [(1100, 0), (1500, 1200), (9000, 86400)]})
    chosen = Glume().next_group(two_levels(first_s, 1500.0), waits, 100.0)
    assert chosen == (
        Group(0, 0, 1, first_s, leeway_s=100.0) if last == 0 else Group(0, 1, 1, first_s + 1500.0, wait_s=86400.0)
    )


def test_the_second_job_has_to_wait_for_the_leeway_of_the_first() -> None:
    # Level 0 starts at once and takes 1000 s, the rest, 400 s, comes after 1050 s. One job would wait for a day.
    waits = by_nodes({1: [(450, 1050), (1100, 0), (9000, 86400)]})
    levels = two_levels(1000.0, 400.0)
    assert Glume().next_group(levels, waits, 0.0) == Group(0, 0, 1, 1000.0)
    # After a delay of 100 s level 0 has as much leeway. Then the rest is 50 s too early. If it is longer than 450 s it
    # starts at once, from 1101 s on after a day: nothing will do with a tenth of leeway.
    assert Glume().next_group(levels, waits, 100.0) == Group(0, 1, 1, 1400.0, wait_s=86400.0)


def test_the_leeway_makes_the_job_start_soon_after_the_delay() -> None:
    # One job of 2000 s would start at once, 3000 s too early. If it is longer than 2200 s it starts after 3100 s.
    waits = by_nodes({1: [(2200, 0), (9000, 3100)]})
    # l = 0: level 0 of 1000 s gets 1201 s of leeway, more than a tenth.
    expected = Group(0, 1, 1, 2000.0, leeway_s=201.0, wait_s=3100.0)
    assert Glume().next_group(two_levels(1000.0, 1000.0), waits, 3000.0) == expected


def test_the_simulator_stops_within_ten_minutes() -> None:
    # 3000 is missing. 1500, 749 and 374 are all 100 s late: 0 to 373 is close.
    waits = by_nodes({1: [(2200, 0), (9000, 3100)]})
    expected = Group(0, 1, 1, 2000.0, leeway_s=373.0, wait_s=3100.0)
    assert Glume.as_coded().next_group(two_levels(1000.0, 1000.0), waits, 3000.0) == expected


def test_of_equal_numbers_of_nodes() -> None:
    # All on 1 to 4 nodes: 8000 + 1000, 5000 + 2000 and the same on 3, 4000 + 9000. Level 0 waits for a day.
    waits = by_nodes({1: [(1000, 86400), (9000, 1000)], 2: [(9000, 2000)], 3: [(9000, 2000)], 4: [(9000, 9000)]})
    levels = four_levels()
    assert Glume(beat=0.5).next_group(levels, waits, 0.0) == Group(0, 3, 2, 5000.0, wait_s=2000.0)
    assert Glume(beat=0.5, more_nodes=True).next_group(levels, waits, 0.0) == Group(0, 3, 3, 5000.0, wait_s=2000.0)


def test_what_remains_needs_three_jobs() -> None:
    # Nobody may run for longer than 2000 s. Levels 0-1 take that long on 4 nodes, and so does the rest on 2, which
    # would come too early and has no room for leeway. 0-2 take 3000 s.
    waits = by_nodes({nodes: [(2000, 500)] for nodes in (1, 2, 3, 4)})
    assert Glume().next_group(four_levels(), waits, 0.0) == Group(0, 1, 4, 2000.0, wait_s=500.0)
    # Up to 1000 s: only level 0.
    waits = by_nodes({nodes: [(1000, 500)] for nodes in (1, 2, 3, 4)})
    assert Glume().next_group(four_levels(), waits, 0.0) == Group(0, 0, 1, 1000.0, wait_s=500.0)


def test_nothing_can_start() -> None:
    waits = by_nodes({nodes: [] for nodes in (1, 2, 3, 4)})
    chosen = Glume().next_group(four_levels(), waits, 0.0)
    assert (chosen.first, chosen.last, chosen.wait_s) == (0, 3, math.inf)
