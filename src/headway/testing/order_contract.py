"""What every order of ready tasks must do."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

from typing import Any

from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.ordering.base import Order


class OrderContract:
    """Keys can be compared, asking changes nothing, and the same records lead to the same order."""

    def make(self) -> Order:
        """Return a new order."""
        raise NotImplementedError

    def test_keys_of_all_tasks_can_be_compared(self) -> None:
        order, workflow = _told(self.make(), finished=3)
        assert sorted(_keys(order, workflow)), "keys of any two tasks have to be comparable"

    def test_asking_changes_nothing(self) -> None:
        order, workflow = _told(self.make(), finished=3)
        assert _keys(order, workflow) == _keys(order, workflow)

    def test_the_same_records_lead_to_the_same_order(self) -> None:
        for finished in (0, 1, 5):
            first, workflow = _told(self.make(), finished)
            second, _ = _told(self.make(), finished)
            assert _keys(first, workflow) == _keys(second, workflow)

    def test_tasks_that_were_added_later_have_keys_too(self) -> None:
        order, workflow = _told(self.make(), finished=2)
        late = [Task("late", "new", "-", parents=("a0",))]
        workflow.add(late)
        order.added(late, workflow)
        assert sorted([*_keys(order, workflow), _key(order, late[0], failures=1, arrival=99)])

    def test_nothing_at_stake_is_negative(self) -> None:
        order, workflow = _told(self.make(), finished=4)
        assert all(order.at_stake(task) >= 0 for task in workflow)


def _workflow() -> Workflow:
    """Return a fan of six tasks, a chain behind the first, and a last task that needs all."""
    wide = [Task(f"a{number}", "wide", "-") for number in range(6)]
    chain = [Task("b", "chain", "-", parents=("a0",)), Task("c", "chain", "-", parents=("b",))]
    last = Task("last", "last", "-", parents=("c", *(task.id for task in wide)))
    return Workflow("contract", [*wide, *chain, last])


def _told(order: Order, finished: int) -> tuple[Order, Workflow]:
    """Tell an order of the workflow and of the ends of its first tasks, of which every other one failed first."""
    workflow = _workflow()
    tasks = list(workflow)
    order.added(tasks, workflow)
    for number, task in enumerate(tasks[:finished]):
        if number % 2:
            order.observe(task, Outcome(task.id, 1, Ending.MEMORY, 0.0, 10.0 + number))
        order.observe(task, Outcome(task.id, 2, Ending.SUCCESS, 20.0, 50.0 + 7 * number))
    return order, workflow


def _keys(order: Order, workflow: Workflow) -> list[Any]:
    return [_key(order, task, failures=number % 3, arrival=number) for number, task in enumerate(workflow)]


def _key(order: Order, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
    return order.category_key(task.category), order.task_key(task, failures, arrival)
