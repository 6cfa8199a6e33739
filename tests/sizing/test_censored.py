"""Attempts that ran out teach, until their tasks have succeeded."""

from __future__ import annotations

import json

import pytest

from headway.model.outcome import Ending
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing import SIZERS
from headway.sizing.base import Context, Prediction, Sizer
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators.base import Attempt, Estimator, Query
from headway.sizing.estimators.censored import BEYOND, MOST_FAILED, MOST_RECORDS, Censored
from headway.sizing.estimators.maximum import PerProcessMax
from headway.sizing.estimators.percentile import Percentile95
from headway.testing import EstimatorContract
from tests.sizing.agent_world import GB, outcome


class TestContract(EstimatorContract):
    def make(self) -> Estimator:
        return Censored(Percentile95())


CENSORED = [
    name
    for name, way in SIZERS.items()
    if way.sizer and isinstance(getattr(way.sizer("memory_bytes"), "estimator", None), Censored)
]


def given(sizer: Sizer) -> float:
    limits = Resources(cores=4, memory_bytes=64 * GB)
    answer = sizer.predict(Task("next", "c", "true"), [], Context(limits, start={"memory_bytes": GB}))
    assert isinstance(answer, Prediction) and answer.value is not None
    return answer.value


def test_estimators_of_papers_and_max_seen_learn_from_failures() -> None:
    assert {"percentile-95", "linear-regression", "max-seen", "greedy-bucketing", "min-waste"} <= set(CENSORED)
    for name in ("per-process-max", "peak-plus-20", "ponder"):
        assert name not in CENSORED, "it is as other programs have it"


@pytest.mark.parametrize("name", CENSORED)
def test_a_wave_of_failures_raises_what_the_next_task_gets(name: str) -> None:
    make = SIZERS[name].sizer
    assert make is not None
    sizer, blind = make("memory_bytes"), make("memory_bytes")
    assert isinstance(sizer, EstimatedSizer) and isinstance(sizer.estimator, Censored)
    for number in range(20):
        task = Task(str(number), "c", "true")
        for each in (sizer, blind):
            each.observe(task, outcome(100.0, peak=(1 + number % 2 / 10) * GB, task=str(number)))
    before = given(sizer)
    for number in range(20, 40):
        sizer.observe(
            Task(str(number), "c", "true"), outcome(100.0, peak=2.0 * GB, ending=Ending.MEMORY, task=str(number))
        )
    by_cost = name in ("greedy-bucketing", "exhaustive-bucketing", "min-waste", "max-throughput")
    assert given(sizer) > before or (by_cost and given(sizer) == before), "a first attempt may still be worth it"
    for number in range(20, 40):
        for each in (sizer, blind):
            each.observe(Task(str(number), "c", "true"), outcome(100.0, peak=2.5 * GB, task=str(number)))
    assert given(sizer) == given(blind), "when all have succeeded, only their peaks count"


def test_a_task_that_fails_twice_counts_once_and_a_success_replaces_it() -> None:
    estimator = Censored(PerProcessMax())
    estimator.learn(Attempt(1.0, task="a"))
    for amount in (2.0, 4.0):
        estimator.learn_without_peak(Attempt(task="b", exhausted=amount))
    found = estimator.estimate(Query())
    assert found is not None and (found.value, found.figures["records"]) == (BEYOND * 4.0, 2)
    estimator.learn(Attempt(4.5, task="b"))
    found = estimator.estimate(Query())
    assert found is not None and (found.value, found.figures["records"]) == (4.5, 2)


def test_failures_without_a_bound_or_any_success_teach_nothing() -> None:
    estimator = Censored(PerProcessMax())
    estimator.learn_without_peak(Attempt(task="a", exhausted=2.0))
    assert estimator.estimate(Query()) is None
    estimator.learn(Attempt(1.0, task="b"))
    estimator.learn_without_peak(Attempt(task="a"))
    found = estimator.estimate(Query())
    assert found is not None and found.value == BEYOND * 2.0


def test_little_is_kept_and_much_knowledge_needs_no_failures() -> None:
    estimator = Censored(PerProcessMax())
    estimator.learn(Attempt(1.0, task="first"))
    for number in range(2 * MOST_FAILED):
        estimator.learn_without_peak(Attempt(task=str(number), exhausted=2.0))
    assert len(estimator.state()["failed"]) == MOST_FAILED
    for number in range(MOST_RECORDS):
        estimator.learn(Attempt(1.0, task=f"more {number}"))
    found = estimator.estimate(Query())
    assert found is not None and found.value == 1.0


def test_failures_are_part_of_the_state_and_older_states_have_none() -> None:
    one, other, older = (Censored(PerProcessMax()) for _ in range(3))
    one.learn(Attempt(1.0, task="a"))
    one.learn_without_peak(Attempt(task="b", exhausted=3.0))
    other.restore(json.loads(json.dumps(one.state())))
    assert other.state() == one.state() and other.estimate(Query()) == one.estimate(Query())
    older.restore({"version": 1, "records": 1, "maximum": 1.0})
    found = older.estimate(Query())
    assert found is not None and found.value == 1.0
