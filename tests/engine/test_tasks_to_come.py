"""Entries that become tasks while a run goes on: when they are due, and what plans expect of them."""

from __future__ import annotations

from headway.engine.tasks_to_come import TasksToCome
from headway.model.deferred import Deferred, DeferredBlock
from headway.model.job import Wish
from headway.model.records import Known, TasksAdded, TasksDeferred
from headway.model.resources import Resources
from headway.model.task import Fingerprint, Task

BLOCKS = (
    DeferredBlock("count", of=("split",), hints={"cores": 2.0, "memory_bytes": 1e9}),
    DeferredBlock("deep", of=("count",)),
    DeferredBlock("total", after=("count", "deep")),
)
SPLITS = [Task(f"split[{n}]", "split", "…") for n in range(2)]


def begun(known: dict[str, Known] | None = None) -> TasksToCome:
    to_come = TasksToCome()
    to_come.told(TasksDeferred(0.0, Deferred(BLOCKS)), {task.id: task for task in SPLITS}, known or {})
    return to_come


def expand(to_come: TasksToCome, name: str, *tasks: Task) -> None:
    to_come.begin(name)
    assert name not in to_come.due()
    to_come.added(TasksAdded(1.0, list(tasks), (name,)))


def test_an_entry_is_due_when_all_tasks_that_it_is_made_of_have_succeeded() -> None:
    to_come = begun()
    to_come.succeeded(SPLITS[0])
    assert to_come.due() == []
    to_come.succeeded(SPLITS[1])
    assert to_come.due() == ["count"]
    counts = [Task(f"count[{n}]", "count", "…") for n in range(2)]
    expand(to_come, "count", *counts)
    assert to_come.due() == []
    for task in counts:
        to_come.succeeded(task)
    assert to_come.due() == ["deep"]
    expand(to_come, "deep")  # no rows: there is nothing to wait for
    assert to_come.due() == ["total"]
    expand(to_come, "total", Task("total", "total", "…"))
    assert not to_come


def test_a_task_that_runs_again_is_waited_for_again() -> None:
    to_come = begun()
    for task in SPLITS:
        to_come.succeeded(task)
    to_come.again(SPLITS[0])
    assert to_come.due() == []
    to_come.succeeded(SPLITS[0])
    assert to_come.due() == ["count"]


def test_what_a_dead_manager_was_asked_is_asked_again() -> None:
    to_come = begun()
    for task in SPLITS:
        to_come.succeeded(task)
    to_come.begin("count")
    assert to_come.due() == []
    to_come.resumed()
    assert to_come.due() == ["count"]


def test_plans_expect_as_many_tasks_as_before_else_as_fill_a_node() -> None:
    node = Resources(cores=8, memory_bytes=10**10)
    coming = begun().coming(None, node, 1, lambda task: 5.0)
    assert [(each.category, each.tasks, each.level) for each in coming] == [
        ("count", 4, 1),
        ("deep", 8, 2),
        ("total", 1, 3),
    ]
    assert (coming[0].cores, coming[0].memory_bytes, coming[0].run_s) == (2.0, 10**9, 5.0)
    nothing = Fingerprint(SPLITS[0].recipe(), {})
    known = {f"count[{n}]": Known(f"count[{n}]", nothing, "1", owner="w.yaml" if n else "") for n in range(7)}
    assert begun(known).coming(None, node, 1, lambda task: 0.0)[0].tasks == 6
    assert begun().coming(Wish(partition="gpu"), node, 1, lambda task: 0.0) == []
