"""`Engine`: one run's state, and what to do next."""

from __future__ import annotations

from collections import deque
from functools import partial, singledispatchmethod
from itertools import islice
from typing import Literal

from msgspec import structs

from headway.engine.placer import Placer, Unplaceable
from headway.engine.planner import Planner, View
from headway.engine.queue import ReadyQueue
from headway.engine.state import JobStatus, NodeState, Phase, Running, TaskState
from headway.model import records
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, Known, Why
from headway.model.resources import Resources, describe
from headway.model.task import Fingerprint, Task
from headway.model.workflow import Workflow
from headway.ordering.base import Order
from headway.sizing.base import Allocation, Allocator, CannotFit, Context

# How many ready tasks have their files looked at before there is room for them: enough that a free core never waits
# for a look, few enough that a fan-out of 100,000 starts at once.
READ_AHEAD = 256
# A task that was running each time a node died is suspected of killing it.
MOST_LOSSES = 5


class Engine:
    """Facts in, decisions out.

    `apply` is the only place where state changes; `decide` reads the state and says what should happen now. A driver
    journals each decision, applies it, and acts on it. Applying a journal's records again, deciding nothing, rebuilds
    the state, learned sizes included.
    """

    def __init__(
        self, settings: records.RunStarted, allocator: Allocator, order: Order, planner: Planner, placer: Placer
    ) -> None:
        self.settings = settings
        self._allocator = allocator
        self._order = order
        self._planner = planner
        self._placer = placer
        self.workflow = Workflow(settings.name)
        self.tasks: dict[str, TaskState] = {}
        self.nodes: dict[str, NodeState] = {}
        self.jobs: dict[str, JobStatus] = {}
        self.limits = Resources()
        self.known: dict[str, Known] = {}
        self.counts = dict.fromkeys(Phase, 0)
        self.stopping: str | None = None  # how the user wants it to stop
        self.finished: str | None = None
        self._unread = ReadyQueue(partial(self._is_in, Phase.READY), order.category_key)
        self._placeable = ReadyQueue(partial(self._is_in, Phase.PLACEABLE), order.category_key)
        self._verdicts: dict[str, Why] = {}  # tasks to give up
        self._reusable: dict[str, str] = {}  # tasks whose earlier result stands, and the run it is from
        self._overtaken: dict[str, int] = {}
        self._anything_failed = False

    # --- facts and decisions change the state ---

    @singledispatchmethod
    def apply(self, record: Event | Decision) -> None:
        """Take note of a record."""
        raise TypeError(f"not a record: {record!r}")

    @apply.register
    def _(self, record: records.RunStarted) -> None:
        if record != self.settings:
            raise ValueError("an engine serves one run: the one it was made for")

    @apply.register
    def _(self, record: records.ResultsKnown) -> None:
        self.known |= {known.task: known for known in record.results}

    @apply.register
    def _(self, record: records.LimitsRead) -> None:
        self.limits = record.limits
        for state in self.tasks.values():
            if state.phase < Phase.RUNNING:
                self._check_hints(state)

    @apply.register
    def _(self, record: records.TasksAdded) -> None:
        for task in self.workflow.add(record.tasks):
            state = TaskState(task, self._order.task_key(task, len(self.tasks)))
            self.tasks[task.id] = state
            self.counts[Phase.WAITING] += 1
            phases = [self.tasks[parent].phase for parent in task.parents]
            state.unfinished_parents = sum(phase is not Phase.SUCCEEDED for phase in phases)
            if any(phase in (Phase.FAILED, Phase.CUT_OFF) for phase in phases):
                self._enter(state, Phase.CUT_OFF)
            elif not state.unfinished_parents:
                self._make_ready(state)
            self._check_hints(state)

    @apply.register
    def _(self, record: records.InputsRead) -> None:
        state = self.tasks[record.task]
        if state.phase is not Phase.READING:
            return
        state.inputs = record
        state.task = structs.replace(state.task, input_bytes=record.input_bytes)
        self._enter(state, Phase.PLACEABLE)
        if record.missing_inputs:
            missing = record.missing_inputs
            text = f"its input {missing[0]} does not exist"
            if len(missing) > 1:
                text = f"its inputs {', '.join(missing[:3])} do not exist ({len(missing)} in all)"
            self._condemn(state, Why("engine", Ending.MISSING_INPUT, {"missing": ", ".join(missing)}, text))
            return
        self._judge_earlier_result(state, record)

    @apply.register
    def _(self, record: records.TaskEnded) -> None:
        outcome = record.outcome
        state = self.tasks[outcome.task]
        running = state.running
        if running is None or running.attempt != outcome.attempt:
            return  # late news of an attempt that was given up for lost
        self._stop_running(state, running)
        self._allocator.observe(state.task, running.ticket, outcome)
        self._order.observe(state.task, outcome)
        if outcome.ending is Ending.SUCCESS:
            self._succeed(state)
        else:
            self._failed_attempt(state, running, outcome)

    @apply.register
    def _(self, record: records.JobState) -> None:
        self.jobs[record.tag].phase = record.phase

    @apply.register
    def _(self, record: records.NodeUp) -> None:
        self.nodes[record.node] = NodeState(record.node, record.tag, record.capacity)

    @apply.register
    def _(self, record: records.NodeLost) -> None:
        node = self.nodes.get(record.node)
        if node is None:
            return
        for task_id in sorted(node.running, key=lambda task_id: self.tasks[task_id].key):
            state = self.tasks[task_id]
            state.running = None
            state.losses += 1
            self._requeue(state)
            if state.losses >= MOST_LOSSES:
                text = f"{state.losses} nodes died while it was running there"
                self._condemn(state, Why("engine", "kills-nodes", {"losses": state.losses}, text))
        del self.nodes[record.node]

    @apply.register
    def _(self, record: records.UserCancel) -> None:
        self.stopping = record.mode

    @apply.register
    def _(self, record: records.Resumed) -> None:
        self.stopping = None
        self.finished = None
        for state in self.tasks.values():
            if state.phase is Phase.READING:  # whoever was looking is gone
                self._make_ready(state)

    @apply.register
    def _(self, record: records.Submit) -> None:
        self.jobs[record.tag] = JobStatus(record.tag, record.request)

    @apply.register
    def _(self, record: records.Release) -> None:
        self.jobs[record.tag].released = True
        for node in [node for node in self.nodes.values() if node.tag == record.tag]:
            del self.nodes[node.name]

    @apply.register
    def _(self, record: records.ReadInputs) -> None:
        self._enter(self.tasks[record.task], Phase.READING)

    @apply.register
    def _(self, record: records.Reuse) -> None:
        del self._reusable[record.task]
        self._succeed(self.tasks[record.task])

    @apply.register
    def _(self, record: records.Launch) -> None:
        state = self.tasks[record.task]
        state.attempts = record.attempt
        state.running = Running(record.attempt, record.node, record.resources, record.ticket, record.at)
        node = self.nodes[record.node]
        node.free -= record.resources
        node.running.add(record.task)
        self._enter(state, Phase.RUNNING)
        self._overtaken.pop(record.task, None)
        if record.overtook:
            self._overtaken[record.overtook] = self._overtaken.get(record.overtook, 0) + 1

    @apply.register
    def _(self, record: records.Kill) -> None:
        running = self.tasks[record.task].running
        if running and running.attempt == record.attempt:
            running.being_killed = True

    @apply.register
    def _(self, record: records.GiveUp) -> None:
        self._verdicts.pop(record.task, None)
        self._anything_failed = True
        self._enter(self.tasks[record.task], Phase.FAILED)
        below = deque(self.workflow.children[record.task])
        while below:
            state = self.tasks[below.popleft()]
            if state.phase is not Phase.CUT_OFF:
                self._verdicts.pop(state.task.id, None)
                self._enter(state, Phase.CUT_OFF)
                below.extend(self.workflow.children[state.task.id])

    @apply.register
    def _(self, record: records.Finish) -> None:
        self.finished = record.status

    # --- how a task moves on ---

    def _is_in(self, phase: Phase, task_id: str) -> bool:
        return self.tasks[task_id].phase is phase

    def _enter(self, state: TaskState, phase: Phase) -> None:
        self.counts[state.phase] -= 1
        self.counts[phase] += 1
        state.phase = phase

    def _make_ready(self, state: TaskState) -> None:
        self._enter(state, Phase.READY)
        self._unread.push((state.task.category, ""), state.key, state.task.id)

    def _judge_earlier_result(self, state: TaskState, read: records.InputsRead) -> None:
        """Whether what an earlier run left still stands; if not, why the task runs."""
        known = self.known.get(state.task.id)
        if self.settings.again:
            state.because = "everything runs again (--again)"
        elif known is None:
            state.because = "no earlier result"
        else:
            changes = self.fingerprint(state).changes_since(known.fingerprint)
            changes += [f"output {path} is missing" for path in read.missing_outputs]
            if not changes:
                self._reusable[state.task.id] = known.run
                return
            state.because = ", ".join(changes[:3]) + (f" and {len(changes) - 3} more" if len(changes) > 3 else "")
        self._requeue(state)

    def fingerprint(self, state: TaskState) -> Fingerprint:
        """What the task's result is the result of; known once its inputs were read."""
        return Fingerprint(state.task.recipe(), state.inputs.digests if state.inputs else {})

    def _requeue(self, state: TaskState) -> None:
        self._enter(state, Phase.PLACEABLE)
        own_lane = state.task.id if state.exhausted else ""
        self._placeable.push((state.task.category, own_lane), state.key, state.task.id)

    def _stop_running(self, state: TaskState, running: Running) -> None:
        state.running = None
        node = self.nodes.get(running.node)
        if node:
            node.free += running.resources
            node.running.discard(state.task.id)

    def _succeed(self, state: TaskState) -> None:
        self._enter(state, Phase.SUCCEEDED)
        for child in self.workflow.children[state.task.id]:
            below = self.tasks[child]
            below.unfinished_parents -= 1
            if not below.unfinished_parents and below.phase is Phase.WAITING:
                self._make_ready(below)

    def _failed_attempt(self, state: TaskState, running: Running, outcome: Outcome) -> None:
        resource = outcome.ending.exhausted
        if resource:
            given = running.resources[resource]
            state.exhausted = state.exhausted or {}
            state.exhausted.setdefault(resource, []).append(given or 0)
        elif not outcome.ending.blameless:
            state.errors += 1
        self._requeue(state)
        if resource:
            verdict = self._allocate(state.task.id)
            if isinstance(verdict, CannotFit):
                self._condemn(state, _does_not_fit(verdict))
        elif state.errors > state.task.retries:
            text = outcome.message or f"it ended with {outcome.ending}"
            figures: dict[str, records.Figure] = {"errors": state.errors, "retries": state.task.retries}
            self._condemn(state, Why("engine", str(outcome.ending), figures, text))

    def _condemn(self, state: TaskState, verdict: Why) -> None:
        if state.phase < Phase.RUNNING:
            self._verdicts[state.task.id] = verdict

    def _check_hints(self, state: TaskState) -> None:
        """A task that asks for more than there is can never run: say so before anything else runs."""
        if not self.limits.cores:  # not read yet
            return
        for resource, hint in state.task.hints.items():
            limit = self.limits[resource]
            if limit is not None and hint > limit:
                why = Why("user", "hint", {"hint": hint, "limit": limit})
                self._condemn(state, _does_not_fit(CannotFit(resource, hint, limit, why)))

    def is_running(self, task_id: str, attempt: int) -> bool:
        """Whether that attempt is under way, as far as is known."""
        running = self.tasks[task_id].running
        return running is not None and running.attempt == attempt

    # --- what to do next ---

    def decide(self, now: float) -> list[Decision]:
        """What should happen now. Call it again after its decisions were applied: one thing leads to another."""
        if self.finished:
            return []
        decisions: list[Decision] = [
            records.GiveUp(now, task_id, verdict) for task_id, verdict in self._verdicts.items()
        ]
        decisions += [records.Reuse(now, task_id, run) for task_id, run in self._reusable.items()]
        if self.stopping == "now":
            decisions += self._kills(now)
        if decisions:  # they may change what is ready; placing comes after
            return decisions
        if not self._winding_down:
            decisions += self._reads(now)
            decisions += self._launches(now)
        unfinished = 0 if self._over else sum(self.counts[phase] for phase in Phase if phase <= Phase.RUNNING)
        wanting = 0 if self._over else self.counts[Phase.PLACEABLE] + self.counts[Phase.RUNNING]
        view = View(self.settings.uid, unfinished, wanting, self.jobs.values(), self.limits)
        decisions += self._planner.plan(view, now)
        if self._over and not decisions:
            decisions.append(records.Finish(now, self._status()))
        return decisions

    @property
    def _winding_down(self) -> bool:
        """Whether nothing new is to be started."""
        return self.stopping is not None or (self._anything_failed and not self.settings.keep_going)

    @property
    def _over(self) -> bool:
        """Whether nothing runs and nothing more is to be started."""
        unfinished = sum(self.counts[phase] for phase in Phase if phase < Phase.RUNNING)
        return not self.counts[Phase.RUNNING] and (not unfinished or self._winding_down)

    def _status(self) -> Literal["succeeded", "failed", "stopped"]:
        if self._anything_failed:
            return "failed"
        return "succeeded" if self.counts[Phase.SUCCEEDED] == len(self.tasks) else "stopped"

    def _kills(self, now: float) -> list[Decision]:
        why = Why("user", "stop-now")
        running = ((task_id, self.tasks[task_id].running) for node in self.nodes.values() for task_id in node.running)
        return [
            records.Kill(now, task_id, run.attempt, why) for task_id, run in running if run and not run.being_killed
        ]

    def _reads(self, now: float) -> list[Decision]:
        room = READ_AHEAD - self.counts[Phase.READING] - self.counts[Phase.PLACEABLE]
        with self._unread.walk() as ready:
            return [records.ReadInputs(now, task_id) for _, task_id in islice(ready, max(0, room))]

    def _launches(self, now: float) -> list[Decision]:
        if not self.nodes:
            return []
        with self._placeable.walk() as ready:
            placed = self._placer.place(ready, self._allocate, self.nodes.values(), self._overtaken)
        decisions: list[Decision] = []
        for placement in placed:
            if isinstance(placement, Unplaceable):
                decisions.append(records.GiveUp(now, placement.task, _does_not_fit(placement.verdict)))
                continue
            state, allocation, node = self.tasks[placement.task], placement.allocation, placement.node
            decisions.append(
                records.Launch(
                    now,
                    placement.task,
                    state.attempts + 1,
                    node.name,
                    node.tag,
                    allocation.resources,
                    state.because,
                    allocation.why,
                    allocation.ticket,
                    placement.overtook,
                )
            )
        return decisions

    def _allocate(self, task_id: str) -> Allocation | CannotFit:
        state = self.tasks[task_id]
        context = Context(self.limits, (self.settings.seed, "", task_id, state.attempts + 1))
        return self._allocator.allocate(state.task, state.exhausted or {}, context)


def _does_not_fit(verdict: CannotFit) -> Why:
    """The sentence that tells what is needed and what there is."""
    needs = describe(verdict.resource, verdict.needed)
    has = describe(verdict.resource, verdict.available)
    figures: dict[str, records.Figure] = {
        "resource": verdict.resource,
        "needed": verdict.needed,
        "available": verdict.available,
    }
    lead = f"{verdict.why.text}: " if verdict.why.text else ""
    return Why(verdict.why.policy, "cannot-fit", figures, f"{lead}it needs {needs}, and one task can have {has} here")


def running_attempts(engine: Engine) -> list[tuple[Task, Running]]:
    """The attempts that the engine believes to be under way."""
    states = (engine.tasks[task_id] for node in engine.nodes.values() for task_id in sorted(node.running))
    return [(state.task, state.running) for state in states if state.running]
