"""Metrics of runs, read as Prometheus reads them."""

from __future__ import annotations

import pytest
from msgspec import structs

pytest.importorskip("prometheus_client")

from prometheus_client.parser import text_string_to_metric_families

from headway.model import records
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending
from headway.model.records import RunStarted, Why
from headway.report.metrics import Extra, RunMetrics, metrics_of, metrics_text
from headway.report.run.summary import RunSummary
from tests.report.records import GB, MACHINE, ended, launch, started, task

GIVEN = MACHINE.replace(cores=2, memory_bytes=4 * GB)
ODD = 'a "b"\\\nc'


def run_on_slurm() -> RunMetrics:
    """A job waits for 30 s; one task succeeds at the second attempt, one runs, one waits."""
    tasks = [task("one", ODD), task("two", ODD), task("three", ODD)]
    tasks[0] = structs.replace(tasks[0], hints={"memory_bytes": 8 * GB, "cores": 2})
    first, *more, _ = started(*tasks)  # without its node
    assert isinstance(first, RunStarted)
    news = [
        structs.replace(first, cluster="slurm"),
        *more,
        records.Submit(100.0, "job", JobRequest(MACHINE), Why("test", "test")),
        records.JobState(130.0, "job", JobPhase.RUNNING),
        records.NodeUp(130.0, "node", "job", MACHINE),
        launch("one", 1, GIVEN, 130.0),
        ended("one", 1, 5.0, Ending.EXIT_CODE),
        launch("one", 2, GIVEN, 140.0),
        ended("one", 2, 5.0, memory_bytes=GB),
        launch("two", 1, GIVEN, 150.0),
    ]
    summary, extra = RunSummary(), Extra()
    for record in news:
        summary.apply(record)
        extra.apply(record)
    return metrics_of(summary, extra, "running", 160.0)


def test_the_figures_of_runs_add_up() -> None:
    text = metrics_text([run_on_slurm(), run_on_slurm(), RunMetrics()])
    found = {
        (sample.name, *(sample.labels.get(name, "") for name in ("category", "state"))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("workflow") != ""
    }
    assert found["headway_runs", "", "running"] == 2 and found["headway_runs", "", "unreadable"] == 1
    states = {state: found["headway_tasks", ODD, state] for state in ("succeeded", "running", "waiting", "failed")}
    assert states == {"succeeded": 2, "running": 2, "waiting": 2, "failed": 0}
    assert found["headway_attempts_total", ODD, ""] == 6
    assert found["headway_retries_total", ODD, ""] == 2
    assert found["headway_memory_asked_bytes", ODD, ""] == 8 * GB
    assert found["headway_memory_used_max_bytes", ODD, ""] == GB
    assert found["headway_cores_held", "", ""] == 2 * MACHINE.cores
    assert found["headway_cores_in_use", "", ""] == 4
    assert found["headway_job_wait_seconds_sum", "", ""] == 60
    assert found["headway_job_wait_seconds_count", "", ""] == 2
    assert (found["headway_jobs_running", "", ""], found["headway_jobs_waiting", "", ""]) == (2, 0)


def test_the_wait_of_a_job_that_was_held_back_counts_from_its_admission() -> None:
    summary, why = RunSummary(), Why("test", "test")
    first, *_ = started()
    assert isinstance(first, RunStarted)
    for record in (
        structs.replace(first, cluster="slurm"),
        records.Submit(100.0, "first", JobRequest(MACHINE), why),
        records.Submit(100.0, "side", JobRequest(MACHINE), why, after="first"),
        records.JobState(110.0, "first", JobPhase.RUNNING),
        records.Admit(500.0, "side", why),
        records.JobState(530.0, "side", JobPhase.RUNNING),
    ):
        summary.apply(record)
    metrics = metrics_of(summary, Extra(), "running", 600.0)
    assert (metrics.waits, metrics.waited_s) == (2, 10.0 + 30.0)


def test_the_wait_of_a_job_that_follows_another_counts_from_the_end_of_that() -> None:
    summary, why = RunSummary(), Why("test", "test")
    first, *_ = started()
    assert isinstance(first, RunStarted)
    for record in (
        structs.replace(first, cluster="slurm"),
        records.Submit(100.0, "first", JobRequest(MACHINE), why),
        records.Submit(100.0, "next", JobRequest(MACHINE), why, after="first"),
        records.JobState(110.0, "first", JobPhase.RUNNING),
        records.JobState(500.0, "first", JobPhase.ENDED),
        records.JobState(520.0, "next", JobPhase.RUNNING),
    ):
        summary.apply(record)
    metrics = metrics_of(summary, Extra(), "running", 600.0)
    assert (metrics.waits, metrics.waited_s) == (2, 10.0 + 20.0)
