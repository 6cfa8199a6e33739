"""Jobs as their records tell them: since when each waits, and what those that give back nodes have held."""

from __future__ import annotations

import pytest
from msgspec import msgpack, structs

from headway.journal.story.jobs import KINDS, Jobs
from headway.model import records
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, Shrunk, Why
from headway.model.resources import Resources

HOUR = 3600.0
NODE = Resources(cores=8, memory_bytes=10**9)
WHY = Why("test", "test")


def submit(tag: str, at: float = 0.0, nodes: int = 1, after: str | None = None) -> records.Submit:
    return records.Submit(at, tag, JobRequest(NODE.replace(nodes=nodes)), WHY, ("task",), after=after)


def runs(tag: str, at: float, since: float | None = None) -> records.JobState:
    return records.JobState(at, tag, JobPhase.RUNNING, since=since)


def ends(tag: str, at: float, since: float | None = None) -> records.JobState:
    return records.JobState(at, tag, JobPhase.ENDED, since=since)


# --- what jobs held ---


@pytest.fixture
def jobs() -> Jobs:
    """A job of four nodes that began at 0, which have two cores more than it asked for."""
    billed = records.JobSeen(0.0, "a", JobPhase.RUNNING, billing=100.0)
    nodes = [records.NodeUp(0.0, name, "a", NODE.replace(cores=10)) for name in "wxyz"]
    return Jobs.of([submit("a", nodes=4), billed, runs("a", 0.0), *nodes])


def test_nodes_count_until_they_are_given_back(jobs: Jobs) -> None:
    jobs.apply(Shrunk(HOUR, "a", ("w",)))
    jobs.apply(Shrunk(2 * HOUR, "a", ("x", "y")))
    jobs.apply(records.JobSeen(2 * HOUR, "a", JobPhase.RUNNING, message="drained", billing=100.0))
    assert jobs.held_core_hours(3 * HOUR) == pytest.approx(40 + 30 + 10)
    jobs.apply(ends("a", 4 * HOUR))
    assert jobs.held_core_hours(9 * HOUR) == pytest.approx(40 + 30 + 2 * 10)
    assert jobs.billing_hours(9 * HOUR) == pytest.approx(100 + 75 + 2 * 25)
    assert jobs.known["a"].held_node_s(9 * HOUR) == pytest.approx(HOUR * (4 + 3 + 2 * 1))


def test_a_refusal_and_news_after_the_end_change_nothing(jobs: Jobs) -> None:
    jobs.apply(Shrunk(HOUR, "a", refused="no"))
    assert jobs.held_core_hours(2 * HOUR) == pytest.approx(80)
    jobs.apply(ends("a", 2 * HOUR))
    jobs.apply(Shrunk(2 * HOUR + 1, "a", ("w",)))
    jobs.apply(records.NodeUp(2 * HOUR + 2, "late", "a", NODE.replace(cores=99)))
    jobs.apply(ends("a", 3 * HOUR))
    assert jobs.held_core_hours(9 * HOUR) == pytest.approx(80)


def test_a_job_that_was_given_back_holds_nothing_more(jobs: Jobs) -> None:
    assert jobs.is_live("a") and list(jobs.live()) == ["a"]
    jobs.apply(records.Release(HOUR, "a", WHY))
    jobs.apply(ends("a", 2 * HOUR))
    assert jobs.held_core_hours(9 * HOUR) == pytest.approx(40)
    assert jobs.known["a"].is_given_back and not jobs.is_live("a") and not jobs.live()
    expired = Jobs.of([submit("b"), runs("b", 0.0), ends("b", HOUR)])
    assert not expired.known["b"].is_given_back and not expired.is_live("b")


def test_a_job_that_never_started_held_nothing_and_a_site_may_have_no_prices() -> None:
    jobs = Jobs.of([submit("a"), records.Release(HOUR, "a", WHY)])
    assert jobs.held_core_hours(2 * HOUR) == 0
    assert jobs.billing_hours(2 * HOUR) is None
    assert jobs.waits_s() == []


def test_a_damaged_request_for_no_nodes_holds_nothing() -> None:
    jobs = Jobs.of([submit("a", nodes=0), records.JobSeen(0.0, "a", JobPhase.RUNNING, billing=9.0), runs("a", 0.0)])
    assert (jobs.held_core_hours(HOUR), jobs.billing_hours(HOUR)) == (0.0, 0.0)


def test_attempts_count_as_used_on_all_their_nodes() -> None:
    jobs = Jobs()
    jobs.used(NODE.replace(nodes=2), Outcome("t", 1, Ending.EXIT_CODE, 0.0, HOUR))
    jobs.used(NODE, Outcome("t", 2, Ending.SUCCESS, HOUR, 1.5 * HOUR))
    assert jobs.used_core_hours == pytest.approx(16 + 4)


# --- since when they wait ---


def test_a_job_waits_since_its_submission() -> None:
    jobs = Jobs.of([submit("a", 100.0), runs("a", 170.0, since=160.0), runs("a", 180.0)])
    assert (jobs.known["a"].eligible_at, jobs.known["a"].waited_s) == (100.0, 60.0)


FIRST: list[Event | Decision] = [submit("first", 100.0), runs("first", 110.0)]


def test_a_job_that_follows_another_waits_since_the_end_of_that() -> None:
    jobs = Jobs.of([*FIRST, submit("next", 100.0, after="first")])
    assert (jobs.known["next"].eligible_at, jobs.known["next"].waited_s) == (None, None)
    jobs.apply(ends("first", 510.0, since=500.0))
    assert jobs.known["next"].eligible_at == 500.0
    jobs.apply(runs("next", 520.0))
    assert jobs.waits_s() == [10.0, 20.0]


def test_one_that_is_submitted_after_that_end_waits_since_its_submission() -> None:
    jobs = Jobs.of([*FIRST, records.Release(500.0, "first", WHY), submit("next", 600.0, after="first")])
    assert jobs.known["next"].eligible_at == 600.0


def test_one_whose_start_is_known_before_that_end_did_not_wait() -> None:
    jobs = Jobs.of([*FIRST, submit("next", 100.0, after="first"), runs("next", 500.0)])
    assert jobs.waits_s() == [10.0], "its wait is not known yet"
    jobs.apply(ends("first", 501.0))
    assert jobs.waits_s() == [10.0, 0.0]


def test_a_job_that_was_held_back_waits_since_its_admission() -> None:
    admitted = [submit("side", 100.0, after="first"), records.Admit(300.0, "side", WHY), runs("side", 330.0)]
    jobs = Jobs.of([*FIRST, *admitted, ends("first", 500.0)])
    assert jobs.known["side"].waited_s == 30.0


def test_waits_are_in_the_order_of_starts() -> None:
    jobs = Jobs.of([submit("a"), submit("b"), submit("c"), runs("c", 5.0), runs("a", 9.0)])
    assert jobs.waits_s() == [5.0, 9.0]


# --- what is kept ---


def test_the_batch_system_s_word_on_the_start_counts_more_than_the_plan() -> None:
    jobs = Jobs.of([structs.replace(submit("a", 100.0), expected_wait_s=60.0)])
    assert jobs.known["a"].expected_at == 160.0
    jobs.apply(records.JobSeen(110.0, "a", JobPhase.PENDING, planned_at=400.0))
    assert jobs.known["a"].expected_at == 400.0
    jobs.apply(records.JobSeen(120.0, "a", JobPhase.PENDING, planned_at=400.0, held=True))
    assert jobs.known["a"].expected_at is None


def test_records_of_unknown_jobs_and_of_other_kinds_change_nothing() -> None:
    strange = [runs("x", 1.0), records.Release(2.0, "x", WHY), records.Tick(3.0), Shrunk(4.0, "x", ("n",))]
    assert Jobs.of(strange) == Jobs()


def test_the_kinds_are_all_that_it_needs_and_it_can_be_saved(jobs: Jobs) -> None:
    assert set(KINDS) == {"submit", "admit", "job-seen", "job-state", "node-up", "release", "shrunk"}
    for record in (Shrunk(HOUR, "a", ("w",)), submit("b", after="a")):
        jobs.apply(record)
    again = msgpack.decode(msgpack.encode(jobs), type=Jobs)
    assert again == jobs
    for each in (jobs, again):
        each.apply(ends("a", 2 * HOUR))
    assert again == jobs
    assert again.known["b"].eligible_at == 2 * HOUR
    assert again.known["a"].submit.tasks == (), "a long run does not keep the names of all its tasks once more"
