"""Records of small invented runs, for figures that can be computed by hand."""

from __future__ import annotations

from headway.model import records
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.records import Decision, Event, Why
from headway.model.resources import Resources
from headway.model.task import Task

GB = 10**9
MACHINE = Resources(cores=4, memory_bytes=16 * GB, disk_bytes=100 * GB)


def started(*tasks: Task, at: float = 100.0) -> list[Event | Decision]:
    """The beginning of a run with these tasks on one node."""
    return [
        records.RunStarted(at, "7", "abc", "made-up", "/somewhere", "workflow.yaml", "0.1", "max-seen", "fifo"),
        records.LimitsRead(at, MACHINE),
        records.TasksAdded(at, list(tasks)),
        records.NodeUp(at, "box", "tag", MACHINE),
    ]


def launch(task: str, attempt: int, given: Resources, at: float = 101.0) -> records.Launch:
    why = {"memory_bytes": Why("max-seen", "hint", {"hint": given.memory_bytes, "limit": None}, "the workflow asks")}
    return records.Launch(at, task, attempt, "box", "tag", given, "no earlier result", why)


def ended(
    task: str,
    attempt: int,
    run_s: float,
    ending: Ending = Ending.SUCCESS,
    memory_bytes: float | None = None,
    cores: float | None = None,
    disk_bytes: float | None = None,
    message: str = "",
    at: float = 110.0,
) -> records.TaskEnded:
    quality = Quality.EXACT if ending is Ending.SUCCESS else Quality.LOWER_BOUND

    def figure(value: float | None) -> Measured | None:
        return None if value is None else Measured(value, quality)

    usage = Usage(
        wall_s=Measured(run_s, Quality.EXACT),
        memory_bytes=figure(memory_bytes),
        cores_peak=figure(cores),
        disk_bytes=figure(disk_bytes),
    )
    return records.TaskEnded(at, Outcome(task, attempt, ending, at - run_s, at, usage, message=message))


def task(name: str, category: str = "", parents: tuple[str, ...] = ()) -> Task:
    return Task(name, category or name, "true", parents=parents)
