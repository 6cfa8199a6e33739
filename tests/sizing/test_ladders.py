"""The default allocator: a ladder per resource, and cores chosen for malleable tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from headway.model.outcome import Outcome
from headway.model.records import Figure
from headway.model.task import Task
from headway.sizing.agents.ladder_malleable import LadderMalleable, Ladders
from headway.sizing.base import Allocation, Allocator, CannotFit, Context
from headway.sizing.ladder_sizer import ladder_sizer
from headway.sizing.per_resource import PerResource
from headway.testing.allocator_contract import AllocatorContract
from headway_papers.malleable_work import MalleableWork
from tests.sizing.agent_world import GB, TASK, asked, outcome

MALLEABLE = structs.replace(TASK, malleable=True)
OTHER = structs.replace(TASK, category="other")
WORK = MalleableWork(100.0, 0.75, 2 * GB)


class _AllMalleable(Allocator):
    """Treats every task as malleable."""

    def __init__(self) -> None:
        self.inner = Ladders(11)

    def allocate(self, task: Task, failures: Mapping[str, Sequence[float]], context: Context) -> Allocation | CannotFit:
        return self.inner.allocate(structs.replace(task, malleable=True), failures, context)

    def observe(self, task: Task, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        self.inner.observe(structs.replace(task, malleable=True), ticket, outcome)

    def state(self) -> dict[str, Any]:
        return self.inner.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self.inner.restore(state)


class TestMalleableTasks(AllocatorContract):
    def make(self) -> Allocator:
        return _AllMalleable()


def lived(allocator: Allocator, task: Task, attempts: int, begin: int = 0) -> list[Allocation]:
    found = []
    for number in range(begin, begin + attempts):
        answer = asked(allocator, task, name=str(number))
        found.append(answer)
        cores = answer.resources.cores
        done = outcome(WORK.run_s(cores), WORK.busy_cores(cores), WORK.memory_bytes * (1 + number % 5 / 10))
        allocator.observe(task, answer.ticket, done)
    return found


@given(st.lists(st.sampled_from([TASK, OTHER]), max_size=12), st.integers(0, 3))
def test_tasks_that_are_not_malleable_get_one_ladder_per_resource(tasks: list[Task], seed: int) -> None:
    ours, before = Ladders(seed), PerResource(ladder_sizer, seed)
    for number, task in enumerate(tasks):
        assert lived(ours, task, 1, number) == lived(before, task, 1, number)
    assert ours.state()["others"] == before.state() and not ours.state()["agents"]


def test_malleable_tasks_do_not_affect_others() -> None:
    ours, alone = Ladders(), Ladders()
    for number in range(10):
        lived(ours, structs.replace(MALLEABLE, category="m"), 1, number)
        assert lived(ours, OTHER, 1, number) == lived(alone, OTHER, 1, number)


def test_malleable_tasks_are_sized_as_by_ladder_malleable() -> None:
    ours, theirs = lived(Ladders(), MALLEABLE, 15), lived(LadderMalleable(), TASK, 15)
    assert [answer.resources for answer in ours] == [answer.resources for answer in theirs]
    assert [answer.why for answer in ours] == [answer.why for answer in theirs]
    assert [answer.resources.cores for answer in ours][::14] == [2.0, 3.0], "a quarter of the work is serial"
    assert ours[-1].why["cores"].policy == "ladder-malleable" and ours[-1].why["memory_bytes"].policy == "ladder"


def test_the_kept_state_teaches_cores_only() -> None:
    ours, later = Ladders(), Ladders()
    lived(ours, MALLEABLE, 12)
    lived(later, OTHER, 5)
    before = asked(later, OTHER)
    later.restore(json.loads(json.dumps(ours.kept())))
    assert asked(later, OTHER) == before
    assert asked(later, MALLEABLE).resources.cores == asked(ours, MALLEABLE).resources.cores == 3.0
    assert asked(later, MALLEABLE).why["memory_bytes"].rule == "hint", "memory is learned from observations"


def test_a_history_teaches_memory_of_malleable_tasks_too() -> None:
    ours = Ladders()
    for _ in range(12):
        ours.observe(TASK, {}, outcome(peak=GB))  # an observation does not know whether its task was malleable
    answer = asked(ours, MALLEABLE)
    assert answer.resources.memory_bytes < 2 * GB
    assert answer.why["cores"].rule == "first"


@pytest.mark.parametrize("cores", [9.0, 100.0])
def test_more_cores_than_the_machine_has_cannot_fit(cores: float) -> None:
    task = structs.replace(MALLEABLE, hints={"cores": cores})
    answer = Ladders().allocate(task, {}, Context(asked(Ladders()).resources.replace(cores=8)))
    assert isinstance(answer, CannotFit) and answer.resource == "cores"
