"""Core-hours of jobs that give back nodes."""

from __future__ import annotations

import pytest

from headway.model import records
from headway.model.job import JobPhase, JobRequest
from headway.model.records import Shrunk, Why
from headway.model.resources import Resources
from headway.report.run.core_hours import CoreHours

HOUR = 3600.0
NODE = Resources(cores=8, memory_bytes=10**9)


@pytest.fixture
def hours() -> CoreHours:
    """A job of four nodes that began at 0, which have two cores more than it asked for."""
    hours = CoreHours()
    hours.submit(records.Submit(0.0, "a", JobRequest(NODE.replace(nodes=4)), Why("test", "test")))
    hours.job_seen(records.JobSeen(0.0, "a", JobPhase.RUNNING, billing=100.0))
    hours.job_state(records.JobState(0.0, "a", JobPhase.RUNNING))
    for name in "wxyz":
        hours.node_up(records.NodeUp(0.0, name, "a", NODE.replace(cores=10)))
    return hours


def test_nodes_count_until_they_are_given_back(hours: CoreHours) -> None:
    hours.shrunk(Shrunk(HOUR, "a", ("w",)))
    hours.shrunk(Shrunk(2 * HOUR, "a", ("x", "y")))
    hours.job_seen(records.JobSeen(2 * HOUR, "a", JobPhase.RUNNING, message="drained", billing=100.0))
    assert hours.held(3 * HOUR) == pytest.approx(40 + 30 + 10)
    hours.end("a", 4 * HOUR)
    assert hours.held(9 * HOUR) == pytest.approx(40 + 30 + 2 * 10)
    assert hours.charged(9 * HOUR) == pytest.approx(100 + 75 + 2 * 25)


def test_a_refusal_and_news_after_the_end_change_nothing(hours: CoreHours) -> None:
    hours.shrunk(Shrunk(HOUR, "a", refused="no"))
    assert hours.held(2 * HOUR) == pytest.approx(80)
    hours.end("a", 2 * HOUR)
    hours.shrunk(Shrunk(2 * HOUR + 1, "a", ("w",)))
    assert hours.held(9 * HOUR) == pytest.approx(80)
