"""What a run saved, computed by hand."""

from __future__ import annotations

from headway.model import records
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending
from headway.model.records import Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.report.run.summary import RunSummary
from headway.report.run_page.collecting import Collector
from headway.report.run_page.comparing import saved_tiles, whole_node_hours
from tests.report.records import GB, ended, launch

WHY = Why("plan", "rule")


def test_what_was_saved_against_requests_and_whole_nodes() -> None:
    """Two nodes of 8 cores, of which the job asks for 4 each; after an hour it gives one back."""
    hints = {"memory_bytes": 8.0 * GB, "cores": 2.0}
    tasks = [Task(name, "work", "true", hints=hints) for name in ("one", "two", "broken")]
    summary = RunSummary()
    collector = Collector(summary)
    for record in (
        records.RunStarted(0, "1", "u", "w", "/w", "w.yaml", "0.1", "ladder", "fifo", cluster="slurm"),
        records.LimitsRead(0, Resources(cores=8, memory_bytes=32 * GB)),
        records.TasksAdded(0, tasks),
        records.Submit(0, "tag", JobRequest(Resources(cores=4, nodes=2), places=4), WHY),
        records.JobState(100, "tag", JobPhase.RUNNING),
        records.NodeUp(100, "box", "tag", Resources(cores=4, memory_bytes=16 * GB)),
        launch("one", 1, Resources(cores=2, memory_bytes=2 * GB), at=100),
        ended("one", 1, 1000, Ending.MEMORY, at=1100),  # it counts: a larger request would not have failed
        launch("one", 2, Resources(cores=2, memory_bytes=4 * GB), at=1100),
        ended("one", 2, 1000, at=2100),
        launch("two", 1, Resources(cores=2, memory_bytes=2 * GB), at=2100),
        ended("two", 1, 10, Ending.EXIT_CODE, at=2110),  # it does not: it would have failed with any amount
        launch("two", 2, Resources(cores=2, memory_bytes=2 * GB), at=2110),
        ended("two", 2, 1000, at=3110),
        launch("broken", 1, Resources(cores=2, memory_bytes=2 * GB), at=3110),
        ended("broken", 1, 500, Ending.EXIT_CODE, at=3610),
        records.Shrunk(3700, "tag", ("other",)),
        records.JobState(7300, "tag", JobPhase.ENDED),
    ):
        summary.apply(record)
        collector.apply(record)
    collector.end()
    assert whole_node_hours(summary, 9999.0) == 8 * (2 * 1 + 1 * 1)
    memory, cores, nodes = saved_tiles(collector, 9999.0)
    assert (memory.value, memory.name) == ("50%", "less memory than the workflow asks for")  # 8 of 16 TB·s
    assert (cores.value, cores.name) == ("50%", "more core time than the workflow asks for")  # 6,000 of 4,000 core·s
    assert (nodes.value, nodes.note) == ("50%", "12 instead of 24")
    assert nodes.name == "fewer core-hours than if its jobs held whole nodes"


def test_nothing_is_claimed_where_nothing_is_asked() -> None:
    summary = RunSummary()
    collector = Collector(summary)
    for record in (
        records.RunStarted(0, "1", "u", "w", "/w", "w.yaml", "0.1", "ladder", "fifo"),
        records.TasksAdded(0, [Task("one", "one", "true")]),
        launch("one", 1, Resources(cores=2, memory_bytes=2 * GB), at=100),
        ended("one", 1, 1000, at=1100),
    ):
        summary.apply(record)
        collector.apply(record)
    assert saved_tiles(collector, 1100.0) == []
