"""What the page of a run shows of jobs and tasks, from records written by hand."""

from __future__ import annotations

from headway.model import records
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending
from headway.model.records import Decision, Event, Why
from headway.report.run.summary import RunSummary
from headway.report.run_page.collecting import STATES, Collector
from tests.report.records import MACHINE, ended, launch, started, task

WHY = Why("plan", "rule")


def collected(*news: Event | Decision) -> Collector:
    collector = Collector(RunSummary())
    for record in news:
        collector.run.apply(record)
        collector.apply(record)
    collector.end()
    return collector


def test_a_job_that_follows_another_is_ready_when_that_has_ended() -> None:
    news = [
        records.RunStarted(100.0, "7", "u", "w", "/w", "w.yaml", "0.1", "ladder", "fifo", cluster="slurm"),
        records.Submit(110.0, "first", JobRequest(MACHINE), WHY),
        records.Submit(110.0, "next", JobRequest(MACHINE), WHY, after="first"),
        records.JobSeen(115.0, "first", JobPhase.RUNNING, 4711, partition="long"),
        records.JobState(130.0, "first", JobPhase.RUNNING, since=120.0),
    ]
    assert [job.ready for job in collected(*news).jobs] == [10.0, None]
    first, following = collected(*news, records.Release(500.0, "first", WHY)).jobs
    assert (first.name, first.started, first.ended) == ("job 4711 in long", 20.0, 400.0)
    assert (following.name, following.submitted, following.ready, following.started) == ("next", 10.0, 400.0, None)


def test_states_of_tasks_are_those_of_the_summary() -> None:
    tasks = [task(name) for name in ("waits", "runs", "works", "kept", "remade", "fails")]
    submit = records.Submit(100.0, "tag", JobRequest(MACHINE), WHY)
    begun = started(*tasks, task("below", parents=("fails",)))
    collector = collected(
        *begun[:-1],
        submit,
        begun[-1],
        records.Reuse(101.0, "kept", "6"),
        records.Reuse(101.0, "remade", "6"),
        records.Remake(102.0, "remade", "runs"),
        launch("runs", 1, MACHINE),
        launch("works", 1, MACHINE),
        ended("works", 1, 5.0),
        launch("fails", 1, MACHINE),
        ended("fails", 1, 5.0, Ending.EXIT_CODE),
        records.GiveUp(120.0, "fails", WHY),
    )
    states = dict(zip(collector.tasks.id, (STATES[state] for state in collector.tasks.state), strict=True))
    assert states == {
        "waits": "waiting",
        "runs": "running",
        "works": "succeeded",
        "kept": "reused",
        "remade": "waiting",
        "fails": "failed",
        "below": "cut off",
    }
