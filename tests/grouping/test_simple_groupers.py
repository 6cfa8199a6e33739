"""One job, big job, level by level, per stage: by hand. The run times are those in `four_levels`."""

from __future__ import annotations

from headway.grouping import GROUPERS
from headway.grouping.base import Group, Levels
from headway.grouping.simple import BigJob, LevelByLevel, OneJob, PerStage
from tests.grouping.flows import barriers, by_nodes, four_levels, listed

# Four nodes are long in coming.
QUEUE = by_nodes({1: [(9000, 500)], 2: [(9000, 600)], 3: [(9000, 700)], 4: [(9000, 5000)]})


def test_one_job_takes_the_best_number_of_nodes() -> None:
    # 8500, 5600, 5700, 9000
    assert OneJob().next_group(four_levels(), QUEUE, 0.0) == Group(0, 3, 2, 5000.0, wait_s=600.0)
    # After 5000 s: 13000, 10000, 10000, 9000
    assert OneJob().next_group(four_levels(), QUEUE, 5000.0) == Group(0, 3, 4, 4000.0, wait_s=5000.0)


def test_big_job_takes_all_nodes_that_can_be_used() -> None:
    assert BigJob().next_group(four_levels(), QUEUE, 0.0) == Group(0, 3, 4, 4000.0, wait_s=5000.0)
    narrow = Levels(barriers([1, 4, 2, 1]), lambda _task: 1000.0, 3)
    assert BigJob().next_group(narrow, QUEUE, 0.0) == Group(0, 3, 3, 5000.0, wait_s=700.0)


def test_levels_one_by_one() -> None:
    # 4 tasks of 1000 s on 1 to 4 nodes: 4500, 2600, 2700, 6000
    wide = Levels(barriers([4, 1]), lambda _task: 1000.0, 10)
    assert LevelByLevel().next_group(wide, QUEUE, 0.0) == Group(0, 0, 2, 2000.0, wait_s=600.0)
    assert PerStage().next_group(wide, QUEUE, 0.0) == Group(0, 0, 4, 1000.0, wait_s=5000.0)
    # Nobody asks for what is not submitted.
    assert PerStage().next_group(wide, listed({(4, 1000.0): 9.0}), 0.0) == Group(0, 0, 4, 1000.0, wait_s=9.0)


def test_every_grouper_has_its_name() -> None:
    assert list(GROUPERS) == ["one-job", "big-job", "level-by-level", "per-stage", "zhang", "glume"]
    for name, grouper in GROUPERS.items():
        assert grouper().name == name
