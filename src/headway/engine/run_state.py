"""`RunState`: what is known of one run, and how each record changes it."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from functools import singledispatchmethod

from msgspec import Struct

from headway.engine.allocations import Allocations, Asked
from headway.engine.bad_nodes import BadNodes
from headway.engine.board import Board
from headway.engine.failures import Failures
from headway.engine.foreseen import ForeseenWork
from headway.engine.gpu_memory import GpuMemory
from headway.engine.launching import Launching, does_not_fit
from headway.engine.state import NodeState, Phase, Running, TaskState
from headway.engine.tasks_to_come import TasksToCome
from headway.engine.thinning import Thinning
from headway.engine.unseen_inputs import UnseenInputs
from headway.model import devices, records
from headway.model.deferred import Deferred, DeferredBlock
from headway.model.job import Wish
from headway.model.observation import Observation
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, Figure, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.ordering.base import Order
from headway.ordering.fair import FairShares
from headway.planning.base import Planner
from headway.planning.keeping import MOST_SEEN
from headway.planning.run_times import RunTimes
from headway.sizing.base import Allocator, CannotFit
from headway.sizing.observing import run_s

# The tasks of a growing run come one by one. Jobs are planned when none came for the first time, and after the second
# in any case: a job for the first task alone would soon be replaced by a larger one.
GATHER_S, GATHER_AT_MOST_S = 1.0, 5.0
_ON_TIME_S = 5.0  # a supervisor's clock may differ, and its notice come that early


class _ByKind(singledispatchmethod):  # type: ignore[type-arg]
    """A method with one handler for each kind of record; the standard one makes a new wrapper for every call."""

    def __get__(self, state: object, cls: type | None = None) -> Callable[..., None]:
        return lambda record: self.dispatcher.dispatch(type(record))(state, record)


class RunState(Struct, eq=False, dict=True):
    """The state of one run. `apply` is the only method that changes it, with one handler for each kind of record.

    Applying all records of a journal again rebuilds the state, with everything that the policies have learned.
    """

    settings: records.RunStarted
    allocator: Allocator
    order: Order
    planner: Planner
    run_times: RunTimes | None = None  # the planner's model of run times, if it learns them

    def __post_init__(self) -> None:
        self.nodes: dict[str, NodeState] = {}
        self.stopping: str | None = None  # the mode of the user's request to stop
        self.finished: str | None = None
        self._growing = self.settings.growing
        self._busy_at: dict[Wish | None, float] = {}  # when a task with a wish was added or ended
        # By wish: how long there was no task with it, each time.
        self._rests_s: defaultdict[Wish | None, deque[float]] = defaultdict(lambda: deque(maxlen=MOST_SEEN))
        self._adding_since = self._gathered_at = 0.0  # when tasks began to be added, and may all be there
        self._forced = frozenset(self.settings.force)
        self._asked: dict[str, records.QuoteAsked] = {}  # quotes that have not been answered
        self._unwanted: set[str] = set()  # running tasks that were withdrawn
        self._checkpointing: dict[str, TaskState] = {}  # tasks that ask for notice and have begun; some are over
        self._overtaken: dict[str, int] = {}  # how often other tasks were started before a task that did not fit
        self._fair = FairShares(self.settings.shares)
        self._board = Board(self.settings.name, self.order, self.settings.kept, self._fair)
        self.tasks = self._board.tasks
        self.workflow = self._board.workflow
        self._board.orphans = self.settings.orphans
        self.known = self._board.known  # results of earlier runs, by task
        self._foreseen = ForeseenWork()
        self._to_come = TasksToCome()
        self.deferred = Deferred()  # entries of the workflow file that become tasks while the run goes on
        self._allocations = Allocations()
        self._board.when_begun = self._allocations.plan_again
        self.jobs = self._allocations.jobs  # all that were submitted, by tag
        self._gpu_memory = GpuMemory()
        self._thinning = Thinning()
        policies = (self.allocator, self.order, self.planner, self._gpu_memory)
        self.bad_nodes = BadNodes()
        self._launching = Launching(
            self.settings.seed, self._board, self.nodes, self._allocations, self.bad_nodes, *policies
        )
        self._unseen = UnseenInputs() if self.settings.check_inputs else None
        self._failures = Failures(self._board, self._launching, self.nodes, self.settings.cluster, self._unseen)

    @property
    def limits(self) -> Resources:
        """The most that one task can be given."""
        return self._allocations.sites[None].limits

    @property
    def wakes_at(self) -> float | None:
        """When the planner has to be called although nothing happens, if it has said so."""
        return self._allocations.wakes_at

    @property
    def given(self) -> Mapping[str, Sequence[str]]:
        """The nodes that live jobs were to give back, by tag."""
        return {tag: nodes for tag, nodes in self._allocations.given.items() if self.jobs[tag].live}

    @property
    def giving(self) -> Mapping[str, Sequence[str]]:
        """Those of the nodes in `given` of which nothing tells yet that the batch system took them back."""
        return {tag: nodes for tag in self.given if (nodes := self._allocations.giving.get(tag))}

    @property
    def waiting_entries(self) -> list[DeferredBlock]:
        """The deferred entries of the workflow file that have not become tasks."""
        return list(self._to_come.blocks.values())

    def rerun(self, task_id: str) -> str:
        """Why a task runs although nothing changed; empty if it does not."""
        if self.settings.again:
            return "everything runs again (--again)"
        forced = self._forced and not self._forced.isdisjoint((task_id, task_id.partition("[")[0]))
        return "forced by --force" if forced else ""

    @property
    def busy(self) -> int:
        """How many tasks are running, as far as is known."""
        return self._board.counts[Phase.RUNNING]

    def is_running(self, task_id: str, attempt: int) -> bool:
        """Whether this attempt is running, as far as is known."""
        state = self.tasks.get(task_id)  # None if it was over long ago
        return state is not None and state.running is not None and state.running.attempt == attempt

    def running(self) -> list[TaskState]:
        """The tasks that are running, as far as is known."""
        return [self.tasks[task_id] for node in self.nodes.values() for task_id in sorted(node.running)]

    @_ByKind
    def apply(self, record: Event | Decision) -> None:
        """Update the state by a record."""
        raise TypeError(f"not a record: {record!r}")

    @apply.register
    def _handle_run_started(self, record: records.RunStarted) -> None:
        if record != self.settings:
            raise ValueError("this engine was made for another run: the first record has other settings")

    @apply.register
    def _handle_results_known(self, record: records.ResultsKnown) -> None:
        self.known.update({known.task: known for known in record.results})
        self._board.earlier = record
        self._board.begun_in_place.update(record.unfinished)

    @apply.register
    def _handle_history_read(self, record: records.HistoryRead) -> None:
        for seen in record.observations:
            self._learn_from(seen)

    @apply.register
    def _handle_task_reported(self, record: records.TaskReported) -> None:
        self._learn_from(record.observation)

    @apply.register
    def _handle_state_read(self, record: records.StateRead) -> None:
        if record.name.startswith("sizer/"):
            self.allocator.restore(record.state)

    @apply.register
    def _handle_limits_read(self, record: records.LimitsRead) -> None:
        self._allocations.sites[record.wish] = record
        if record.wish is None:
            self._fair.node = record.limits
        else:
            self._board.know(record.wish)
        for state in self.tasks.values():
            self._check_hints(state)

    @apply.register
    def _handle_tasks_added(self, record: records.TasksAdded) -> None:
        self._fair.now = record.at
        for wish in dict.fromkeys(task.wish for task in record.tasks):
            if wish in self._busy_at and not self._left(wish):
                self._rests_s[wish].append(max(0.0, record.at - self._busy_at[wish]))
        if record.at > self._gathered_at:
            self._adding_since = record.at
        self._gathered_at = min(record.at + GATHER_S, self._adding_since + GATHER_AT_MOST_S)
        self._to_come.added(record)
        for state in self._board.add(record.tasks):
            self._check_hints(state)
            if record.problem:
                self._board.condemn(state, Why("workflow", "expansion", text=record.problem))
            self._foreseen.handed(state.task)
            self._busy_at[state.part[0]] = record.at
            self._allocations.plan_soon(state.part[0], record.at)

    @apply.register
    def _handle_tasks_deferred(self, record: records.TasksDeferred) -> None:
        self.deferred = record.deferred
        self._to_come.told(record, self.workflow.tasks, self.known)

    @apply.register
    def _handle_expand(self, record: records.Expand) -> None:
        self._to_come.begin(record.block)

    def _left(self, wish: Wish | None) -> int:
        """How many tasks with a wish are left and need not wait for others."""
        return self._board.unfinished_with(wish) if self._board.wishes else self._board.unfinished()

    @apply.register
    def _handle_work_foreseen(self, record: records.WorkForeseen) -> None:
        self._foreseen.told(record)
        self._fair.join(record.share)
        self._allocations.plan_soon(None, record.at)

    @apply.register
    def _handle_quote_asked(self, record: records.QuoteAsked) -> None:
        self._asked[record.quote] = record

    @apply.register
    def _handle_quote(self, record: records.Quote) -> None:
        asked = self._asked.pop(record.quote, None)
        if asked is None or not asked.elsewhere:  # what runs elsewhere is not launched here
            self._board.quotes[record.quote] = record

    @apply.register
    def _handle_no_more_tasks(self, record: records.NoMoreTasks) -> None:
        self._growing = False

    @apply.register
    def _handle_task_withdrawn(self, record: records.TaskWithdrawn) -> None:
        state = self.tasks[record.task]
        state.withdrawn = True
        if state.phase < Phase.RUNNING:
            self._board.cut_off([record.task])
        elif state.phase is Phase.RUNNING:
            self._unwanted.add(record.task)

    @apply.register
    def _handle_share_set(self, record: records.ShareSet) -> None:
        self._fair.set_terms(record.share, record.terms, record.at)

    @apply.register
    def _handle_task_waits(self, record: records.TaskWaits) -> None:
        state = self.tasks[record.task]
        running = state.running
        if running is None or running.attempt != record.attempt or running.waits is record.waits:
            return
        running.waits = record.waits
        self._fair.now = record.at
        if record.waits:
            self._give_back(running)
            self._fair.ended(record.task)
        else:  # free amounts may be negative until one of the tasks that used its resources has ended
            self._go_on(state, running)

    @apply.register
    def _handle_inputs_read(self, record: records.InputsRead) -> None:
        self._board.inputs_read(record, self.rerun(record.task))

    @apply.register
    def _handle_task_ended(self, record: records.TaskEnded) -> None:
        outcome = record.outcome
        state = self.tasks[outcome.task]
        running = state.running
        if running is None or running.attempt != outcome.attempt:
            return  # late news of an attempt that was counted as lost
        state.running, state.quick_deaths = None, 0
        self._busy_at[state.part[0]] = self._fair.now = record.at
        self._unwanted.discard(outcome.task)
        if running.node in self.nodes:
            self.nodes[running.node].running.discard(outcome.task)
        if not running.waits:
            self._give_back(running)
        self._learn(state.task, running.ticket, outcome.after(state.saved_s))
        if outcome.ending is Ending.SAVED:
            state.saved_s += run_s(outcome)
            until = self.nodes[running.node].until if running.node in self.nodes else math.inf
            if until <= record.at + state.task.notice_s + _ON_TIME_S:
                state.left_until = until
            self._allocations.plan_again(state.part[0])  # it needs a job at once, unless one was asked for ahead
        if not running.shaken and not outcome.unseen:  # a missing input is not the node's fault
            self.bad_nodes.ended(running.node, state.task, outcome.ending)
        if outcome.ending is Ending.SUCCESS:
            state.gone = frozenset()
            if record.inputs_moved:  # temporary outputs that were made again may be others than before
                state.remade_for = ""
            self._checkpointing.pop(outcome.task, None)
            self._board.succeed(state)
            self._to_come.succeeded(state.task)
        else:
            self._failures.failed(state, running, outcome)

    @apply.register
    def _handle_asked(self, record: Asked) -> None:
        self._allocations.apply(record)

    @apply.register
    def _handle_job_state(self, record: records.JobState) -> None:
        self._allocations.apply(record)
        self.planner.observe(self.jobs[record.tag])

    @apply.register
    def _handle_node_up(self, record: records.NodeUp) -> None:
        job, known = self.jobs[record.tag], self.nodes.get(record.node)
        if known is not None and known.tag == record.tag:  # more or less of a pool
            known.free = known.free + record.capacity - known.capacity
            known.capacity = record.capacity
            return
        job.answering_nodes += 1
        self.bad_nodes.is_up(record.node)
        has = record.capacity
        self.nodes[record.node] = NodeState(
            record.node,
            record.tag,
            has,
            has,
            job.tasks,
            job.meant_for,
            job.ends_at,
            keeps_job=record.keeps_job,
            devices={device.id: device for device in record.devices},
            free_devices={device.id: 1.0 for device in record.devices},
        )

    @apply.register
    def _handle_node_lost(self, record: records.NodeLost) -> None:
        self._fair.now = record.at
        node = self.nodes.pop(record.node, None)
        lost = [self.tasks[task_id] for task_id in node.running] if node else []
        if node is not None:
            self.jobs[node.tag].lost_nodes += 1
            if not record.expired:
                self.bad_nodes.lost(record.node)
        for state in self.running():
            if state.running is not None and record.node in state.running.nodes:
                state.running.shaken = True
        for state in sorted(lost, key=lambda state: state.key):
            self._lost(state, record, alone=len(lost) == 1)

    @apply.register
    def _handle_attempt_lost(self, record: records.AttemptLost) -> None:
        if self.is_running(record.task, record.attempt):
            state = self.tasks[record.task]
            if state.running is not None and state.running.node in self.nodes:
                self.nodes[state.running.node].running.discard(record.task)
            self._lost(state, record, alone=record.alone)

    def _lost(self, state: TaskState, record: records.NodeLost | records.AttemptLost, *, alone: bool) -> None:
        """The running attempt was lost with its node."""
        running, state.running = state.running, None
        if running is not None and not running.waits:
            self._give_back(running)
        self._unwanted.discard(state.task.id)
        self._failures.lost(state, running, record, alone=alone)

    @apply.register
    def _handle_user_cancel(self, record: records.UserCancel) -> None:
        if self.stopping != "now":
            self.stopping = record.mode

    @apply.register
    def _handle_resumed(self, record: records.Resumed) -> None:
        if not record.relieves:
            self.stopping = None
        self.finished = None
        self._growing = record.growing  # otherwise the program that added tasks is gone
        self._asked = {}
        self._foreseen.clear()
        self._to_come.resumed()
        self._allocations.apply(record)
        for state in self.running():
            if state.running is not None and state.running.waits:  # no record would tell when it goes on
                state.running.waits = False
                self._go_on(state, state.running)
        self._board.discards |= self._board.discarding  # as long as nothing tells that it was done
        self._board.discarding = {}
        for state in self.tasks.values():
            if state.phase is Phase.READING:  # the manager that read its files is gone
                self._board.make_ready(state)

    @apply.register
    def _handle_waits_read(self, record: records.WaitsRead) -> None:
        self.planner.learn(record.waits)

    @apply.register
    def _handle_calls_counted(self, record: records.CallsCounted) -> None:
        """Change nothing: the counts are for reports."""

    @apply.register
    def _handle_job_seen(self, record: records.JobSeen) -> None:
        self._allocations.apply(record)
        for node in self.nodes.values():
            if node.tag == record.tag:
                node.until = self.jobs[record.tag].ends_at

    @apply.register
    def _handle_queue_unread(self, record: records.QueueUnread) -> None:
        """Change nothing: it is said to people who wait."""

    @apply.register
    def _handle_environment_missing(self, record: records.EnvironmentMissing) -> None:
        """Change nothing: it is said to people who wait."""

    @apply.register
    def _handle_avoid_node(self, record: records.AvoidNode) -> None:
        self.bad_nodes.avoid(record)

    @apply.register
    def _handle_release(self, record: records.Release) -> None:
        self._fair.now = record.at
        self._allocations.apply(record)
        for node in [node for node in self.nodes.values() if node.tag == record.tag]:
            del self.nodes[node.name]
            for state in sorted((self.tasks[task_id] for task_id in node.running), key=lambda state: state.key):
                state.running = None  # the attempt ends with its allocation; the task runs again elsewhere
                self._unwanted.discard(state.task.id)
                self._board.requeue(state)

    @apply.register
    def _handle_budget_used(self, record: records.BudgetUsed) -> None:
        self.stopping = "gently"

    @apply.register
    def _handle_admit(self, record: records.Admit) -> None:
        self._allocations.apply(record)

    @apply.register
    def _handle_shrink(self, record: records.Shrink) -> None:
        self._allocations.apply(record)
        for name in record.nodes:
            self.nodes.pop(name, None)

    @apply.register
    def _handle_shrunk(self, record: records.Shrunk) -> None:
        self._allocations.apply(record)

    @apply.register
    def _handle_read_inputs(self, record: records.ReadInputs) -> None:
        self._board.enter(self.tasks[record.task], Phase.READING)

    @apply.register
    def _handle_reuse(self, record: records.Reuse) -> None:
        del self._board.reusable[record.task]
        self._board.succeed(self.tasks[record.task])
        self._to_come.succeeded(self.tasks[record.task].task)

    @apply.register
    def _handle_remake(self, record: records.Remake) -> None:
        self._board.remake(record.task, record.reader)
        self._to_come.again(self.tasks[record.task].task)

    @apply.register
    def _handle_discard(self, record: records.Discard) -> None:
        self._board.discarding[record.path] = self._board.discards.pop(record.path)

    @apply.register
    def _handle_discarded(self, record: records.Discarded) -> None:
        self._board.discarding.pop(record.path, None)

    @apply.register
    def _handle_launch(self, record: records.Launch) -> None:
        state = self.tasks[record.task]
        state.attempts = record.attempt
        if self._unseen is not None:
            state.shown = self._unseen.shown(state.task)
        nodes = (record.node, *record.also)
        state.running = Running(
            record.attempt,
            nodes,
            record.resources,
            record.ceiling or record.resources,
            record.ticket,
            record.at,
            devices=record.devices,
        )
        self._hold(state.running)
        if state.task.notice_s and state.task.work is None:
            self._checkpointing[record.task] = state
        self._fair.now = record.at
        self.nodes[record.node].running.add(record.task)
        self._board.enter(state, Phase.RUNNING)
        self._overtaken.pop(record.task, None)
        if record.overtook:
            self._overtaken[record.overtook] = self._overtaken.get(record.overtook, 0) + 1

    @apply.register
    def _handle_kill(self, record: records.Kill) -> None:
        running = self.tasks[record.task].running
        if running and running.attempt == record.attempt:
            running.being_killed = True

    @apply.register
    def _handle_give_notice(self, record: records.GiveNotice) -> None:
        running = self.tasks[record.task].running
        if running and running.attempt == record.attempt:
            running.noticed = True

    @apply.register
    def _handle_give_up(self, record: records.GiveUp) -> None:
        self._board.give_up(record.task, Phase.CUT_OFF if record.handed_back else Phase.FAILED)

    @apply.register
    def _handle_finish(self, record: records.Finish) -> None:
        self.finished = record.status

    def _learn_from(self, seen: Observation) -> None:
        if seen.is_possible:  # older journals and other programs may say anything
            self._learn(seen.as_task(), {}, seen.as_outcome())

    def _learn(self, task: Task, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        if outcome.ending is Ending.SUCCESS:
            self._board.see(task.category)
        if task.work is None:  # otherwise its own run decides the amounts, and learns them
            if self._thinning.takes(task.category):
                self.allocator.observe(task, ticket, outcome)
            self._gpu_memory.observe(task, outcome)
        self.order.observe(task, outcome)
        if self.run_times is not None:
            self.run_times.observe(task, outcome)

    def _hold(self, running: Running) -> None:
        self._take(running, 1)

    def _go_on(self, state: TaskState, running: Running) -> None:
        """Hold again what a task has lent while it waited for others."""
        self._hold(running)
        if self._fair.active:
            self._fair.launched(state.task.id, state.task.terms.share, running.resources)

    def _give_back(self, running: Running) -> None:
        self._take(running, -1)

    def _take(self, running: Running, sign: int) -> None:
        for node in (self.nodes[name] for name in running.nodes if name in self.nodes):
            node.free = node.free - running.resources if sign > 0 else node.free + running.resources
            if running.devices:
                node.free_devices = devices.held(node.free_devices, running.devices, sign * running.resources.gpus)

    def _check_hints(self, state: TaskState) -> None:
        """Condemn a task whose hints exceed the limits, before anything else runs."""
        may_be_reused = state.task.id in self.known and not self.rerun(state.task.id)
        if not self.limits.cores or may_be_reused:  # without cores the limits have not been read yet
            return
        site = self._allocations.sites[state.part[0]]
        kinds = (site.limits, *site.larger)
        for resource, hint in state.task.hints.items():
            limits = [kind[resource] for kind in kinds]
            limit = None if None in limits else max(most for most in limits if most is not None)
            if resource == "walltime_s" and state.task.notice_s:  # it goes on from its checkpoint in another job
                continue
            if limit is not None and hint > limit:
                why = Why("user", "hint", {"hint": hint, "limit": limit})
                self._board.condemn(state, does_not_fit(CannotFit(resource, hint, limit, why, reason="hint")))
