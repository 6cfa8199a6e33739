"""Workflows that share a pool, under faults: those that seeds choose, and a crash of a manager at every boundary."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import pytest

pytest.importorskip("greenlet")

from headway.engine import engine
from headway.serving.pool_server import PoolServer
from tests.world.clock import UNHANDLED
from tests.world.faults import Fault
from tests.world.sharing import Sharing, faults_of_pool
from tests.world.story import Story, shortest, tell

SEEDS, AT_A_TIME = 12, 4
SMALL = 8  # the seed of a story in which workflows share a few jobs
SOME = 12  # of all boundaries, in `make test`
MOST_SEEDS = 20  # until a broken copy is found


def check(story: Story) -> None:
    assert not story.wrong, str(shortest(story, Sharing))


@pytest.mark.parametrize("first", range(0, SEEDS, AT_A_TIME))
def test_nothing_is_lost_or_done_twice_whatever_happens(first: int) -> None:
    for seed in range(first, first + AT_A_TIME):
        check(tell(seed, faults_of_pool(seed), Sharing))


def test_a_seed_tells_the_same_story_again() -> None:
    first, again = (tell(SEEDS, faults_of_pool(SEEDS), Sharing) for _ in range(2))
    assert first.told == again.told


def test_a_task_that_a_pools_jobs_are_too_short_for() -> None:
    """Each attempt at it is another task for the pool, and yet the next job must be longer."""
    check(tell(7, [], Sharing))


def crash_at(number: int) -> None:
    story = tell(SMALL, [Fault("manager dies at a boundary", number)], Sharing)
    check(story)
    assert any("***" in line for line in story.told), f"boundary {number} was not reached"


def test_a_crash_of_some_manager_at_some_boundaries() -> None:
    boundaries = tell(SMALL, [], Sharing).passed["manager"]
    for number in range(0, boundaries, boundaries // SOME):
        crash_at(number)


@pytest.mark.chaos
@pytest.mark.parametrize("slice_", range(8))
def test_a_crash_of_some_manager_at_every_boundary(slice_: int) -> None:
    for number in range(slice_, tell(SMALL, [], Sharing).passed["manager"], 8):
        crash_at(number)


BROKEN: dict[str, Any] = {
    "a workflow is not told that its attempt was lost with a node": (PoolServer, "_lost", lambda *_: None),
    "a job is as long as before for an attempt after one that it was too short for": (
        engine,
        "_expiries",
        lambda task: 0,
    ),
}


@pytest.mark.chaos
@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_copy_is_found(what: str) -> None:
    broken: AbstractContextManager[Any] = mock.patch.object(*BROKEN[what])
    with broken:
        stories = (tell(seed, faults_of_pool(seed), Sharing) for seed in range(MOST_SEEDS))
        found = next(story.wrong for story in stories if story.wrong)
    assert not found.startswith(UNHANDLED), f"the copy does not even work: {found}"
