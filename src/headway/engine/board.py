"""The phase of every task of a run, and the moves between phases."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

from msgspec import structs

from headway.engine.queue import SharedQueues
from headway.engine.state import Part, Phase, TaskState
from headway.model.job import Wish
from headway.model.outcome import Ending, Stamp
from headway.model.records import InputsRead, Known, Quote, ResultsKnown, Why
from headway.model.task import Fingerprint, Task, is_pattern
from headway.model.workflow import Workflow, folders_above, matching, reads
from headway.ordering.base import Order
from headway.ordering.fair import FairShares

_MOST_REASONS = 3
_LOOKED_AT = (Phase.READING, Phase.PLACEABLE)
# Pools and services live for weeks. Of the attempts of other runs that are over, this many are remembered, for late
# news of them; of a service's commands fewer, whose news come from this run's own supervisors.
REMEMBERED = 10_000
REMEMBERED_COMMANDS = 1_000


class Board:
    """All tasks with their phases, the queues of ready tasks, and the tasks to give up or to reuse."""

    def __init__(self, name: str, order: Order, kept: Iterable[str] = (), fair: FairShares | None = None) -> None:
        self.workflow = Workflow(name)
        self.fair = fair or FairShares()
        self.tasks: dict[str, TaskState] = {}
        self.counts = dict.fromkeys(Phase, 0)
        self.wishes: set[Wish] = set()  # that the site knows of; others have no effect
        self.left: Counter[Part] = Counter()  # tasks that are running or may still have to run
        self.begun: Counter[Part] = Counter()  # those of them that are ready or running
        self.when_begun: Callable[[Wish | None], None] = lambda wish: None
        # Tasks that only need room, by wish, in the order in which they became so.
        self._wanting: dict[Wish | None, dict[str, None]] = {}
        # Tasks whose files are being or have been read, by category and share.
        self.looked_at: Counter[tuple[str, str]] = Counter()
        self.running: Counter[str] = Counter()  # tasks that are running, by category
        self.running_new = 0  # those whose category is not seen
        self.seen: set[str] = set()  # categories of which an attempt has succeeded, here or in an earlier run
        self.known: dict[str, Known] = {}  # results of earlier runs
        self.earlier = ResultsKnown(0.0, [])
        self._made: dict[str, list[Stamp]] | None = None  # what earlier runs made, by path; read when it is asked for
        self.orphans: Collection[str] = ()  # files that earlier runs made and that no task makes now
        self.begun_in_place: dict[str, Fingerprint] = {}  # tasks that earlier runs began to run in place
        self.quotes: dict[str, Quote] = {}  # amounts that were promised, by the name that tasks have for them
        has_keys = type(order).category_key is not Order.category_key
        category_key = order.category_key if has_keys else None
        self.unread = SharedQueues(partial(self._is_in, Phase.READY), category_key)
        self.placeable = SharedQueues(partial(self._is_in, Phase.PLACEABLE), category_key)
        self.verdicts: dict[str, Why] = {}  # tasks to give up, and the explanation
        self.reusable: dict[str, str] = {}  # tasks with a valid result of an earlier run, and that run
        self.remakes: dict[str, str] = {}  # tasks to run for a temporary output, and the task that reads it
        self.discards: dict[str, str] = {}  # temporary outputs to delete, and the tasks that made them
        self.discarding: dict[str, str] = {}  # those that are being deleted
        self._kept = frozenset(kept)
        self._readers: dict[str, set[str]] = {}  # tasks that read a temporary output and have not succeeded
        self._order = order
        self._arrivals = 0
        # Tasks on which no other will depend, in the order of their ends: those that stand for attempts of other runs,
        # and commands.
        self._over: deque[str] = deque()
        self._over_commands: deque[str] = deque()

    def _is_in(self, phase: Phase, task_id: str) -> bool:
        state = self.tasks.get(task_id)  # None: an old entry of a task that was forgotten
        return state is not None and state.phase is phase

    def unfinished(self) -> int:
        """The number of tasks that are running or may still have to run."""
        return sum(self.counts[phase] for phase in Phase if phase <= Phase.RUNNING)

    def unfinished_with(self, wish: Wish | None) -> int:
        """The tasks with a wish that need not wait for all of those with another."""
        return sum(count for part, count in self.left.items() if part[0] == wish and self.begun[part])

    def is_near(self, state: TaskState, wish: Wish | None) -> bool:
        """Whether a task is one of those that `unfinished_with` counts."""
        return state.part[0] == wish and self.begun[state.part] > 0

    def wanting(self, wish: Wish | None) -> dict[str, None]:
        """The tasks with a wish that only need room, in the order in which they became so."""
        return self._wanting.get(wish, {})

    def enter(self, state: TaskState, phase: Phase) -> None:
        """Move a task to a phase."""
        self.counts[state.phase] -= 1
        self.counts[phase] += 1
        if phase is Phase.PLACEABLE:
            self._wanting.setdefault(state.part[0], {}).setdefault(state.task.id)
        elif state.phase is Phase.PLACEABLE:
            del self._wanting[state.part[0]][state.task.id]
        if self.wishes:
            self._count(state, phase)
        if self.fair.active:
            self._count_in_share(state, phase)
        task = state.task
        if change := (phase in _LOOKED_AT) - (state.phase in _LOOKED_AT):
            self.looked_at[task.category, task.terms.share] += change
        if change := (phase is Phase.RUNNING) - (state.phase is Phase.RUNNING):
            self.running[task.category] += change
            self.running_new += change if task.category not in self.seen else 0
        state.phase = phase
        if phase > Phase.RUNNING and task.work is not None:
            self._over.append(task.id)
        elif phase > Phase.RUNNING and task.terms.forget:
            self._over_commands.append(task.id)

    def see(self, category: str) -> None:
        """Note that an attempt of a category has succeeded."""
        if category not in self.seen:
            self.seen.add(category)
            self.running_new -= self.running[category]

    def _count(self, state: TaskState, phase: Phase) -> None:
        """Count a task in its part of the workflow, before it enters a phase."""
        part, before = state.part, state.phase
        self.left[part] += (phase <= Phase.RUNNING) - (before <= Phase.RUNNING)
        change = (Phase.READY <= phase <= Phase.RUNNING) - (Phase.READY <= before <= Phase.RUNNING)
        self.begun[part] += change
        if change > 0 and self.begun[part] == 1:
            self.when_begun(part[0])

    def _count_in_share(self, state: TaskState, phase: Phase) -> None:
        """Count a task on its share, before it enters a phase."""
        task, before = state.task, state.phase
        if phase is Phase.RUNNING and state.running is not None:
            self.fair.launched(task.id, task.terms.share, state.running.resources)
        elif before is Phase.RUNNING:
            self.fair.ended(task.id)
        change = (Phase.READY <= phase <= Phase.PLACEABLE) - (Phase.READY <= before <= Phase.PLACEABLE)
        if change:
            self.fair.waits(task.terms.share, change)
        change = (phase <= Phase.RUNNING) - (before <= Phase.RUNNING)
        if change:
            self.fair.left(task.terms.share, change)

    def _join(self, tasks: Iterable[Task]) -> None:
        """Take note of the shares of new tasks; with the first of all, of the tasks so far, which name none."""
        shares = dict.fromkeys(task.terms.share for task in tasks)
        if not self.fair.active and any(shares) and self.tasks:
            self.fair.join("")
            for state in self.tasks.values():
                if state.running is not None:
                    self.fair.launched(state.task.id, "", state.running.resources)
                elif Phase.READY <= state.phase <= Phase.PLACEABLE:
                    self.fair.waits("", 1)
                if state.phase <= Phase.RUNNING:
                    self.fair.left("", 1)
        if self.fair.active or any(shares):
            for share in shares:
                self.fair.join(share)

    def know(self, wish: Wish) -> None:
        """Heed a wish of tasks to come; with the first of all, begin to count tasks by parts."""
        if not self.wishes:
            for state in self.tasks.values():
                self.left[state.part] += state.phase <= Phase.RUNNING
                self.begun[state.part] += Phase.READY <= state.phase <= Phase.RUNNING
        self.wishes.add(wish)

    def part_of(self, task: Task) -> Part:
        """Which tasks a new one is planned together with."""
        wish = task.wish if task.wish in self.wishes else None
        above = (self.tasks[parent].part for parent in task.parents)
        return wish, max((number + (other != wish) for other, number in above), default=0)

    def add(self, tasks: Iterable[Task]) -> list[TaskState]:
        """Add tasks; those without unfinished parents become ready."""
        self._forget(self._over, REMEMBERED)
        self._forget(self._over_commands, REMEMBERED_COMMANDS)
        added = []
        completed = self.workflow.add(tasks)
        self._order.added(completed, self.workflow)
        self._join(completed)
        for task in completed:
            state = TaskState(task, expiries=task.work.expiries if task.work else 0)
            if self.wishes:
                state.part = self.part_of(task)
                self.left[state.part] += 1
            self.tasks[task.id] = state
            self.counts[Phase.WAITING] += 1
            if self.fair.active:
                self.fair.left(task.terms.share, 1)
            phases = [self.tasks[parent].phase for parent in task.parents]
            state.unfinished_parents = sum(phase is not Phase.SUCCEEDED for phase in phases)
            self._note_reader(task)
            if any(phase in (Phase.FAILED, Phase.CUT_OFF) for phase in phases):
                self.enter(state, Phase.CUT_OFF)
            elif not state.unfinished_parents:
                self.make_ready(state)
            added.append(state)
        return added

    def _forget(self, over: deque[str], remembered: int) -> None:
        """Forget the tasks that ended first, with the amounts that they were promised."""
        while len(over) > remembered:
            task_id = over.popleft()
            self.quotes.pop(self.tasks.pop(task_id).task.terms.quote, None)
            self.workflow.forget(task_id)

    def _note_reader(self, task: Task) -> None:
        """Keep the temporary outputs that a task reads until it has succeeded; of a task it names, all of them."""
        for above in (self.tasks[parent].task for parent in task.parents):
            for path in above.temp:
                if reads(task, path) or not any(reads(task, other) for other in above.outputs):
                    self._readers.setdefault(path, set()).add(task.id)
                    self.discards.pop(path, None)

    def make_ready(self, state: TaskState) -> None:
        """Mark a task as ready: its parents are done, its files have not been read."""
        self.enter(state, Phase.READY)
        self._arrive(state)
        self.unread.push((state.task.category, False, "", state.task.terms.share), state.key, state.task.id)

    def _arrive(self, state: TaskState) -> None:
        """Give the task its sort key in the ready queue."""
        self._arrivals += 1
        failures = state.errors + sum(map(len, (state.exhausted or {}).values()))
        state.key = (-state.task.priority, *self._order.task_key(state.task, failures, self._arrivals))

    def inputs_read(self, read: InputsRead, rerun: str) -> None:
        """Take the state of a task's files: the task fails, its earlier result is reused, or it becomes placeable.

        `rerun` says why it runs although nothing changed; empty if it does not.
        """
        state = self.tasks[read.task]
        if state.phase is not Phase.READING:
            return
        state.inputs = read.inputs
        state.stale = self._stale(state.task, read)
        # Of a task without declared inputs its submitter may know how much it reads.
        state.task = structs.replace(state.task, input_bytes=read.input_bytes or state.task.input_bytes or 0)
        self.workflow.tasks[read.task] = state.task  # plans have to expect the same run time as the placer
        self.enter(state, Phase.PLACEABLE)
        if read.missing_inputs:
            self.condemn(state, _missing_inputs(read.missing_inputs, self.orphans))
            return
        known = self.known.get(state.task.id)
        state.gone = frozenset(path for path in read.missing_outputs if path in state.task.temp)
        if rerun:
            state.because = rerun
        elif known is None:
            state.because = "no earlier result"
        else:
            now = Fingerprint(state.task.recipe(), read.digests)
            changes = now.changes_since(known.fingerprint, known.config_changes)
            changes += [f"output {path} is missing" for path in read.missing_outputs if path not in state.gone]
            changes += [
                f"output {path} was changed by another program"
                for path, stamp in known.outputs.items()
                if path in read.outputs and not read.outputs[path].holds_same(stamp)
            ]
            if not changes and state.remade_for and state.gone:
                changes = [f"its temporary output {min(state.gone)} is needed by {state.remade_for}"]
            elif not changes:
                self.reusable[state.task.id] = known.run
                return
            else:
                state.remade_for = ""
            more = f" and {len(changes) - _MOST_REASONS} more" if len(changes) > _MOST_REASONS else ""
            state.because = ", ".join(changes[:_MOST_REASONS]) + more
        if read.deleted:
            self._want_again(state, read.deleted)
        else:
            self._queue(state)

    def made_before(self, task: Task) -> dict[str, Sequence[Stamp]]:
        """Return those of the task's outputs that earlier runs made, as they were then.

        A task that writes in place must not find what any task made there before.
        """
        if task.isolated and (known := self.known.get(task.id)) is not None:
            return {path: (before,) for path, before in known.outputs.items()}
        if self._made is None:
            self._made = _made_by_path(self.earlier)
        return {path: self._made[path] for path in task.outputs if path in self._made}

    def _stale(self, task: Task, read: InputsRead) -> tuple[str, ...]:
        """Return outputs that earlier runs made, and that an empty directory would not have.

        A task in the workflow's directory must not find them; a directory may give way to a file. A task in place that
        began before, and is the same now, goes on with them. Of a directory in which the user has files, too, these are
        the files that earlier runs made.
        """
        begun = self.begun_in_place.get(task.id)
        if begun is not None and not Fingerprint(task.recipe(), read.digests).changes_since(begun):
            return ()
        made = self.made_before(task)
        stale: list[str] = []
        for path, seen in read.outputs.items():
            ours = made.get(path, ())
            if seen.inside and not task.isolated:
                stale += [
                    f"{path}/{name}"
                    for name, digest in seen.inside.items()
                    if any(before.inside.get(name) == digest for before in ours)
                ]
            elif seen.is_among(ours):
                stale.append(path)
        return tuple(stale)

    def _want_again(self, state: TaskState, paths: Iterable[str]) -> None:
        """Let a task that has to run wait for temporary files that are gone, or read its files again."""
        producer = self.workflow.producer
        makers = {producer[each] for path in paths for each in (path, *folders_above(path)) if each in producer}
        idle = {maker for maker in makers if self.tasks[maker].phase is Phase.SUCCEEDED}
        made = {maker for maker in idle if self.tasks[maker].attempts}
        if made == makers and state.reread:
            self.condemn(state, _missing_inputs(list(paths), ()))
        elif made == makers:  # while this task's files were read
            state.reread = True
            self.make_ready(state)
        else:
            self.enter(state, Phase.WAITING)
            self.remakes |= dict.fromkeys(sorted(idle - made), state.task.id)

    def remake(self, task_id: str, reader: str) -> None:
        """Make a task ready whose result stands; tasks that depend on it wait for it again."""
        self.remakes.pop(task_id, None)
        state = self.tasks[task_id]
        state.remade_for = reader
        self._note_reader(state.task)
        for child in self.workflow.children[task_id]:
            self.tasks[child].unfinished_parents += 1
        self.make_ready(state)

    def requeue(self, state: TaskState, *, failed: bool = False) -> None:
        """Make the task placeable again. A failed task gets a new sort key; a task that was only lost keeps its own.

        One that stands for an attempt of another run is over: that run decides about the next attempt.
        """
        if state.withdrawn or state.task.work is not None:
            self.cut_off([state.task.id])
            return
        if failed:
            self._arrive(state)
        self._queue(state)

    def _queue(self, state: TaskState) -> None:
        self.enter(state, Phase.PLACEABLE)
        troubled = bool(state.exhausted or state.losses or state.gpu_bytes_lacked)
        lane = (state.task.category, troubled, str(state.part[0] or ""), state.task.terms.share)
        self.placeable.push(lane, state.key, state.task.id)

    def succeed(self, state: TaskState) -> None:
        """Mark the task as done; children without other unfinished parents become ready."""
        self.enter(state, Phase.SUCCEEDED)
        self._drop_temporary(state)
        for child in self.workflow.children[state.task.id]:
            below = self.tasks[child]
            below.unfinished_parents -= 1
            if not below.unfinished_parents and below.phase is Phase.WAITING:
                self.make_ready(below)

    def _drop_temporary(self, state: TaskState) -> None:
        """Note which temporary outputs no task has to read any more, now that this one has succeeded."""
        unread = [(path, state) for path in state.task.temp if self._readers.get(path) == set()]  # if it was made again
        for above in map(self.tasks.__getitem__, state.task.parents):
            for path in above.task.temp:
                readers = self._readers.get(path, set())
                if state.task.id in readers:
                    readers.remove(state.task.id)
                    unread += [(path, above)] * (not readers)
        for path, maker in unread:
            if path not in self._kept and path not in maker.gone:
                self.discards[path] = maker.task.id

    def condemn(self, state: TaskState, verdict: Why) -> None:
        """Note that a task cannot succeed any more; `Engine.decide` then gives it up."""
        if state.phase < Phase.RUNNING:
            self.verdicts[state.task.id] = verdict

    def give_up(self, task_id: str, phase: Phase) -> None:
        """Let a task enter its last phase, and cut off all tasks that depend on it."""
        self.verdicts.pop(task_id, None)
        self.enter(self.tasks[task_id], phase)
        self.cut_off(self.workflow.children[task_id])

    def cut_off(self, task_ids: Iterable[str]) -> None:
        """Cut off tasks and all tasks that depend on them: they will not run."""
        below = deque(task_ids)
        while below:
            state = self.tasks[below.popleft()]
            if state.phase not in (Phase.FAILED, Phase.CUT_OFF, Phase.SUCCEEDED) and state.running is None:
                self.verdicts.pop(state.task.id, None)
                self.reusable.pop(state.task.id, None)
                self.enter(state, Phase.CUT_OFF)
                below.extend(self.workflow.children[state.task.id])


def _missing_inputs(missing: list[str], orphans: Collection[str]) -> Why:
    text = f"its input {missing[0]} does not exist or cannot be read"
    if len(missing) > 1:
        text = f"its inputs {', '.join(missing[:3])} do not exist or cannot be read ({len(missing)} in all)"
    if fit := [path for each in missing for path in orphans if is_pattern(each) and any(matching(each, [path]))]:
        what = f"{fit[0]}, which fits, was" if len(fit) == 1 else f"{len(fit):,} files that fit were"
        text += (
            f": {what} made by earlier runs, and no workflow file here makes {'it' if len(fit) == 1 else 'them'} now"
        )
    return Why("engine", Ending.MISSING_INPUT, {"missing": ", ".join(missing)}, text)


def _made_by_path(earlier: ResultsKnown) -> dict[str, list[Stamp]]:
    """Return what earlier runs made, by path; where the user had files before, only what we made beside them."""
    made: dict[str, list[Stamp]] = {}
    for result in (*earlier.results, *earlier.others):
        for path, before in result.outputs.items():
            made.setdefault(path, []).append(before)
    for path, before in earlier.former.items():
        made.setdefault(path, []).append(before)
    for path, digests in earlier.older.items():
        made.setdefault(path, []).extend(Stamp(-1, 0, digest) for digest in digests)
    for path in earlier.theirs:
        made[path] = [Stamp(-1, 0, "", before.inside) for before in made.get(path, ()) if before.inside]
    return made
