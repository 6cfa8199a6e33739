"""A check of inputs: what the next attempt sees, and that there is a last one."""

from __future__ import annotations

from headway.engine.state import TaskState
from headway.engine.unseen_inputs import MOST_SHOWN, UnseenInputs
from headway.model.outcome import Ending, Outcome
from headway.model.task import Task


def failed(task: str, *unseen: str) -> Outcome:
    return Outcome(task, 1, Ending.EXIT_CODE, 0.0, 1.0, unseen=unseen)


def state(name: str, declared_as: str = "'a' (w:1)") -> TaskState:
    return TaskState(Task(name, "a", "…", outputs=(name,), strict=True, declared_as=declared_as))


def test_tasks_of_one_entry_see_what_one_of_them_looked_for() -> None:
    check, first, second, other = UnseenInputs(), state("a[1]"), state("a[2]"), state("b", "'b' (w:9)")
    assert check.shows_more(first, failed("a[1]", "x"))
    assert check.shown(second.task) == ("x",)
    assert check.shown(other.task) == ()
    # The second one was started before `x` was found, and will see it: it runs again.
    assert check.shows_more(second, failed("a[2]", "x"))
    second.shown = check.shown(second.task)
    assert not check.shows_more(second, failed("a[2]", "x"))
    assert not check.shows_more(second, failed("a[2]"))
    assert check.shows_more(second, failed("a[2]", "x", "y"))


def test_attempts_end_at_the_bound() -> None:
    check, task = UnseenInputs(), state("a")
    attempts = 0
    while check.shows_more(task, failed("a", f"file{attempts}")):
        task.shown = check.shown(task.task)
        attempts += 1
    assert attempts == MOST_SHOWN
