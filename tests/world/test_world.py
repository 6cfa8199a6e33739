"""Whole runs under faults: those that seeds choose, a crash at every boundary, and copies broken on purpose."""

from __future__ import annotations

import pytest

pytest.importorskip("greenlet")

from tests.world.broken import BROKEN
from tests.world.clock import UNHANDLED
from tests.world.faults import Fault, faults_of
from tests.world.story import Story, shortest, tell

SEEDS, AT_A_TIME = 100, 25  # `make chaos` tells 10,000
SMALL = 3  # the seed of a story in which six tasks run on several nodes, and some of them again
SIDE_JOBS = 359  # of one in which jobs are held back until their tasks are about to be ready
MOST_SEEDS = 300  # until a broken copy is found
# Seeds that find some of these copies, tried first: the seeds before them take long.
FINDS = {
    "an attempt can be claimed twice": 32,
    "a second report of an end counts": 21,
    "results of lost nodes count without their outputs": 39,
    "a job that was not submitted before a crash never is": 37,
    "jobs stay in the queue when they are given back": 153,
}


def check(story: Story) -> None:
    assert not story.wrong, str(shortest(story))


@pytest.mark.parametrize("first", range(0, SEEDS, AT_A_TIME))
def test_nothing_is_lost_or_done_twice_whatever_happens(first: int) -> None:
    for seed in range(first, first + AT_A_TIME):
        check(tell(seed, faults_of(seed)))


# The queue is read while the batch system is silent; a job starts too early, or its predecessor has expired, when a
# task runs in it; a run that grows takes days.
@pytest.mark.parametrize("seed", [429, 443, 4527, 5055, 3484])
def test_stories_that_once_went_wrong(seed: int) -> None:
    check(tell(seed, faults_of(seed)))


def test_a_seed_tells_the_same_story_again() -> None:
    for seed in range(SEEDS, SEEDS + 3):
        assert tell(seed, faults_of(seed)).told == tell(seed, faults_of(seed)).told


@pytest.mark.parametrize(
    ("who", "seed"), [("manager", SMALL), ("supervisor", SMALL), ("disk", SMALL), ("manager", SIDE_JOBS)]
)
def test_each_boundary(who: str, seed: int) -> None:
    kind = {"disk": "disk fails at a boundary"}.get(who, f"{who} dies at a boundary")
    undisturbed = tell(seed, [])
    boundaries = undisturbed.passed[who]
    assert boundaries > 20
    assert any("is admitted" in line for line in undisturbed.told) == (seed == SIDE_JOBS)
    for number in range(boundaries):
        story = tell(seed, [Fault(kind, number)])  # type: ignore[arg-type]
        check(story)
        assert any("***" in line for line in story.told), f"boundary {number} was not reached"


@pytest.mark.chaos
@pytest.mark.parametrize("later", [1, 2, 3, 5, 8, 13])
def test_each_boundary_and_another_crash_while_the_run_is_resumed(later: int) -> None:
    kind = "manager dies at a boundary"
    for number in range(tell(SMALL, []).passed["manager"]):
        check(tell(SMALL, [Fault(kind, number), Fault(kind, number + later)]))  # type: ignore[arg-type]


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_copy_is_found(what: str) -> None:
    seeds = (FINDS.get(what, 0), *range(MOST_SEEDS))
    with BROKEN[what]():
        found = next(wrong for seed in seeds if (wrong := tell(seed, faults_of(seed)).wrong))
    assert not found.startswith(UNHANDLED), f"the copy does not even work: {found}"
