"""What a journal says of results and files: which results the next run here need not compute again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from msgspec import Struct, field, structs

from headway.model import records
from headway.model.deferred import may_make
from headway.model.outcome import Ending, Outcome, Stamp
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
    from a backup. `theirs` are outputs of tasks that write in place which are the user's, since they were there before;
    of a directory, the names of such files in it.
    """

    known: dict[str, Known] = field(default_factory=dict)
    former: dict[str, Stamp] = field(default_factory=dict)
    unfinished: dict[str, Fingerprint] = field(default_factory=dict)
    others: list[Known] = field(default_factory=list)
    older: dict[str, list[str]] = field(default_factory=dict)
    theirs: dict[str, list[str]] = field(default_factory=dict)

    def all_results(self) -> Iterator[Known]:
        """Yield the results of this workflow file and of others."""
        yield from self.known.values()
        yield from self.others


def earlier_in(journal: Iterable[Event | Decision]) -> Earlier:
    """The results and files of this run and of those before it, by the run's journal."""
    reading = _Reading()
    for record in journal:
        reading.apply(record)
    return reading.earlier()


class _Reading:
    """Takes the records of a run one after the other."""

    def __init__(self) -> None:
        self._found = Earlier()
        self._tasks: dict[str, Task] = {}
        self._digests: dict[str, dict[str, str]] = {}
        self._temporary = _Temporary()
        self._run = ""
        self._owner: str | None = None

    def apply(self, record: Event | Decision) -> None:
        self._temporary.apply(record)
        match record:
            case records.RunStarted():
                self._run, self._owner = record.run, record.owner or None
            case records.ResultsKnown():
                known = {result.task: result for result in record.results}
                former, unfinished, others = dict(record.former), dict(record.unfinished), list(record.others)
                self._found = Earlier(known, former, unfinished, others, dict(record.older), dict(record.theirs))
            case records.TasksAdded():
                self._tasks |= {task.id: task for task in record.tasks}
                _own(self._found.known, record, self._owner)
            case records.InputsRead():
                self._digests[record.task] = record.digests
                self._note_theirs(record)
            case records.Launch() if not self._tasks[record.task].isolated and not record.remake:
                self._begins_in_place(record.task)
            case records.TaskEnded() if record.outcome.ending is Ending.SUCCESS:
                self._succeeds(record)
            case records.TaskEnded():
                self._fails(record)

    def earlier(self) -> Earlier:
        """What was left."""
        temp, former, known = self._temporary.digests, dict(self._found.former), {}
        for task, result in self._found.known.items():
            if task in self._temporary.spoilt:
                former |= result.outputs
            else:
                known[task] = structs.replace(result, temp=temp.get(task, {}))
        return structs.replace(self._found, known=known, former=former)

    def _note_theirs(self, read: records.InputsRead) -> None:
        """Note which outputs of a task that is about to write in place are the user's."""
        task = self._tasks[read.task]
        for path in task.outputs if not task.isolated else ():
            self._found.theirs.pop(path, None)
            if path in read.theirs:
                self._found.theirs[path] = read.theirs[path]

    def _begins_in_place(self, task_id: str) -> None:
        """Its old outputs may now be half overwritten. It may have had others before."""
        task, found = self._tasks[task_id], self._found
        if (before := found.known.pop(task_id, None)) is not None:
            found.former.update(before.outputs)
        made = [path for path in task.outputs if path not in found.theirs]
        remember(found.older, {path: found.former[path] for path in made if path in found.former})
        found.former.update(dict.fromkeys(made, UNKNOWN))
        found.unfinished[task_id] = self._fingerprint(task_id)

    def _succeeds(self, record: records.TaskEnded) -> None:
        task, outputs, found = record.outcome.task, record.outcome.outputs, self._found
        before = found.known.pop(task, None)
        found.unfinished.pop(task, None)
        if before is not None:
            found.former.update(before.outputs)
            remember(found.older, before.outputs)
            if task in self._temporary.remakes:  # only what was gone is new
                outputs = before.outputs | outputs
        for path in outputs if self._tasks[task].isolated else ():
            found.theirs.pop(path, None)
        outputs = {path: _without(made, found.theirs.get(path, ())) for path, made in outputs.items()}
        found.former.update(outputs)
        if not record.inputs_moved:
            found.known[task] = Known(task, self._fingerprint(task), self._run, outputs, owner=self._owner)
            for path in outputs:
                del found.former[path]

    def _fails(self, record: records.TaskEnded) -> None:
        """What it wrote in place it wrote before now."""
        until, former = Stamp(-1, int(record.outcome.ended_at * 1e9)), self._found.former
        outputs = self._tasks[record.outcome.task].outputs
        former.update({path: until for path in outputs if former.get(path) == UNKNOWN})

    def _fingerprint(self, task_id: str) -> Fingerprint:
        return Fingerprint(self._tasks[task_id].recipe(), self._digests.get(task_id, {}))


def _without(made: Stamp, theirs: Collection[str]) -> Stamp:
    """Return the stamp of a directory without the user's files in it."""
    not_ours = set(theirs) & made.inside.keys()
    if not not_ours:
        return made
    return structs.replace(made, inside={name: made.inside[name] for name in made.inside if name not in not_ours})


def remember(older: dict[str, list[str]], outputs: Mapping[str, Stamp]) -> None:
    """Add what files, also those in directories, held to what they held before."""
    for path, seen in outputs.items():
        held = {path: seen.digest, **{f"{path}/{name}": digest for name, digest in seen.inside.items()}}
        for each, digest in held.items():
            if digest:
                others = [other for other in older.get(each, ()) if other != digest]
                older[each] = [*others, digest][-_MOST_OLDER:]


def is_unknown(seen: Stamp) -> bool:
    """Whether a file may have any content, since a task may have written it in place."""
    return seen.size_bytes < 0 and not seen.digest


def orphans_among(
    paths: Iterable[str], journal: Iterable[Event | Decision], is_folder: Callable[[str], bool]
) -> list[str]:
    """Return the files of earlier runs that certainly belong to no task of a run's workflow, by the run's journal.

    `paths` are files that no task of the run makes, as far as the tasks were known when it started. An entry whose
    tasks are not known, because another task failed or was not chosen, may still make a file; so may a program that
    was stopped before it had added all of its tasks. The journal of an earlier version of Headway may not tell which
    tasks are unknown: then no file is certain to be an orphan. A file that an input names in full is none either.
    """
    made: set[str] = set()
    asked: set[str] = set()  # inputs as they are given: a file that a task names is used
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
                asked.update(path for task in record.tasks for path in task.inputs)
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
        and path not in asked
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
    """What was read of the temporary outputs of each task: their digests. Made again, they count as what they were.

    The result of a task is spoilt if another one has read something else than it made, since a program has changed it.
    """

    def __init__(self) -> None:
        self.digests: dict[str, dict[str, str]] = {}
        self.remakes: set[str] = set()
        self.spoilt: set[str] = set()
        self._makers: dict[str, str] = {}
        self._made: dict[str, str] = {}  # digests of temporary outputs, and of files in them

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
                            if self._made.get(path, digest) != digest:
                                self.spoilt.add(self._makers[above])
            case records.Launch() if record.remake:
                self.remakes.add(record.task)
            case records.TaskEnded() if record.outcome.ending is Ending.SUCCESS:
                if record.outcome.task not in self.remakes:
                    self.digests.pop(record.outcome.task, None)
                    self._note_made(record.outcome)

    def _note_made(self, outcome: Outcome) -> None:
        self.spoilt.discard(outcome.task)
        for path, made in outcome.outputs.items():
            if self._makers.get(path) == outcome.task:
                self._made |= {f"{path}/{name}": digest for name, digest in made.inside.items()}
                self._made |= {path: made.digest} if made.digest else {}
