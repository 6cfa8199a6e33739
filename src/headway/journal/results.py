"""What a journal says of results and files: which results the next run here need not compute again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from msgspec import structs

from headway.model import records
from headway.model.deferred import may_make
from headway.model.outcome import Ending, Stamp
from headway.model.records import Decision, Event, Known
from headway.model.task import Fingerprint, Task
from headway.model.workflow import folders_above

# The kinds of records that tell of results, and submissions, whose tags show whether somebody has changed the journal.
RESULTS_IN = ("run-started", "results-known", "tasks-added", "inputs-read", "submit", "launch", "task-ended")
# The kinds of records that tell which tasks a run knows of, and so which files belong to none.
TASKS_IN = ("run-started", "tasks-added", "tasks-deferred", "finish")
UNKNOWN = Stamp(-1, 0)  # of a file that a task may have written in place, with any content


class Earlier(NamedTuple):
    """What earlier runs in a directory have left.

    `known` has the newest success of every task, with the fingerprint of its inputs. `former` are other files that
    tasks made: their task has other outputs now, or no result that could be reused. `unfinished` are tasks that have
    begun to write in place, without success.
    """

    known: dict[str, Known]
    former: dict[str, Stamp]
    unfinished: dict[str, Fingerprint]


def earlier_in(journal: Iterable[Event | Decision]) -> Earlier:
    """The results and files of this run and of those before it, by the run's journal."""
    known: dict[str, Known] = {}
    former: dict[str, Stamp] = {}
    unfinished: dict[str, Fingerprint] = {}
    tasks: dict[str, Task] = {}
    digests: dict[str, dict[str, str]] = {}
    temporary = _Temporary()
    run, owner = "", None
    for record in journal:
        temporary.apply(record)
        match record:
            case records.RunStarted():
                run, owner = record.run, record.owner or None
            case records.ResultsKnown():
                known |= {result.task: result for result in record.results}
                former |= record.former
                unfinished |= record.unfinished
            case records.TasksAdded():
                tasks |= {task.id: task for task in record.tasks}
                _own(known, record, owner)
            case records.InputsRead():
                digests[record.task] = record.digests
            case records.Launch() if not tasks[record.task].isolated and not record.remake:
                # It writes in place: its old outputs may now be half overwritten. It may have had others before.
                if (before := known.pop(record.task, None)) is not None:
                    former |= before.outputs
                former |= dict.fromkeys(tasks[record.task].outputs, UNKNOWN)
                unfinished[record.task] = Fingerprint(tasks[record.task].recipe(), digests.get(record.task, {}))
            case records.TaskEnded() if record.outcome.ending is Ending.SUCCESS:
                task, outputs = record.outcome.task, record.outcome.outputs
                before = known.pop(task, None)
                unfinished.pop(task, None)
                if before is not None:
                    former |= before.outputs
                    if task in temporary.remakes:  # only what was gone is new
                        outputs = before.outputs | outputs
                former |= outputs
                if not record.inputs_moved:
                    fingerprint = Fingerprint(tasks[task].recipe(), digests.get(task, {}))
                    known[task] = Known(task, fingerprint, run, outputs, owner=owner)
                    for path in outputs:
                        del former[path]
    known = {task: structs.replace(known[task], temp=temporary.digests.get(task, {})) for task in known}
    return Earlier(known, former, unfinished)


def orphans_among(
    paths: Iterable[str], journal: Iterable[Event | Decision], is_folder: Callable[[str], bool]
) -> list[str]:
    """Return the files of earlier runs that certainly belong to no task of a run's workflow, by the run's journal.

    `paths` are files that no task of the run makes, as far as the tasks were known when it started. An entry whose
    tasks are not known, because another task failed or was not chosen, may still make a file; so may a program that
    was stopped before it had added all of its tasks. The journal of an earlier version of Headway may not tell which
    tasks are unknown: then no file is certain to be an orphan.
    """
    made: set[str] = set()
    to_come: dict[str, tuple[str, ...]] = {}
    knows_all, growing = True, False
    for record in journal:
        match record:
            case records.RunStarted():
                made.update(record.left_out)
                to_come = dict(record.to_come or {})
                growing = record.growing
                knows_all = not growing and (record.to_come is not None or not record.partial)
            case records.TasksDeferred() if any(name not in to_come for name in record.deferred.names):
                knows_all = False
            case records.TasksAdded():
                made.update(path for task in record.tasks for path in task.outputs)
                made.update(record.left_out)
                if not record.problem:
                    to_come = {name: may for name, may in to_come.items() if name not in record.expands}
            case records.Finish(status="succeeded") if growing:
                knows_all = True
    if not knows_all:
        return []
    folders = {above for path in made for above in folders_above(path)}
    unknown = [pattern for patterns in to_come.values() for pattern in patterns]
    return [
        path
        for path in paths
        if path not in folders
        and made.isdisjoint((path, *folders_above(path)))
        and not (unknown and may_make(unknown, path, is_folder=is_folder(path)))
    ]


def _own(known: dict[str, Known], added: records.TasksAdded, owner: str | None) -> None:
    """Note which results an entry has and which it has no more, now that it became tasks while the run went on."""
    if added.expands and not added.problem:
        now = {task.id for task in added.tasks} | set(added.left_out.values())
        for task_id, result in known.items():
            if task_id in now:
                known[task_id] = structs.replace(result, owner=owner)
            elif task_id.partition("[")[0] in added.expands and result.owner == owner:
                known[task_id] = structs.replace(result, owner="")


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
