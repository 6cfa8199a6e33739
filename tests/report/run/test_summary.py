"""A summary's figures equal those computed by hand from the records."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.journal.sqlite import SqliteJournal
from headway.model import records
from headway.model.outcome import Ending
from headway.model.records import Decision, Event, Why
from headway.model.resources import Resources
from headway.report.run.summary import RunSummary
from tests.report.records import GB, MACHINE, ended, launch, started, task


def summary_of(*story: Event | Decision) -> RunSummary:
    summary = RunSummary()
    for record in story:
        summary.apply(record)
    return summary


def test_awe_is_consumption_over_allocation_of_all_attempts() -> None:
    """Phung and Thain 2024, section II-C: a task exceeds 1 GB after 10 s, then uses 1.5 of 2 GB for 20 s."""
    summary = summary_of(
        *started(task("a")),
        launch("a", 1, Resources(cores=1, memory_bytes=1 * GB)),
        ended("a", 1, 10, Ending.MEMORY, memory_bytes=1 * GB, cores=1),
        launch("a", 2, Resources(cores=1, memory_bytes=2 * GB)),
        ended("a", 2, 20, memory_bytes=1.5 * GB, cores=0.5),
    )
    memory = summary.whole().totals["memory_bytes"]
    assert memory.awe == pytest.approx(1.5 * 20 / (1 * 10 + 2 * 20))
    assert memory.wasted == pytest.approx((1 * 10 + 2 * 20 - 1.5 * 20) * GB)
    assert memory.asked_mean == 1.5 * GB
    assert memory.used_mean == memory.used_max == 1.5 * GB
    cores = summary.whole().totals["cores"]
    assert cores.awe == pytest.approx(0.5 * 20 / 30)
    assert summary.whole().attempts == 2
    assert summary.whole().run_s == 30


def test_unmeasured_attempts_do_not_count() -> None:
    summary = summary_of(
        *started(task("a"), task("b")),
        launch("a", 1, Resources(cores=1, memory_bytes=4 * GB, disk_bytes=9 * GB)),
        ended("a", 1, 10, memory_bytes=2 * GB),
        launch("b", 1, Resources(cores=1, memory_bytes=4 * GB)),
        ended("b", 1, 1000),
    )
    assert summary.whole().totals["memory_bytes"].awe == pytest.approx(0.5)
    assert summary.whole().totals["disk_bytes"].awe is None


def test_a_failed_task_has_no_consumption() -> None:
    summary = summary_of(
        *started(task("a"), task("b")),
        launch("a", 1, Resources(memory_bytes=1 * GB)),
        ended("a", 1, 10, memory_bytes=1 * GB),
        launch("b", 1, Resources(memory_bytes=1 * GB)),
        ended("b", 1, 10, Ending.EXIT_CODE, memory_bytes=1 * GB, message="its command exited with code 1"),
        records.GiveUp(120, "b", Why("engine", "exit-code", {}, "its command exited with code 1")),
    )
    assert summary.whole().totals["memory_bytes"].awe == pytest.approx(0.5)
    assert summary.failures["b"].attempt == 1


def test_a_failure_cuts_off_each_descendant_once() -> None:
    summary = summary_of(
        *started(
            task("a"), task("b"), task("c", parents=("a", "b")), task("d", parents=("c",)), task("e", parents=("b",))
        ),
        records.GiveUp(101, "a", Why("engine", "missing-input", {}, "its input x does not exist")),
        records.GiveUp(101, "b", Why("engine", "missing-input", {}, "its input y does not exist")),
    )
    whole = summary.whole()
    assert (whole.failed, whole.cut_off, whole.waiting, whole.total) == (2, 3, 0, 5)
    summary.apply(records.TasksAdded(102, [task("f", parents=("e",)), task("g")]))
    whole = summary.whole()
    assert (whole.cut_off, whole.waiting) == (4, 1)


def test_attempts_that_are_lost_with_their_node_wait_again() -> None:
    summary = summary_of(*started(task("a")), launch("a", 1, MACHINE), records.NodeLost(105, "box", "gone"))
    whole = summary.whole()
    assert (whole.running, whole.waiting, whole.attempts, whole.lost) == (0, 1, 1, 1)
    late = ended("a", 1, 3, memory_bytes=GB)
    summary.apply(late)
    assert summary.whole().succeeded == 0, "news of an attempt that was given up for lost must not count"


def test_reused_results_are_counted_apart() -> None:
    summary = summary_of(
        *started(task("a", "c"), task("b", "c")),
        records.Reuse(101, "a", "3"),
        launch("b", 1, MACHINE),
        ended("b", 1, 1),
    )
    figures = summary.categories["c"]
    assert (figures.reused, figures.succeeded, figures.done, figures.attempts) == (1, 1, 2, 1)


def test_time_between_stopping_and_resuming_does_not_count() -> None:
    summary = summary_of(
        *started(task("a"), at=100),
        records.Finish(130, "stopped"),
        records.Resumed(1000, "0.1"),
        launch("a", 1, MACHINE, at=1001),
    )
    assert summary.finished is None
    assert summary.elapsed_s(1010) == pytest.approx(40)
    summary.apply(ended("a", 1, 4, at=1005))
    summary.apply(records.Finish(1006, "succeeded"))
    assert summary.elapsed_s(9999) == pytest.approx(36)


def test_time_between_two_managers_in_jobs_counts() -> None:
    summary = summary_of(*started(task("a"), at=100), records.Resumed(1000, "0.1", relieves=True))
    assert summary.elapsed_s(1010) == pytest.approx(910)


def test_resources_in_use_are_those_of_running_tasks() -> None:
    summary = summary_of(
        *started(task("a"), task("b")),
        launch("a", 1, Resources(cores=1.5, memory_bytes=GB)),
        launch("b", 1, Resources(cores=1, memory_bytes=2 * GB)),
    )
    assert (summary.in_use().cores, summary.in_use().memory_bytes) == (2.5, 3 * GB)
    assert summary.available() == MACHINE
    summary.apply(ended("a", 1, 1))
    assert summary.in_use().cores == 1


def test_a_summary_of_a_journal_is_that_of_its_records(tmp_path: Path) -> None:
    story = [*started(task("a"), task("b")), launch("a", 1, MACHINE), ended("a", 1, 2, memory_bytes=GB)]
    journal = SqliteJournal.create(tmp_path / "journal.db", story)
    read, folded = RunSummary.of(journal), summary_of(*story)
    assert read.whole().totals["memory_bytes"].awe == folded.whole().totals["memory_bytes"].awe
    assert (read.whole().succeeded, read.whole().waiting) == (1, 1)


@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(1, 64), st.floats(0.01, 1000)), max_size=3),  # failed: given GB, seconds
            st.tuples(st.integers(1, 64), st.floats(0.01, 1), st.floats(0.01, 1000)),  # success: given, part, seconds
        ),
        min_size=1,
        max_size=8,
    )
)
def test_awe_of_any_run_follows_the_formula(
    runs: list[tuple[list[tuple[int, float]], tuple[int, float, float]]],
) -> None:
    names = [f"t{number}" for number in range(len(runs))]
    summary = summary_of(*started(*(task(name, "c") for name in names)))
    consumed = allocated = 0.0
    for name, (failures, (given_gb, part, seconds)) in zip(names, runs, strict=True):
        for number, (amount, run_s) in enumerate(failures, start=1):
            summary.apply(launch(name, number, Resources(memory_bytes=amount * GB)))
            summary.apply(ended(name, number, run_s, Ending.MEMORY, memory_bytes=amount * GB))
            allocated += amount * GB * run_s
        last = len(failures) + 1
        summary.apply(launch(name, last, Resources(memory_bytes=given_gb * GB)))
        summary.apply(ended(name, last, seconds, memory_bytes=part * given_gb * GB))
        consumed += part * given_gb * GB * seconds
        allocated += given_gb * GB * seconds
    assert summary.categories["c"].totals["memory_bytes"].awe == pytest.approx(consumed / allocated)
    assert summary.whole().done == len(runs)
    assert not summary.running
    assert not summary.troubles


def test_states_of_tasks() -> None:
    tasks = [task(name) for name in ("waits", "runs", "works", "kept", "remade", "handed back", "fails")]
    summary = summary_of(
        *started(*tasks, task("below", parents=("fails",))),
        records.Reuse(101.0, "kept", "6"),
        records.Reuse(101.0, "remade", "6"),
        records.Remake(102.0, "remade", "runs"),
        *(launch(name, 1, MACHINE) for name in ("runs", "works", "handed back", "fails")),
        ended("works", 1, 5.0),
        ended("handed back", 1, 5.0, Ending.MEMORY),
        records.GiveUp(120.0, "handed back", Why("test", "test"), handed_back=True),
        ended("fails", 1, 5.0, Ending.EXIT_CODE),
        records.GiveUp(120.0, "fails", Why("test", "test")),
    )
    assert {name: summary.state_of(name) for name in [*(each.id for each in tasks), "below"]} == {
        "waits": "waiting",
        "runs": "running",
        "works": "succeeded",
        "kept": "reused",
        "remade": "waiting",
        "handed back": "failed",
        "fails": "failed",
        "below": "cut_off",
    }
