"""Zhang's choices, by hand. The run times are those in `four_levels`."""

from __future__ import annotations

import math

import pytest

from headway.grouping.base import Group
from headway.grouping.leeway import smallest
from headway.grouping.zhang import Zhang
from tests.grouping.flows import by_nodes, four_levels, listed, two_levels

# Shapes of the first level, the first two, three and all levels on as many nodes as they can use.
FIRST, TWO, THREE, ALL = (1, 1000.0), (4, 2000.0), (4, 3000.0), (4, 4000.0)


def choice(waits_s: dict[tuple[int, float], float], **options: bool) -> Group | None:
    """What is chosen on all the nodes that can be used."""
    return Zhang(best_nodes=False, **options).next_group(four_levels(), listed(waits_s), 0.0)


def test_levels_are_added_while_the_ratio_falls() -> None:
    # All: 4000 / 4000 = 1. Level 0: 0.5, 0-1: 0.4, 0-2: 0.5, which is worse: levels 0-1.
    waits_s = {ALL: 4000.0, FIRST: 500.0, TWO: 800.0, THREE: 1500.0}
    assert choice(waits_s) == Group(0, 1, 4, 2000.0, wait_s=800.0)


def test_all_but_the_last_level() -> None:
    # 1; 0.5, 0.4, 0.3: nothing was ever worse than what came before.
    waits_s = {ALL: 4000.0, FIRST: 500.0, TWO: 800.0, THREE: 900.0}
    assert choice(waits_s) == Group(0, 2, 4, 3000.0, wait_s=900.0)


def test_one_job_if_the_first_level_is_no_better() -> None:
    # 1000 / 4000 = 0.25 and 0.5. The other shapes are not asked for: they are not listed.
    assert choice({ALL: 1000.0, FIRST: 500.0}) == Group(0, 3, 4, 4000.0, wait_s=1000.0)


def test_of_equals_most_levels() -> None:
    # An empty machine: no reason to split.
    assert choice({ALL: 0.0, FIRST: 0.0}) == Group(0, 3, 4, 4000.0)
    # 0.5; 0, 0, 0: three levels rather than one.
    waits_s = {ALL: 2000.0, FIRST: 0.0, TWO: 0.0, THREE: 0.0}
    for everywhere in (False, True):
        assert choice(waits_s, everywhere=everywhere) == Group(0, 2, 4, 3000.0)


def test_a_job_for_each_task_if_waiting_is_hopeless() -> None:
    # One job is best (the first level: 3), and waits for more than twice its 4000 s.
    assert choice({ALL: 8001.0, FIRST: 3000.0}) is None
    assert choice({ALL: 8000.0, FIRST: 3000.0}) == Group(0, 3, 4, 4000.0, wait_s=8000.0)


def test_groups_may_be_hopeless() -> None:
    # All: 2.5. Level 0: 2.2, which is better; 0-1: 2.3. Only everything together can be given up.
    assert choice({ALL: 10000.0, FIRST: 2200.0, TWO: 4600.0}) == Group(0, 0, 1, 1000.0, wait_s=2200.0)


def test_what_can_never_start_is_hopeless() -> None:
    assert choice({ALL: math.inf, FIRST: math.inf}) is None
    # But if the first level can, it goes first.
    assert choice({ALL: math.inf, FIRST: 99000.0, TWO: math.inf}) == Group(0, 0, 1, 1000.0, wait_s=99000.0)


def test_two_levels_that_wait_alike_are_one_job() -> None:
    levels = two_levels(300.0, 700.0)  # 0.1 for both, 0.33 for the first
    assert Zhang().next_group(levels, listed({(1, 1000.0): 100.0, (1, 300.0): 100.0}), 0.0) == Group(
        0, 1, 1, 1000.0, wait_s=100.0
    )


def test_a_level_that_takes_no_time() -> None:
    levels = two_levels(0.0, 1000.0)
    # It is not worth any wait, or no bother if there is none; both together have a ratio of 0.5.
    assert Zhang().next_group(levels, listed({(1, 1000.0): 500.0, (1, 0.0): 1.0}), 0.0).last == 1
    assert Zhang().next_group(levels, listed({(1, 1000.0): 500.0, (1, 0.0): 0.0}), 0.0).last == 0


# Enhancement 1


def test_looking_everywhere_finds_what_lies_behind_a_worse_group() -> None:
    # 1; 0.5, 0.6 is worse: level 0. But 0-2 has 0.2.
    waits_s = {ALL: 4000.0, FIRST: 500.0, TWO: 1200.0, THREE: 600.0}
    assert choice(waits_s) == Group(0, 0, 1, 1000.0, wait_s=500.0)
    assert choice(waits_s, everywhere=True) == Group(0, 2, 4, 3000.0, wait_s=600.0)


# Enhancement 2


def test_fewer_nodes_make_one_job_worthwhile() -> None:
    waits = by_nodes({1: [(9000, 500)], 2: [(9000, 600)], 3: [(9000, 600)], 4: [(9000, 5000)]})
    # On all nodes: all 5000 / 4000 = 1.25; level 0: 0.5; 0-1: 2.5. Level 0.
    assert Zhang(best_nodes=False).next_group(four_levels(), waits, 0.0) == Group(0, 0, 1, 1000.0, wait_s=500.0)
    # All on 1 to 4 nodes: 8500, 5600, 5600, 9000. On 2 the ratio is 600 / 5000 = 0.12; level 0 has 0.5. Everything.
    assert Zhang().next_group(four_levels(), waits, 0.0) == Group(0, 3, 2, 5000.0, wait_s=600.0)


def test_a_wait_within_the_delay_costs_nothing() -> None:
    waits = by_nodes({1: [(9000, 500)], 2: [(9000, 600)], 3: [(9000, 600)], 4: [(9000, 5000)]})
    # Nothing can be done before 5000 s: all on 1 to 4 nodes 13000, 10000, 10000, 9000. On 4: 5000 / 4000 = 1.25.
    # Level 0: 0.5. 0-1: 10000, 8000, 8000, 7000, so 4 nodes and 5000 / 2000. Level 0, with a leeway:
    # 4500 is missing, half of it leaves 2250, the second half nothing.
    assert Zhang().next_group(four_levels(), waits, 5000.0) == Group(0, 0, 1, 1000.0, leeway_s=4500.0, wait_s=500.0)


# Enhancement 3


def test_the_leeway_by_binary_search_is_smaller() -> None:
    # One level after another, 1000 s each; both together wait for 0 s up to 3000 s, for 3100 s up to 4000 s.
    levels = two_levels(1000.0, 1000.0)
    waits = by_nodes({1: [(1000, 500), (3000, 0), (4000, 3100), (9000, 8000)]})
    # Both: 0 / 2000; level 0: 0.5. All as one job. 3000 is missing. Half of it: 3500 s, which start after 3100 s.
    assert Zhang().next_group(levels, waits, 3000.0) == Group(0, 1, 1, 2000.0, leeway_s=1500.0, wait_s=3100.0)
    # With 1001 s the job is longer than 3000 s, too.
    assert Zhang(leeway=smallest).next_group(levels, waits, 3000.0) == Group(
        0, 1, 1, 2000.0, leeway_s=1001.0, wait_s=3100.0
    )


# As the simulator does it


def test_scanning_from_the_first_level_overlooks_one_job() -> None:
    # 0.25 for all; level 0: 0.5, 0-1: 0.6.
    waits_s = {ALL: 1000.0, FIRST: 500.0, TWO: 1200.0}
    assert choice(waits_s) == Group(0, 3, 4, 4000.0, wait_s=1000.0)
    assert choice(waits_s, from_first=True) == Group(0, 0, 1, 1000.0, wait_s=500.0)


def test_groups_that_wait_for_longer_than_they_run_are_left_out() -> None:
    # Level 0: 1.5, 0-1: 1.6, 0-2: 0.8, all: 0.9.
    waits_s = {FIRST: 1500.0, TWO: 3200.0, THREE: 2400.0, ALL: 3600.0}
    assert choice(waits_s, from_first=True) == Group(0, 0, 1, 1000.0, wait_s=1500.0)
    assert choice(waits_s, from_first=True, skip_waits=True) == Group(0, 2, 4, 3000.0, wait_s=2400.0)


@pytest.mark.parametrize("first_wait_s", [900.0, 1000.0])
def test_after_the_first_that_is_not_left_out_none_is(first_wait_s: float) -> None:
    # Level 0 waits for no longer than it runs. 0-1 has 1.2, which is worse, so that nobody looks at 0-2, which has 0.5.
    waits_s = {FIRST: first_wait_s, TWO: 2400.0, THREE: 1500.0, ALL: 3600.0}
    assert choice(waits_s, from_first=True, skip_waits=True) == Group(0, 0, 1, 1000.0, wait_s=first_wait_s)


def test_if_every_group_is_left_out_everything_is_one_job() -> None:
    # Ratios of 1.5, 1.6, 1.7 and 1.8; nothing is hopeless.
    waits_s = {FIRST: 1500.0, TWO: 3200.0, THREE: 5100.0, ALL: 7200.0}
    assert choice(waits_s, from_first=True, skip_waits=True) == Group(0, 3, 4, 4000.0, wait_s=7200.0)


def test_hopeless_on_all_nodes_but_not_on_one() -> None:
    waits = by_nodes({1: [(1000, 1100), (9000, 100)], 2: [(9000, 9000)], 3: [(9000, 9000)], 4: [(9000, 9000)]})
    # All on 1 to 4 nodes: 8100, 14000, 14000, 13000. On one: 100 / 8000; level 0: 1.1.
    assert Zhang().next_group(four_levels(), waits, 0.0) == Group(0, 3, 1, 8000.0, wait_s=100.0)
    # Level 0 waits for 1100 s and runs for 1000, the others wait for 9000 and run for 2000, 3000 and 4000: all are left
    # out, and 9000 is more than twice 4000.
    assert Zhang.as_coded().next_group(four_levels(), waits, 0.0) is None


@pytest.mark.parametrize(
    ("best_nodes", "expected"),
    [(False, Group(0, 1, 4, 2000.0, wait_s=1000.0)), (True, Group(0, 1, 2, 3000.0, wait_s=0.0))],
)
def test_the_number_of_nodes_comes_last(best_nodes: bool, expected: Group) -> None:
    late = (9000, 9000)
    waits = by_nodes({1: [(9000, 500)], 2: [(3000, 0), late], 3: [late], 4: [(2000, 1000), late]})
    # On all nodes: level 0 has 0.5, 0-1 1000 / 2000 as well, 0-2 9000 / 3000. Of equals most levels: 0-1.
    # 0-1 on 1 to 4 nodes: 5500, 3000, 12000, 3000. Of equals the fewest: 2.
    assert Zhang.as_coded(best_nodes=best_nodes).next_group(four_levels(), waits, 0.0) == expected


def test_the_simulators_searches_for_leeway() -> None:
    levels = two_levels(1000.0, 1000.0)
    waits = by_nodes({1: [(1000, 500), (3000, 0), (4000, 3100), (9000, 8000)]})
    # Both, 2000 s, start at once. 3000 is missing; half of it makes the job late, a quarter does not.
    assert Zhang.as_coded().next_group(levels, waits, 3000.0) == Group(0, 1, 1, 2000.0, leeway_s=1500.0, wait_s=3100.0)
    # 1500: 100 s late; 749: early; 1124: late; so 750 to 1123.
    assert Zhang.as_coded(binary_search=True).next_group(levels, waits, 3000.0) == Group(
        0, 1, 1, 2000.0, leeway_s=1123.0, wait_s=3100.0
    )
