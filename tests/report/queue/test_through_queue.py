"""Figures of a workflow in the queue, from records written by hand."""

from __future__ import annotations

import pytest
from msgspec import structs

from headway.model import records
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, Why
from headway.model.resources import Resources
from headway.report.queue.through_queue import Passage, passage_of, passage_table, verdict

NODE = Resources(cores=2, memory_bytes=10**9, disk_bytes=10**9)
WHY = Why("test", "test")
Journal = list[Event | Decision]


def begun(at: float = 1000.0) -> Journal:
    started = records.RunStarted(at, "1", "u", "flow", "", "", "0.1", "user", "fifo")
    return [started, records.LimitsRead(at, NODE.replace(nodes=8))]


def asked(tag: str, at: float, nodes: int) -> records.Submit:
    return records.Submit(at, tag, JobRequest(NODE.replace(nodes=nodes, walltime_s=500.0)), WHY)


def became(tag: str, at: float, phase: JobPhase) -> records.JobState:
    return records.JobState(at, tag, phase)


def launched(task: str, at: float, cores: float, attempt: int = 1) -> records.Launch:
    return records.Launch(at, task, attempt, "n", "a", NODE.replace(cores=cores), "no earlier result", {})


def ended(task: str, began: float, at: float, ending: Ending = Ending.SUCCESS, attempt: int = 1) -> records.TaskEnded:
    return records.TaskEnded(at, Outcome(task, attempt, ending, began, at))


def two_jobs() -> Journal:
    """Job a: 2 nodes, waits 100 s, expires after 500 s. Job b: 1 node, waits 50 s, is given back after 300 s."""
    return [
        *begun(),
        asked("a", 1000.0, 2),
        became("a", 1100.0, JobPhase.RUNNING),
        launched("t", 1100.0, cores=2),
        launched("u", 1100.0, cores=1),
        ended("t", 1100.0, 1300.0),
        ended("u", 1100.0, 1600.0, Ending.NODE_LOST),
        became("a", 1600.0, JobPhase.ENDED),
        asked("b", 1600.0, 1),
        became("b", 1650.0, JobPhase.RUNNING),
        launched("u", 1650.0, cores=1, attempt=2),
        ended("u", 1650.0, 1950.0, attempt=2),
        records.Release(1950.0, "b", WHY),
        records.Finish(1950.0, "succeeded"),
    ]


def test_by_hand() -> None:
    held_s = 2 * 500 + 300
    assert passage_of("some-plan", two_jobs()) == Passage(
        plan="some-plan",
        status="succeeded",
        makespan_s=950.0,
        jobs=2,
        expired=1,
        first_wait_s=100.0,
        mean_wait_s=75.0,
        node_hours=held_s / 3600,
        busy_share=pytest.approx((2 * 200 + 1 * 300) / (2 * held_s)),  # type: ignore[arg-type]
        core_hours=2 * held_s / 3600,
        used_core_hours=(2 * 200 + 1 * 300) / 3600,
    )


def test_a_share_counts_as_the_part_of_a_node_that_it_is() -> None:
    share = JobRequest(NODE.replace(cores=1, nodes=2, walltime_s=500.0), places=2)
    journal = [structs.replace(it, request=share) if isinstance(it, records.Submit) and it.tag == "a" else it
               for it in two_jobs()]  # fmt: skip
    passage = passage_of("p", journal)
    assert passage.node_hours == pytest.approx((500 + 300) / 3600)
    assert passage.core_hours == pytest.approx((2 * 500 + 2 * 300) / 3600)
    assert passage.busy_share == pytest.approx(passage.used_core_hours / passage.core_hours)


def test_nodes_count_until_they_are_given_back() -> None:
    journal = two_jobs()
    journal[7:7] = [
        records.Shrink(1300.0, "a", ("n2",), WHY),
        records.Shrunk(1350.0, "a", ("n2",)),
        records.Shrunk(1400.0, "a", refused="not supported"),
    ]
    passage, before = passage_of("p", journal), passage_of("p", two_jobs())
    assert passage.node_hours == pytest.approx(before.node_hours - (1600 - 1350) / 3600)
    assert passage.core_hours == pytest.approx(before.core_hours - 2 * (1600 - 1350) / 3600)


def test_the_wait_of_a_job_that_was_held_back_counts_from_its_admission() -> None:
    journal = two_jobs()
    [first, second] = [it for it in journal if isinstance(it, records.Submit)]
    at = journal.index(second)
    journal[at : at + 1] = [structs.replace(second, at=1000.0, after=first.tag), records.Admit(second.at, "b", WHY)]
    assert passage_of("p", journal) == passage_of("p", two_jobs())


def test_a_job_that_never_started_held_nothing() -> None:
    journal = two_jobs()
    journal[-1:-1] = [asked("c", 1700.0, 8), records.Release(1950.0, "c", WHY)]
    passage, before = passage_of("p", journal), passage_of("p", two_jobs())
    assert passage == structs.replace(before, jobs=3)


def test_a_run_that_is_not_over_and_one_without_jobs() -> None:
    passage = passage_of("p", two_jobs()[:6])
    assert (passage.status, passage.jobs, passage.expired, passage.makespan_s) == ("unfinished", 1, 0, 0.0)
    nothing = passage_of("p", [*begun(), records.Finish(1000.0, "succeeded")])
    assert nothing == Passage("p", "succeeded", 0.0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


# --- as a table and a sentence ---

FAST = Passage("fast", "succeeded", 3600.0, 1, 0, 60.0, 60.0, 12.5, 0.8, 25.0, 20.0)
SLOW = Passage("slow", "succeeded", 5400.0, 1200, 0, 30.0, 90.0, 2.0, 1.0, 4.0, 4.0)
LOST = Passage("lost", "failed", 10.0, 3, 2, 30.0, 90.0, 2.0, 1.0, 4.0, 4.0)


def test_fastest_plans_first_and_failed_ones_last() -> None:
    lines = [" ".join(str(line).split()) for line in passage_table([LOST, SLOW, FAST], 100)]
    assert lines[1] == "plan makespan jobs first mean node-hours busy expired status"
    assert lines[3:] == [
        "fast 1h 00m 1 1m 00s 1m 00s 12.5 80% 0 succeeded",
        "slow 1h 30m 1,200 30 s 1m 30s 2.00 100% 0 succeeded",
        "lost 10 s 3 30 s 1m 30s 2.00 100% 2 failed",
    ]


def test_core_hours_where_the_queue_counts_cores() -> None:
    lines = [" ".join(str(line).split()) for line in passage_table([SLOW, FAST], 100, in_cores=True)]
    assert lines[1] == "plan makespan jobs first mean held used busy"
    assert lines[3] == "fast 1h 00m 1 1m 00s 1m 00s 25.0 20.0 80%"


def test_columns_without_information_are_left_out() -> None:
    heads = str(passage_table([SLOW, FAST], 100)[1])
    assert "expired" not in heads
    assert "status" not in heads


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_table_fits_its_screen(width: int) -> None:
    lines = [str(line) for line in passage_table([LOST, SLOW, FAST], width)]
    assert max(map(len, lines)) <= width
    assert any("makespan" in line for line in lines)


def test_the_verdict() -> None:
    assert verdict([SLOW, LOST, FAST]) == "fast finishes first, after 1h 00m, with 1 job; slow takes 50% longer"
    assert verdict([LOST, SLOW]) == "slow finishes first, after 1h 30m, with 1,200 jobs"
    assert verdict([LOST]) == "no plan finished the workflow"
    equal = structs.replace(FAST, plan="equal")
    assert verdict([FAST, equal]) == "fast and equal finish first, after 1h 00m"
    assert verdict([SLOW, equal, FAST]) == "equal and fast finish first, after 1h 00m; slow takes 50% longer"
    nothing = structs.replace(FAST, plan="nothing", makespan_s=0.0)
    assert verdict([FAST, nothing]) == "nothing finishes first, after 0 s, with 1 job; fast takes 1h 00m longer"
