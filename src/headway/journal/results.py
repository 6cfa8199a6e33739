"""The results in a journal that the next run in the same directory need not compute again."""

from __future__ import annotations

from collections.abc import Iterable

from headway.model.outcome import Ending
from headway.model.records import (
    Decision,
    Event,
    InputsRead,
    Known,
    Launch,
    ResultsKnown,
    RunStarted,
    TaskEnded,
    TasksAdded,
)
from headway.model.task import Fingerprint, Task


def known_results(records: Iterable[Event | Decision]) -> dict[str, Known]:
    """The newest success of every task, in this run or an earlier one, with the fingerprint of its inputs."""
    known: dict[str, Known] = {}
    tasks: dict[str, Task] = {}
    digests: dict[str, dict[str, str]] = {}
    run = ""
    for record in records:
        match record:
            case RunStarted():
                run = record.run
            case ResultsKnown():
                known |= {result.task: result for result in record.results}
            case TasksAdded():
                tasks |= {task.id: task for task in record.tasks}
            case InputsRead():
                digests[record.task] = record.digests
            case Launch() if not tasks[record.task].isolated:
                known.pop(record.task, None)  # it writes in place: its old outputs may now be half overwritten
            case TaskEnded() if record.outcome.ending is Ending.SUCCESS and record.inputs_moved:
                known.pop(record.outcome.task, None)
            case TaskEnded() if record.outcome.ending is Ending.SUCCESS:
                task = record.outcome.task
                known[task] = Known(
                    task, Fingerprint(tasks[task].recipe(), digests.get(task, {})), run, record.outcome.outputs
                )
    return known
