"""`RunState`: what is known of one run, and how each record changes it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatchmethod

from msgspec import Struct

from headway.engine.allocations import Allocations, Asked
from headway.engine.bad_nodes import BadNodes
from headway.engine.board import Board
from headway.engine.launching import MOST_LOSSES_ALONE, Launching, does_not_fit
from headway.engine.state import NodeState, Phase, Running, TaskState
from headway.model import records
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, Figure, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.ordering.base import Order
from headway.planning.base import Planner
from headway.planning.run_times import RunTimes
from headway.sizing.base import Allocator, CannotFit


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
        self._forced = frozenset(self.settings.force)
        self._unwanted: set[str] = set()  # running tasks that were withdrawn
        self._overtaken: dict[str, int] = {}  # how often other tasks were started before a task that did not fit
        self._board = Board(self.settings.name, self.order, self.settings.kept)
        self.tasks = self._board.tasks
        self.workflow = self._board.workflow
        self.known = self._board.known  # results of earlier runs, by task
        self._allocations = Allocations()
        self._board.when_begun = self._allocations.plan_again
        self.jobs = self._allocations.jobs  # all that were submitted, by tag
        policies = (self.allocator, self.order, self.planner)
        self.bad_nodes = BadNodes()
        self._launching = Launching(
            self.settings.seed, self._board, self.nodes, self._allocations, self.bad_nodes, *policies
        )

    @property
    def limits(self) -> Resources:
        """The most that one task can be given."""
        return self._allocations.sites[None].limits

    def rerun(self, task_id: str) -> str:
        """Why a task runs although nothing changed; empty if it does not."""
        if self.settings.again:
            return "everything runs again (--again)"
        return "forced by --force" if task_id in self._forced else ""

    def is_running(self, task_id: str, attempt: int) -> bool:
        """Whether this attempt is running, as far as is known."""
        running = self.tasks[task_id].running
        return running is not None and running.attempt == attempt

    def running(self) -> list[TaskState]:
        """The tasks that are running, as far as is known."""
        return [self.tasks[task_id] for node in self.nodes.values() for task_id in sorted(node.running)]

    @singledispatchmethod
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

    @apply.register
    def _handle_history_read(self, record: records.HistoryRead) -> None:
        for seen in record.observations:
            self._learn(seen.as_task(), {}, seen.as_outcome())

    @apply.register
    def _handle_state_read(self, record: records.StateRead) -> None:
        if record.name.startswith("sizer/"):
            self.allocator.restore(record.state)

    @apply.register
    def _handle_limits_read(self, record: records.LimitsRead) -> None:
        self._allocations.sites[record.wish] = record
        if record.wish is not None:
            self._board.wishes.add(record.wish)
        for state in self.tasks.values():
            self._check_hints(state)

    @apply.register
    def _handle_tasks_added(self, record: records.TasksAdded) -> None:
        for state in self._board.add(record.tasks):
            self._check_hints(state)

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
    def _handle_task_waits(self, record: records.TaskWaits) -> None:
        running = self.tasks[record.task].running
        if running is None or running.attempt != record.attempt or running.waits is record.waits:
            return
        running.waits = record.waits
        if record.waits:
            self._give_back(running)
        else:  # free amounts may be negative until one of the tasks that used its resources has ended
            self._hold(running)

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
        state.running = None
        self._unwanted.discard(outcome.task)
        if running.node in self.nodes:
            self.nodes[running.node].running.discard(outcome.task)
        if not running.waits:
            self._give_back(running)
        self._learn(state.task, running.ticket, outcome)
        if not running.shaken:
            self.bad_nodes.ended(running.node, state.task, outcome.ending)
        if outcome.ending is Ending.SUCCESS:
            state.gone = frozenset()
            self._board.succeed(state)
        else:
            self._failed_attempt(state, running, outcome)

    @apply.register
    def _handle_asked(self, record: Asked) -> None:
        self._allocations.apply(record)

    @apply.register
    def _handle_job_state(self, record: records.JobState) -> None:
        self._allocations.apply(record)
        self.planner.observe(self.jobs[record.tag])

    @apply.register
    def _handle_node_up(self, record: records.NodeUp) -> None:
        job = self.jobs[record.tag]
        job.answering_nodes += 1
        self.bad_nodes.is_up(record.node)
        self.nodes[record.node] = NodeState(record.node, record.tag, record.capacity, job.tasks, job.ends_at)

    @apply.register
    def _handle_node_lost(self, record: records.NodeLost) -> None:
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
            if state.running is not None and not state.running.waits:
                self._give_back(state.running)
            state.running = None
            self._unwanted.discard(state.task.id)
            state.expiries += record.expired
            died = not record.expired and not record.excused
            state.losses += died
            state.losses_alone += len(lost) == 1 and died
            self._board.requeue(state)
            if state.losses_alone >= MOST_LOSSES_ALONE:
                text = f"{state.losses_alone} nodes died while it alone was running there"
                self._board.condemn(state, Why("engine", "kills-nodes", {"losses": state.losses_alone}, text))

    @apply.register
    def _handle_user_cancel(self, record: records.UserCancel) -> None:
        if self.stopping != "now":
            self.stopping = record.mode

    @apply.register
    def _handle_resumed(self, record: records.Resumed) -> None:
        self.stopping = None
        self.finished = None
        self._growing = False  # the program that added tasks is gone
        self._allocations.apply(record)
        for state in self.running():
            if state.running is not None and state.running.waits:  # no record would tell when it goes on
                state.running.waits = False
                self._hold(state.running)
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
    def _handle_environment_missing(self, record: records.EnvironmentMissing) -> None:
        """Change nothing: it is said to people who wait."""

    @apply.register
    def _handle_avoid_node(self, record: records.AvoidNode) -> None:
        self.bad_nodes.avoid(record)

    @apply.register
    def _handle_release(self, record: records.Release) -> None:
        self._allocations.apply(record)
        for node in [node for node in self.nodes.values() if node.tag == record.tag]:
            del self.nodes[node.name]
            for state in sorted((self.tasks[task_id] for task_id in node.running), key=lambda state: state.key):
                state.running = None  # the attempt ends with its allocation; the task runs again elsewhere
                self._unwanted.discard(state.task.id)
                self._board.requeue(state)

    @apply.register
    def _handle_read_inputs(self, record: records.ReadInputs) -> None:
        self._board.enter(self.tasks[record.task], Phase.READING)

    @apply.register
    def _handle_reuse(self, record: records.Reuse) -> None:
        del self._board.reusable[record.task]
        self._board.succeed(self.tasks[record.task])

    @apply.register
    def _handle_remake(self, record: records.Remake) -> None:
        self._board.remake(record.task, record.reader)

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
        nodes = (record.node, *record.also)
        state.running = Running(
            record.attempt, nodes, record.resources, record.ceiling or record.resources, record.ticket
        )
        self._hold(state.running)
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
    def _handle_give_up(self, record: records.GiveUp) -> None:
        self._board.give_up(record.task)

    @apply.register
    def _handle_finish(self, record: records.Finish) -> None:
        self.finished = record.status

    def _learn(self, task: Task, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        if outcome.ending is Ending.SUCCESS:
            self._board.seen.add(task.category)
        self.allocator.observe(task, ticket, outcome)
        self.order.observe(task, outcome)
        if self.run_times is not None:
            self.run_times.observe(task, outcome)

    def _hold(self, running: Running) -> None:
        for name in running.nodes:
            if name in self.nodes:
                self.nodes[name].free -= running.resources

    def _give_back(self, running: Running) -> None:
        for name in running.nodes:
            if name in self.nodes:
                self.nodes[name].free += running.resources

    def _failed_attempt(self, state: TaskState, running: Running, outcome: Outcome) -> None:
        """Queue the task again. An exhausted resource asks for a larger amount; other failures use up the retries."""
        resource = outcome.ending.exhausted
        if resource:
            state.exhausted = state.exhausted or {}
            state.exhausted.setdefault(resource, []).append(_used_up(running, resource, outcome))
        elif not outcome.ending.blameless and not running.shaken:
            state.errors += 1
        self._board.requeue(state, failed=True)
        if resource:
            answer = self._launching.allocate(state.task.id)
            if isinstance(answer, CannotFit):
                self._board.condemn(state, does_not_fit(answer))
        elif state.errors > state.task.retries:
            text = outcome.message or f"it ended with {outcome.ending}"
            figures: dict[str, Figure] = {"errors": state.errors, "retries": state.task.retries}
            self._board.condemn(state, Why("engine", str(outcome.ending), figures, text))

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
            if limit is not None and hint > limit:
                why = Why("user", "hint", {"hint": hint, "limit": limit})
                self._board.condemn(state, does_not_fit(CannotFit(resource, hint, limit, why, reason="hint")))


def _used_up(running: Running, resource: str, outcome: Outcome) -> float:
    """The amount that was not enough: what the attempt might use, or less if the machine had no more left to lend."""
    held, most = running.resources[resource] or 0, running.ceiling[resource] or 0
    used = outcome.usage.peak(resource)
    return min(most, max(held, used.value)) if used is not None and held < most else most
