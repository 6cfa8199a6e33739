"""The results in a journal that the next run in the same directory need not compute again."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from headway.model import records
from headway.model.outcome import Ending
from headway.model.records import Decision, Event, Known
from headway.model.task import Fingerprint, Task
from headway.model.workflow import folders_above

# The kinds of records that tell of results, and submissions, whose tags show whether somebody has changed the journal.
RESULTS_IN = ("run-started", "results-known", "tasks-added", "inputs-read", "submit", "launch", "task-ended")


def known_results(journal: Iterable[Event | Decision]) -> dict[str, Known]:
    """The newest success of every task, in this run or an earlier one, with the fingerprint of its inputs."""
    known: dict[str, Known] = {}
    tasks: dict[str, Task] = {}
    digests: dict[str, dict[str, str]] = {}
    temporary = _Temporary()
    run = ""
    for record in journal:
        temporary.apply(record)
        match record:
            case records.RunStarted():
                run = record.run
            case records.ResultsKnown():
                known |= {result.task: result for result in record.results}
            case records.TasksAdded():
                tasks |= {task.id: task for task in record.tasks}
            case records.InputsRead():
                digests[record.task] = record.digests
            case records.Launch() if not tasks[record.task].isolated and not record.remake:
                known.pop(record.task, None)  # it writes in place: its old outputs may now be half overwritten
            case records.TaskEnded() if record.outcome.ending is Ending.SUCCESS and record.inputs_moved:
                known.pop(record.outcome.task, None)
            case records.TaskEnded() if record.outcome.ending is Ending.SUCCESS:
                task, outputs = record.outcome.task, record.outcome.outputs
                if task in temporary.remakes and task in known:  # only what was gone is new
                    outputs = known[task].outputs | outputs
                known[task] = Known(task, Fingerprint(tasks[task].recipe(), digests.get(task, {})), run, outputs)
    return {task: structs.replace(known[task], temp=temporary.digests.get(task, {})) for task in known}


class _Temporary:
    """What was read of the temporary outputs of each task: their digests. Made again, they count as what they were."""

    def __init__(self) -> None:
        self.digests: dict[str, dict[str, str]] = {}
        self.remakes: set[str] = set()
        self._makers: dict[str, str] = {}

    def apply(self, record: Event | Decision) -> None:
        match record:
            case records.ResultsKnown():
                self.digests |= {result.task: dict(result.temp) for result in record.results if result.temp}
            case records.TasksAdded():
                self._makers |= {path: task.id for task in record.tasks for path in task.temp}
            case records.InputsRead() if self._makers:
                for path, digest in record.digests.items():
                    for above in (path, *folders_above(path)):
                        if digest and above in self._makers:
                            self.digests.setdefault(self._makers[above], {})[path] = digest
            case records.Launch() if record.remake:
                self.remakes.add(record.task)
            case records.TaskEnded() if record.outcome.ending is Ending.SUCCESS:
                if record.outcome.task not in self.remakes:
                    self.digests.pop(record.outcome.task, None)
