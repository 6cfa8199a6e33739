"""Estimated run times, as more tasks end."""

from __future__ import annotations

from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.planning.run_times import UNKNOWN_S, RunTimes


def outcome(task: Task, seconds: float, ending: Ending = Ending.SUCCESS) -> Outcome:
    return Outcome(task.id, 1, ending, 0.0, seconds)


def test_what_the_user_says_is_believed_until_some_have_run() -> None:
    times = RunTimes()
    said, silent = Task("a", "said", "-", hints={"walltime_s": 90.0}), Task("b", "silent", "-")
    assert times(said) == 90.0
    assert times(silent) == UNKNOWN_S
    for _ in range(30):
        times.observe(said, outcome(said, 40.0))
    assert 40.0 <= times(said) < 60.0
    assert times(silent) == 40.0  # as others took


def test_the_estimate_is_the_80_percent_quantile() -> None:
    times = RunTimes()
    task = Task("a", "kind", "-")
    for number in range(1, 101):
        times.observe(task, outcome(task, float(number)))
    assert 70.0 < times(task) < 95.0


def test_a_failed_attempt_is_only_a_lower_bound() -> None:
    times, task = RunTimes(), Task("a", "kind", "-")
    for _ in range(10):
        times.observe(task, outcome(task, 100.0))
    before = times(task)
    for _ in range(3):
        times.observe(task, outcome(task, 500.0, Ending.TIME))
    assert times(task) > before


def test_an_attempt_that_was_taken_away_does_not_shorten_the_estimate() -> None:
    times, task = RunTimes(), Task("a", "kind", "-", hints={"walltime_s": 300.0})
    times.observe(task, outcome(task, 5.0, Ending.CANCELLED))
    assert times(task) == 300.0
    times.observe(task, outcome(task, 900.0, Ending.TIME))
    assert times(task) > 300.0
