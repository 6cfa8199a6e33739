"""`Engine`: one run's state, and what to do next."""

from __future__ import annotations

import math
from functools import singledispatchmethod
from typing import Literal

from headway.engine.allocations import Allocations
from headway.engine.board import Board
from headway.engine.launching import MOST_LOSSES_ALONE, Launching, does_not_fit
from headway.engine.placer import Placer
from headway.engine.state import NodeState, Phase, Running, TaskState
from headway.model import records
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, Figure, Why
from headway.model.resources import Resources
from headway.model.workflow import Workflow
from headway.ordering.base import Order
from headway.planning.base import JobStatus, Planner, View
from headway.planning.run_times import RunTimes
from headway.sizing.base import Allocation, Allocator, CannotFit

# How many ready tasks of a category have their files looked at before there is room for them: enough that a free core
# never waits for a look, few enough that a fan-out of 100,000 starts at once.
READ_AHEAD = 256


class Engine:
    """Facts in, decisions out.

    `apply` is the only place where state changes; `decide` reads the state and says what should happen now. A driver
    journals each decision, applies it, and acts on it. Applying a journal's records again, deciding nothing, rebuilds
    the state, learned sizes included.
    """

    def __init__(
        self,
        settings: records.RunStarted,
        allocator: Allocator,
        order: Order,
        planner: Planner,
        placer: Placer,
        run_times: RunTimes | None = None,
    ) -> None:
        self.settings = settings
        self.nodes: dict[str, NodeState] = {}
        self.stopping: str | None = None  # how the user wants it to stop
        self.finished: str | None = None
        self._growing = settings.growing
        self._unwanted: set[str] = set()  # running, and nobody waits for them
        self._board = Board(settings.name, order)
        self._allocator = allocator
        self._order = order
        self._planner = planner
        self._run_times = run_times  # that the planner reckons with, if it learns them
        self._allocations = Allocations()
        self._launching = Launching(
            settings.seed, self._board, self.nodes, self._allocations, allocator, order, planner, placer
        )
        self._overtaken: dict[str, int] = {}

    @property
    def limits(self) -> Resources:
        """The most that one task can be given."""
        return self._allocations.site.limits

    @property
    def jobs(self) -> dict[str, JobStatus]:
        """Every allocation that was asked for, by its tag."""
        return self._allocations.jobs

    @property
    def tasks(self) -> dict[str, TaskState]:
        """Every task and where it stands."""
        return self._board.tasks

    @property
    def workflow(self) -> Workflow:
        """The graph, as far as it has grown."""
        return self._board.workflow

    @property
    def known(self) -> dict[str, records.Known]:
        """What earlier runs left, by task."""
        return self._board.known

    def is_running(self, task_id: str, attempt: int) -> bool:
        """Whether that attempt is under way, as far as is known."""
        running = self.tasks[task_id].running
        return running is not None and running.attempt == attempt

    def running(self) -> list[TaskState]:
        """The tasks that are under way, as far as is known."""
        return [self.tasks[task_id] for node in self.nodes.values() for task_id in sorted(node.running)]

    def would_give(self, task_id: str) -> Allocation | CannotFit:
        """Return what the task's next attempt would be given; a dry run asks this."""
        return self._launching.allocate(task_id)

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
        self._board.known |= {known.task: known for known in record.results}

    @apply.register
    def _(self, record: records.HistoryRead) -> None:
        for seen in record.observations:
            self._allocator.observe(seen.as_task(), {}, seen.as_outcome())
            self._order.observe(seen.as_task(), seen.as_outcome())
            if self._run_times is not None:
                self._run_times.observe(seen.as_task(), seen.as_outcome())

    @apply.register
    def _(self, record: records.StateRead) -> None:
        if record.name.startswith("sizer/"):
            self._allocator.restore(record.state)

    @apply.register
    def _(self, record: records.LimitsRead) -> None:
        self._allocations.site = record
        for state in self.tasks.values():
            self._check_hints(state)

    @apply.register
    def _(self, record: records.TasksAdded) -> None:
        for state in self._board.add(record.tasks):
            self._check_hints(state)

    @apply.register
    def _(self, record: records.NoMoreTasks) -> None:
        self._growing = False

    @apply.register
    def _(self, record: records.TaskWithdrawn) -> None:
        state = self.tasks[record.task]
        state.withdrawn = True
        if state.phase < Phase.RUNNING:
            self._board.cut_off(state)
        elif state.phase is Phase.RUNNING:
            self._unwanted.add(record.task)

    @apply.register
    def _(self, record: records.TaskWaits) -> None:
        running = self.tasks[record.task].running
        if running is None or running.attempt != record.attempt or running.waits is record.waits:
            return
        running.waits = record.waits
        if record.waits:
            self._give_back(running)
        else:  # there may be less than nothing free until one of those that took its place has ended
            self._hold(running)

    @apply.register
    def _(self, record: records.InputsRead) -> None:
        self._board.inputs_read(record, again=self.settings.again)

    @apply.register
    def _(self, record: records.TaskEnded) -> None:
        outcome = record.outcome
        state = self.tasks[outcome.task]
        running = state.running
        if running is None or running.attempt != outcome.attempt:
            return  # late news of an attempt that was given up for lost
        state.running = None
        self._unwanted.discard(outcome.task)
        if running.node in self.nodes:
            self.nodes[running.node].running.discard(outcome.task)
        if not running.waits:
            self._give_back(running)
        self._allocator.observe(state.task, running.ticket, outcome)
        self._order.observe(state.task, outcome)
        if self._run_times is not None:
            self._run_times.observe(state.task, outcome)
        if outcome.ending is Ending.SUCCESS:
            self._board.succeed(state)
        else:
            self._failed_attempt(state, running, outcome)

    @apply.register
    def _(self, record: records.JobState) -> None:
        self._planner.observe(self._allocations.state(record))

    @apply.register
    def _(self, record: records.NodeUp) -> None:
        job = self.jobs[record.tag]
        walltime_s = job.request.per_node.walltime_s
        until = math.inf if walltime_s is None or job.started_at is None else job.started_at + walltime_s
        self.nodes[record.node] = NodeState(record.node, record.tag, record.capacity, job.tasks, until)

    @apply.register
    def _(self, record: records.NodeLost) -> None:
        node = self.nodes.pop(record.node, None)
        lost = [self.tasks[task_id] for task_id in node.running] if node else []
        if node is not None:
            self.jobs[node.tag].lost_nodes += 1
        for state in self.running():
            if state.running is not None and record.node in state.running.nodes:
                state.running.shaken = True
        for state in sorted(lost, key=lambda state: state.key):
            if state.running is not None and not state.running.waits:
                self._give_back(state.running)
            state.running = None
            self._unwanted.discard(state.task.id)
            state.expiries += record.expired
            state.losses += not record.expired
            state.losses_alone += len(lost) == 1 and not record.expired
            self._board.requeue(state)
            if state.losses_alone >= MOST_LOSSES_ALONE:
                text = f"{state.losses_alone} nodes died while it alone was running there"
                self._board.condemn(state, Why("engine", "kills-nodes", {"losses": state.losses_alone}, text))

    @apply.register
    def _(self, record: records.UserCancel) -> None:
        if self.stopping != "now":
            self.stopping = record.mode

    @apply.register
    def _(self, record: records.Resumed) -> None:
        self.stopping = None
        self.finished = None
        self._growing = False  # whoever let it grow is gone
        self._allocations.resumed()
        for state in self.running():
            if state.running is not None and state.running.waits:  # and nobody would tell that it goes on
                state.running.waits = False
                self._hold(state.running)
        for state in self.tasks.values():
            if state.phase is Phase.READING:  # whoever was looking is gone
                self._board.make_ready(state)

    @apply.register
    def _(self, record: records.Submit) -> None:
        self._allocations.submit(record)

    @apply.register
    def _(self, record: records.AskQueue) -> None:
        self._allocations.asked()

    @apply.register
    def _(self, record: records.QueueRead) -> None:
        self._allocations.read(record)

    @apply.register
    def _(self, record: records.WaitsRead) -> None:
        self._planner.learn(record.waits)

    @apply.register
    def _(self, record: records.CallsCounted) -> None:
        """That is for people to know."""

    @apply.register
    def _(self, record: records.WakeAt) -> None:
        self._allocations.wake(record)

    @apply.register
    def _(self, record: records.Tick) -> None:
        self._allocations.tick(record.at)

    @apply.register
    def _(self, record: records.Release) -> None:
        self._allocations.release(record.tag)
        for node in [node for node in self.nodes.values() if node.tag == record.tag]:
            del self.nodes[node.name]
            for state in sorted((self.tasks[task_id] for task_id in node.running), key=lambda state: state.key):
                state.running = None  # it ends with its allocation, and runs again elsewhere
                self._unwanted.discard(state.task.id)
                self._board.requeue(state)

    @apply.register
    def _(self, record: records.ReadInputs) -> None:
        self._board.enter(self.tasks[record.task], Phase.READING)

    @apply.register
    def _(self, record: records.Reuse) -> None:
        del self._board.reusable[record.task]
        self._board.succeed(self.tasks[record.task])

    @apply.register
    def _(self, record: records.Launch) -> None:
        state = self.tasks[record.task]
        state.attempts = record.attempt
        nodes = (record.node, *record.also)
        state.running = Running(record.attempt, nodes, record.resources, record.ticket, record.at)
        self._hold(state.running)
        self.nodes[record.node].running.add(record.task)
        self._board.enter(state, Phase.RUNNING)
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
        self._board.give_up(record.task)

    @apply.register
    def _(self, record: records.Finish) -> None:
        self.finished = record.status

    def _hold(self, running: Running) -> None:
        for name in running.nodes:
            if name in self.nodes:
                self.nodes[name].free -= running.resources

    def _give_back(self, running: Running) -> None:
        for name in running.nodes:
            if name in self.nodes:
                self.nodes[name].free += running.resources

    def _failed_attempt(self, state: TaskState, running: Running, outcome: Outcome) -> None:
        """What ran out is wanted in a greater amount; other failures use up the user's retries; some count nothing."""
        resource = outcome.ending.exhausted
        if resource:
            state.exhausted = state.exhausted or {}
            state.exhausted.setdefault(resource, []).append(running.resources[resource] or 0)
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
        """A task that asks for more than there is can never run: say so before anything else runs."""
        may_stand = state.task.id in self.known and not self.settings.again
        if not self.limits.cores or may_stand:  # not read yet; or perhaps it need not run
            return
        for resource, hint in state.task.hints.items():
            limit = self.limits[resource]
            if limit is not None and hint > limit:
                why = Why("user", "hint", {"hint": hint, "limit": limit})
                self._board.condemn(state, does_not_fit(CannotFit(resource, hint, limit, why)))

    # --- what to do next ---

    def decide(self, now: float) -> list[Decision]:
        """What should happen now. Call it again after its decisions were applied: one thing leads to another."""
        if self.finished:
            return []
        board = self._board
        decisions: list[Decision] = [records.GiveUp(now, task, verdict) for task, verdict in board.verdicts.items()]
        decisions += [records.Reuse(now, task, run) for task, run in board.reusable.items()]
        decisions += self._kills(now)
        if decisions:  # they change what is ready: the rest comes after
            return decisions
        if not self._winding_down:
            # A task that was looked at meanwhile may go first; the planner sees what still finds no place after that.
            decisions += self._reads(now) or self._launching.launches(now, self._overtaken)
            if decisions:
                return decisions
        over = self._winding_down and not board.counts[Phase.RUNNING]
        unfinished = 0 if over else board.unfinished() + self._growing
        wanting = 0 if over else board.counts[Phase.PLACEABLE] + board.counts[Phase.RUNNING]
        decisions += self._too_narrow(now) or self._plan(unfinished, wanting, now)
        if not unfinished and not decisions:
            decisions.append(records.Finish(now, self._status()))
        return decisions

    def _plan(self, unfinished: int, wanting: int, now: float) -> list[Decision]:
        board, held = self._board, self._allocations
        view = View(
            uid=self.settings.uid,
            unfinished=unfinished,
            wanting=wanting,
            jobs=held.jobs,
            live=held.live,
            limits=held.site,
            queue=held.queue,
            workflow=board.workflow,
            placeable=board.wanting if wanting else {},
            is_over=self._is_over,
            is_running=lambda task_id: self.tasks[task_id].running is not None,
            cut_off=lambda task_id: self.tasks[task_id].expiries,
            is_busy=self._is_busy,
            tasks_per_node=self._tasks_per_node,
            wakes_at=held.wakes_at,
            alarm_set_at=held.alarm_set_at,
            stopping=self._winding_down,
        )
        return [decision for decision in self._planner.plan(view, now) if not held.is_under_way(decision)]

    def _too_narrow(self, now: float) -> list[Decision]:
        """Jobs that are given back because they have lost nodes, and are by now too narrow for a task that waits."""
        why = Why("engine", "too-narrow")
        return [
            records.Release(now, job.tag, why)
            for job in self._allocations.live
            if job.lost_nodes and not self._is_busy(job.tag) and self._is_too_narrow(job)
        ]

    def _is_too_narrow(self, job: JobStatus) -> bool:
        asked = job.request.per_node.nodes
        return any(asked - job.lost_nodes < self.tasks[task_id].task.nodes <= asked for task_id in self._board.wanting)

    def _tasks_per_node(self) -> int:
        """How many of the first tasks that want to run fit on a node side by side."""
        first = next(iter(self._board.wanting), None)
        answer = self._launching.allocate(first) if first is not None else None
        return max(1, self.limits.room_for(answer.resources)) if isinstance(answer, Allocation) else 1

    def _is_busy(self, tag: str) -> bool:
        return any(node.running for node in self.nodes.values() if node.tag == tag)

    def _is_over(self, task_id: str) -> bool:
        return self.tasks[task_id].phase > Phase.RUNNING

    @property
    def _winding_down(self) -> bool:
        """Whether nothing new is to be started."""
        return self.stopping is not None or (self._board.counts[Phase.FAILED] > 0 and not self.settings.keep_going)

    def _status(self) -> Literal["succeeded", "failed", "stopped"]:
        if self._board.counts[Phase.FAILED]:
            return "failed"
        return "stopped" if self._board.unfinished() else "succeeded"

    def _kills(self, now: float) -> list[Decision]:
        if self.stopping == "now":
            why, unwanted = Why("user", "stop-now"), self.running()
        else:
            why, unwanted = Why("user", "withdrawn"), [self.tasks[task_id] for task_id in sorted(self._unwanted)]
        runs = [(state.task.id, state.running) for state in unwanted]
        return [records.Kill(now, task, run.attempt, why) for task, run in runs if run and not run.being_killed]

    def _reads(self, now: float) -> list[Decision]:
        reads: list[Decision] = []
        with self._board.unread.walk() as ready:
            room = {lane: READ_AHEAD - self._board.looked_at[lane[0]] for lane in ready.lanes()}
            for lane, task_id in ready:
                room[lane] -= 1
                if room[lane] < 0:
                    ready.skip(lane)
                else:
                    reads.append(records.ReadInputs(now, task_id))
        return reads
