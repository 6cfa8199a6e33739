"""What a journal says of results and files: which results the next run here need not compute again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct, field, structs

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
_MOST_OLDER = 8  # contents of a file that are remembered besides the newest


class Earlier(Struct, frozen=True):
    """What earlier runs in a directory have left.

    `known` has the newest success of every task, with the fingerprint of its inputs. `former` are other files that
    tasks made: their task has other outputs now, or no result that could be reused. `unfinished` are tasks that have
    begun to write in place, without success. `others` are results of other workflow files, which may have tasks of the
    same names. `older` are digests of what files held before: a file may come back with such a content, for example
    from a backup.
    """

    known: dict[str, Known] = field(default_factory=dict)
    former: dict[str, Stamp] = field(default_factory=dict)
    unfinished: dict[str, Fingerprint] = field(default_factory=dict)
    others: list[Known] = field(default_factory=list)
    older: dict[str, list[str]] = field(default_factory=dict)

    def all_results(self) -> Iterator[Known]:
        """Yield the results of this workflow file and of others."""
        yield from self.known.values()
        yield from self.others


def earlier_in(journal: Iterable[Event | Decision]) -> Earlier:
    """The results and files of this run and of those before it, by the run's journal."""
    known: dict[str, Known] = {}
    former: dict[str, Stamp] = {}
    unfinished: dict[str, Fingerprint] = {}
    tasks: dict[str, Task] = {}
    digests: dict[str, dict[str, str]] = {}
    others: list[Known] = []
    older: dict[str, list[str]] = {}
    there: dict[str, dict[str, dict[str, str]]] = {}  # files in directories before a task wrote into them in place
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
                others += record.others
                older |= record.older
            case records.TasksAdded():
                tasks |= {task.id: task for task in record.tasks}
                _own(known, record, owner)
            case records.InputsRead():
                digests[record.task] = record.digests
                there[record.task] = _not_ours(record.outputs, known.get(record.task))
            case records.Launch() if not tasks[record.task].isolated and not record.remake:
                # It writes in place: its old outputs may now be half overwritten. It may have had others before.
                if (before := known.pop(record.task, None)) is not None:
                    former |= before.outputs
                made = tasks[record.task].outputs
                remember(older, {path: former[path] for path in made if path in former})
                former |= dict.fromkeys(made, UNKNOWN)
                unfinished[record.task] = Fingerprint(tasks[record.task].recipe(), digests.get(record.task, {}))
            case records.TaskEnded() if record.outcome.ending is Ending.SUCCESS:
                task, outputs = record.outcome.task, record.outcome.outputs
                before = known.pop(task, None)
                unfinished.pop(task, None)
                if before is not None:
                    former |= before.outputs
                    remember(older, before.outputs)
                    if task in temporary.remakes:  # only what was gone is new
                        outputs = before.outputs | outputs
                outputs = {path: _without(made, there.get(task, {}).get(path, {})) for path, made in outputs.items()}
                former |= outputs
                if not record.inputs_moved:
                    fingerprint = Fingerprint(tasks[task].recipe(), digests.get(task, {}))
                    known[task] = Known(task, fingerprint, run, outputs, owner=owner)
                    for path in outputs:
                        del former[path]
    known = {task: structs.replace(known[task], temp=temporary.digests.get(task, {})) for task in known}
    return Earlier(known, former, unfinished, others, older)


def _not_ours(outputs: Mapping[str, Stamp], before: Known | None) -> dict[str, dict[str, str]]:
    """Return the files, with their digests, of directories among a task's outputs that its last success did not make.

    They are recorded for a task that is about to write there in place; they may be the user's.
    """
    made = {path: stamp.inside for path, stamp in before.outputs.items()} if before is not None else {}
    return {
        path: {name: digest for name, digest in seen.inside.items() if made.get(path, {}).get(name) != digest}
        for path, seen in outputs.items()
        if seen.inside
    }


def _without(made: Stamp, there: Mapping[str, str]) -> Stamp:
    """Return the stamp of a directory without the files that were there before."""
    if not there:
        return made
    inside = {name: digest for name, digest in made.inside.items() if there.get(name) not in ("", digest)}
    return structs.replace(made, inside=inside)


def remember(older: dict[str, list[str]], outputs: Mapping[str, Stamp]) -> None:
    """Add what files held to what they held before."""
    for path, seen in outputs.items():
        if seen.digest:
            others = [digest for digest in older.get(path, ()) if digest != seen.digest]
            older[path] = [*others, seen.digest][-_MOST_OLDER:]


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
