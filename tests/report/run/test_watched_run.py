"""A run as `headway top` watches it: which tasks are ready, how sizes move, and why tasks wait."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from headway.model import records
from headway.model.codec import decode
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending
from headway.model.records import Why
from headway.model.resources import Resources
from headway.report.run.waiting_reasons import waiting_reasons
from headway.report.run.watched_run import WatchedRun
from tests.report.records import GB, ended, launch, started, task

JOURNALS = sorted((Path(__file__).parents[2] / "engine" / "journals").glob("*.jsonl.gz"))
NO_REASON = Why("test", "test")


@pytest.mark.parametrize("path", JOURNALS, ids=lambda path: path.name)
def test_ready_tasks_are_counted_as_they_change(path: Path) -> None:
    """After each record of a recorded run the counts are those that one finds by looking at all tasks."""
    run = WatchedRun()
    done: set[str] = set()
    for line in gzip.decompress(path.read_bytes()).splitlines():
        record = decode(line)
        run.apply(record)
        if isinstance(record, records.TaskEnded) and record.outcome.ending is Ending.SUCCESS:
            done.add(record.outcome.task)
        over = done | run.running.keys() | run.failures.keys()
        ready = [it.category for it in run.tasks.values() if it.id not in over and set(it.parents) <= done]
        assert [run.ready(name) for name in run.categories] == [ready.count(name) for name in run.categories]
    assert len(done) > 5


def given(memory_gb: float) -> Resources:
    return Resources(cores=1, memory_bytes=memory_gb * GB)


def test_states_sizes_and_reasons() -> None:
    run = WatchedRun()
    tasks = [task("a1", "a"), task("a2", "a"), task("b", parents=("a1", "a2")), task("c", parents=("b",)), task("d")]
    for record in [*started(*tasks), launch("a1", 1, given(4)), ended("a1", 1, 5, Ending.MEMORY, 4 * GB)]:
        run.apply(record)
    states = {name: run.state(it) for name, it in run.tasks.items()}
    assert states == {"a1": "retry", "a2": "ready", "b": "waiting", "c": "waiting", "d": "ready"}
    assert (run.ready("a"), run.ready("b")) == (2, 0)
    reasons = dict(waiting_reasons(run, "running", 200.0))
    assert reasons["a: 2 ready"] == (
        "for room: 0 of 4 cores and 0 B of 16 GB memory are in use; each was last given 1 core, 4 GB memory"
    )
    assert reasons["b: 1 waiting"] == "for a (2 of 2 left)"
    more = [launch("a1", 2, given(8)), launch("a2", 1, given(2)), ended("a1", 2, 5, memory_bytes=5 * GB)]
    for record in [*more, records.GiveUp(120, "d", NO_REASON)]:
        run.apply(record)
    sizes = run.sizes["a"]
    assert (list(sizes.memory), sizes.retries) == ([4 * GB, 2 * GB], 1)
    assert sizes.used_bytes == 5 * GB
    assert run.state(run.tasks["d"]) == "failed"
    run.apply(records.NodeLost(130, "box"))
    assert run.state(run.tasks["a2"]) == "retry"
    run.apply(records.GiveUp(140, "a2", NO_REASON))
    assert {run.state(run.tasks[name]) for name in "bc"} == {"cut off"}
    assert waiting_reasons(run, "failed", 200.0) == [("2 cut off", "they depend on d, a2, which failed")]
    assert [run.ready(name) for name in run.categories] == [0, 0, 0, 0]


def test_ready_tasks_without_nodes_wait_for_a_job() -> None:
    run = WatchedRun()
    begin = records.RunStarted(100.0, "7", "x", "w", "/somewhere", "w.yaml", "0.1", "ladder", "fifo", cluster="slurm")
    for record in [
        begin,
        records.TasksAdded(100.0, [task("a")]),
        records.Submit(101.0, "r7-1", JobRequest(Resources(cores=8, memory_bytes=GB, walltime_s=600.0)), NO_REASON),
        records.JobSeen(102.0, "r7-1", JobPhase.PENDING, 42, "too few nodes are free", planned_at=500.0),
    ]:
        run.apply(record)
    ((what, why),) = waiting_reasons(run, "running", 200.0)
    assert what == "a: 1 ready"
    assert why.startswith(
        "for job 42 (1 node with 8 cores, 1 GB memory for 10m 00s) to start; too few nodes are free; "
    )
    assert "expected to start" in why
    assert waiting_reasons(run, "interrupted", 200.0)[0][1].endswith("`headway resume 7` goes on with it")
