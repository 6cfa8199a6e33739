"""The results in a journal that the next run in the same directory need not compute again."""

from __future__ import annotations

from collections.abc import Iterable

from headway.model import records
from headway.model.outcome import Ending
from headway.model.records import Decision, Event, Known
from headway.model.task import Fingerprint, Task


def known_results(journal: Iterable[Event | Decision]) -> dict[str, Known]:
    """The newest success of every task, in this run or an earlier one, with the fingerprint of its inputs."""
    known: dict[str, Known] = {}
    tasks: dict[str, Task] = {}
    digests: dict[str, dict[str, str]] = {}
    run = ""
    for record in journal:
        match record:
            case records.RunStarted():
                run = record.run
            case records.ResultsKnown():
                known |= {result.task: result for result in record.results}
            case records.TasksAdded():
                tasks |= {task.id: task for task in record.tasks}
            case records.InputsRead():
                digests[record.task] = record.digests
            case records.Launch() if not tasks[record.task].isolated:
                known.pop(record.task, None)  # it writes in place: its old outputs may now be half overwritten
            case records.TaskEnded() if record.outcome.ending is Ending.SUCCESS and record.inputs_moved:
                known.pop(record.outcome.task, None)
            case records.TaskEnded() if record.outcome.ending is Ending.SUCCESS:
                task = record.outcome.task
                known[task] = Known(
                    task, Fingerprint(tasks[task].recipe(), digests.get(task, {})), run, record.outcome.outputs
                )
    return known
