"""`Engine`: the run as a pure state machine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Literal

from msgspec import structs

from headway.engine.queue import Lane
from headway.engine.run_state import RunState
from headway.engine.state import Phase, Running, TaskState
from headway.model import records
from headway.model.coming import Coming, stand_ins
from headway.model.job import Wish
from headway.model.outcome import Stamp
from headway.model.records import Decision, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.planning.base import JobStatus, View
from headway.planning.keeping import START_S, UNKNOWN_S, keep_s
from headway.planning.packing import Need
from headway.sizing.base import Allocation, CannotFit

# Ready tasks of a category whose files are read before there is room for them: enough that a free core never waits for
# a read, few enough that a fan-out of 100,000 tasks starts at once.
READ_AHEAD = 256
_LOOKED_AT = 64  # of the tasks that wait, when an idle job may be too small for them


class Engine(RunState, eq=False, dict=True):
    """Facts in, decisions out: no clock, no I/O, no randomness of its own.

    `apply` (see `RunState`) changes the state; `decide` reads it and returns what should happen now. A driver writes
    each decision to the journal, applies it, and acts on it. Replaying a journal applies its records without deciding.
    """

    def would_give(self, task_id: str) -> Allocation | CannotFit:
        """Return what the task's next attempt would be given; a dry run asks this."""
        return self._launching.allocate(task_id)

    def temporary(self, task: Task) -> dict[str, str]:
        """Digests of the temporary files that a task reads and whose makers' results stand; empty if not known.

        The files may be gone, or made again: they count as what they were.
        """
        return self._kept_in_mind(map(self.tasks.__getitem__, task.parents))

    def temporary_for(self, name: str) -> dict[str, str]:
        """Digests of the temporary files of which a deferred entry may have a task each, and that may be gone."""
        makers = next(block.of for block in self.deferred.blocks if block.name == name)
        return self._kept_in_mind(state for state in self.tasks.values() if state.task.category in makers)

    def _kept_in_mind(self, makers: Iterable[TaskState]) -> dict[str, str]:
        found: dict[str, str] = {}
        for state in makers:
            if state.task.temp and (state.remade_for or not state.attempts):
                found |= dict.fromkeys(state.task.temp, "") | self.known[state.task.id].temp
        return found

    def made_before(self, task_id: str) -> dict[str, Sequence[Stamp]]:
        """Return those of the task's outputs that earlier runs made, as they were then."""
        return self._board.made_before(self.tasks[task_id].task)

    def decide(self, now: float) -> list[Decision]:
        """What should happen now. Call it again after its decisions were applied, until it returns none."""
        if self.finished:
            return []
        board = self._board
        decisions: list[Decision] = [
            records.GiveUp(now, task, verdict, handed_back=self.tasks[task].handed_back)
            for task, verdict in board.verdicts.items()
        ]
        decisions += [records.Reuse(now, task, run) for task, run in board.reusable.items()]
        decisions += [records.Remake(now, task, reader) for task, reader in board.remakes.items()]
        if not self._to_come:  # their tasks may read temporary outputs
            decisions += [records.Discard(now, task, path) for path, task in board.discards.items()]
        if not self._winding_down:
            decisions += [records.Expand(now, name) for name in self._to_come.due()]
        decisions += [self._launching.quote(now, asked) for asked in self._asked.values()]
        decisions += self._kills(now)
        decisions += self.bad_nodes.verdicts(now)
        decisions += self._over_budget(now)
        if decisions:  # they change which tasks are ready, so the rest is decided after them
            return decisions
        if not self._winding_down:
            # Files are read before anything starts, since such a task may go first; the planner sees what still has
            # no node after that.
            decisions += self._reads(now) or self._launching.launches(now, self._overtaken)
            if decisions:
                return decisions
        over = self._winding_down and not board.counts[Phase.RUNNING]
        unfinished = 0 if over else board.unfinished() + self._growing
        decisions += self._too_narrow(now)
        decisions += self._until_idle(now)
        if self._growing and self.settings.plan and now < self._gathered_at and not self._winding_down:
            planned = self._allocations.sites.keys() <= self._allocations.alarms.keys()  # the planner knows when
            return decisions or ([] if planned else self._wake(now, self._gathered_at, "more-tasks-may-come"))
        for wish in self._allocations.sites:
            if not decisions:
                decisions += self._plan(wish, 0 if over else self._left(wish) + self._may_come(wish, now), now)
        if not unfinished and not decisions and not board.discarding:
            decisions.append(records.Finish(now, self._status()))
        return decisions or self._until_budget_is_used(now)

    def _rests(self, wish: Wish | None) -> bool:
        """Whether a growing run has no tasks with a wish now, and none is foreseen."""
        foreseen = wish is None and bool(self._foreseen)
        return self._growing and bool(self.settings.plan) and not self._left(wish) and not foreseen

    def _may_come(self, wish: Wish | None, now: float) -> bool:
        """Whether jobs for tasks with a wish are kept for those that a program may add.

        They are not while a job for other tasks waits in the queue: it may wait for their nodes.
        """
        if not self._rests(wish):
            return self._growing
        waits = any(job.started_at is None and job.request.wish != wish for job in self._allocations.live)
        return not waits and now < self._kept_until(wish)

    def _kept_until(self, wish: Wish | None) -> float:
        """When the jobs of a growing run without tasks are given back: the next task may come soon."""
        jobs = [job for job in self._allocations.live if job.request.wish == wish and job.started_at is not None]
        wait_s = self.planner.wait_s(jobs)
        kept_s = UNKNOWN_S if wait_s is None else keep_s(max(START_S, wait_s), self._rests_s[wish])
        return self._busy_at.get(wish, 0.0) + kept_s

    def _until_idle(self, now: float) -> list[Decision]:
        """Look again when jobs of a growing run have had no tasks for so long that they are given back."""
        wishes = dict.fromkeys(job.request.wish for job in self._allocations.live)
        due = {wish: self._kept_until(wish) for wish in wishes if self._rests(wish)}
        return [alarm for wish in due for alarm in self._wake(now, due[wish], "idle", wish) if now < due[wish]]

    def _over_budget(self, now: float) -> list[Decision]:
        """Stop at the run's limit of core-hours, or before its first job if what is left is known to need more."""
        budget, held = self.settings.budget, self._allocations
        if budget is None or self.stopping is not None:
            return []
        if (used := held.core_hours(now)) >= budget:
            return [records.BudgetUsed(now, used)]
        if held.jobs or self.run_times is None or not self.tasks:
            return []
        left = (state.task for state in self.tasks.values() if state.phase <= Phase.RUNNING)
        needed = sum(self.run_times.learned_s(task) * task.nodes * task.hints.get("cores", 1.0) for task in left) / 3600
        return [records.BudgetUsed(now, used, needed)] if needed > budget else []

    def _until_budget_is_used(self, now: float) -> list[Decision]:
        """Look again when the limit of core-hours is reached, also if nothing happens before."""
        if self.settings.budget is None or self.stopping is not None:
            return []
        due = max(now + 1.0, self._allocations.held_until(self.settings.budget, now))
        return [] if math.isinf(due) else self._wake(now, due, "budget")

    def _wake(self, now: float, due: float, rule: str, wish: Wish | None = None) -> list[Decision]:
        """Decide again at a time, unless that is arranged."""
        alarm = records.WakeAt(now, due, Why("engine", rule), wish)
        return [] if self._allocations.is_under_way(alarm) else [alarm]

    def _plan(self, wish: Wish | None, unfinished: int, now: float) -> list[Decision]:
        """Plan the jobs for the tasks with a wish, of which so many are unfinished, as if there were no others."""
        board, held = self._board, self._allocations
        alarm = held.alarms.get(wish)
        jobs, live, limits = held.jobs_with(wish)
        view = View(
            uid=self.settings.uid,
            submitted=len(held.jobs),
            unfinished=unfinished,
            wanting=board.counts[Phase.PLACEABLE] + board.counts[Phase.RUNNING] if unfinished else 0,
            jobs=jobs,
            live=live,
            limits=limits,
            queue=held.queues.get(wish),
            workflow=board.workflow,
            placeable=board.wanting(wish) if unfinished else {},
            is_over=self._is_over,
            is_near=lambda task_id: not board.wishes or board.is_near(self.tasks[task_id], wish),
            is_running=lambda task_id: self._running(task_id) is not None,
            runs_in=self._runs_in,
            ran_s=lambda task_id: 0.0 if (it := self._running(task_id)) is None else now - it.launched_at,
            checkpointing=[task_id for task_id, state in self._checkpointing.items() if state.running is not None],
            saved_s=lambda task_id: self.tasks[task_id].saved_s if task_id in self.tasks else 0.0,
            attempt=self._attempt,
            ended_jobs=lambda task_id: held.ended[task_id] + _expiries(board.workflow.tasks[task_id]),
            cut_off=lambda task_id: self.tasks[task_id].expiries if task_id in self.tasks else 0,
            is_busy=self._is_busy,
            idle_nodes=self._idle_nodes,
            tasks_per_node=partial(self._tasks_per_node, wish),
            needs=self._needs,
            is_large=partial(self._is_large, {}),
            wakes_at=alarm.until if alarm else None,
            alarm_set_at=alarm.at if alarm else None,
            stopping=self._winding_down,
            share_is_over=lambda share: not self._fair.account(share).unfinished and not self._foreseen.has(share),
            opening_s=held.opening_s,
            foreseen=[] if self._winding_down else self._expected(wish),
        )
        wished = (_with_wish(decision, wish) for decision in self.planner.plan(view, now))
        decisions = [decision for decision in wished if not held.is_under_way(decision)]
        if limits.preempts:
            return [self._with_stake(one, view) if isinstance(one, records.Submit) else one for one in decisions]
        return decisions

    def to_come(self, wish: Wish | None) -> list[Coming]:
        """What is expected of deferred entries of the workflow file, after all tasks that are known."""
        if not self._to_come:
            return []
        node, levels = self._allocations.sites[wish].limits, len(self.workflow.widths())
        return self._to_come.coming(wish, node, levels, self.run_times or (lambda task: 0.0))

    def _expected(self, wish: Wish | None) -> Sequence[Task]:
        """Tasks that stand for what is to come: from the workflows of a pool, or from this workflow's own file."""
        foreseen = self._foreseen.tasks() if wish is None else []
        last = self.workflow.topological()[-1] if self._to_come and self.workflow.tasks else ""
        return [*foreseen, *stand_ins(self.to_come(wish), "", last)]

    def _with_stake(self, submit: records.Submit, view: View) -> records.Submit:
        """The submission, with the most work that one of its tasks would lose with the job: its run time.

        A task that asks for notice continues from a checkpoint: it loses what it needs to write one.
        """
        tasks = [view.workflow.tasks[task_id] for task_id in submit.tasks or submit.meant_for]
        if not tasks and submit.role in ("filler", "small-filler"):
            tasks = [view.workflow.tasks[task_id] for task_id in view.placeable]
        longest_s = submit.request.per_node.walltime_s or math.inf
        expected_s = self.run_times or (lambda task: longest_s)
        lost_s = [min(task.notice_s or math.inf, expected_s(task)) for task in tasks or view.remaining()]
        stake_s = max((it for it in lost_s if it <= longest_s), default=longest_s)  # longer ones do not run in it
        return structs.replace(submit, request=structs.replace(submit.request, at_stake_s=stake_s))

    def _too_narrow(self, now: float) -> list[Decision]:
        """Release idle jobs that do not serve the tasks that wait: too narrow, too small, or on nodes to avoid."""
        avoided = {node.tag for node in self.nodes.values() if self.bad_nodes.is_avoided(node.name)}
        rules: dict[str, str] = {}
        for job in self._allocations.live:
            if job.started_at is None or self._is_busy(job.tag):
                continue
            if job.tag in avoided and self._board.wanting(job.request.wish):
                rules[job.tag] = "bad-node"
            elif job.lost_nodes and self._is_too_narrow(job):
                rules[job.tag] = "too-narrow"
            elif job.request.places and self._is_too_small(job):
                rules[job.tag] = "too-small"
        return [records.Release(now, tag, Why("engine", rule)) for tag, rule in rules.items()]

    def _is_too_small(self, job: JobStatus) -> bool:
        """Whether a task that could run in this job needs more than its share; the next job will have more."""
        wish, share = job.request.wish, job.request.per_node.replace(walltime_s=None)
        usual = self._allocations.sites[wish].limits.replace(walltime_s=None)
        wanting = (task_id for task_id in self._board.wanting(wish) if not job.tasks or task_id in job.tasks)
        needs = map(self._launching.likely, islice(wanting, _LOOKED_AT))
        return any(need.fits_in(usual) and not need.fits_in(share) for need in needs)

    def _is_too_narrow(self, job: JobStatus) -> bool:
        asked = job.request.per_node.nodes
        wanting = self._board.wanting(job.request.wish)
        return any(asked - job.lost_nodes < self.tasks[task_id].task.nodes <= asked for task_id in wanting)

    def _tasks_per_node(self, wish: Wish | None) -> int:
        """How many tasks like the first that wants to run fit on a node side by side."""
        first = next(iter(self._board.wanting(wish)), None)
        answer = self._launching.allocate(first) if first is not None else None
        most = self._allocations.sites[wish].limits
        return max(1, most.room_for(answer.resources)) if isinstance(answer, Allocation) else 1

    def _is_large(self, known: dict[str, bool], task: Task) -> bool:
        """Whether a task needs more than a usual node has; one that has not failed is like others of its category."""
        if task.id not in self.tasks:
            return not _stated(task).fits_in(self._allocations.sites[None].limits.replace(walltime_s=None))
        failed = bool(self.tasks[task.id].exhausted)
        if failed or task.category not in known:
            usual = self._allocations.sites[self.tasks[task.id].part[0]].limits
            is_large = not self._launching.likely(task.id).fits_in(usual.replace(walltime_s=None))
            return is_large if failed else known.setdefault(task.category, is_large)
        return known[task.category]

    def _needs(self, tasks: Sequence[Task]) -> dict[str, Need]:
        """What these tasks need on a node, by category."""
        by_category: dict[str, list[Task]] = {}
        for task in tasks:
            by_category.setdefault(task.category, []).append(task)
        return {category: self._need(alike) for category, alike in by_category.items()}

    def _need(self, tasks: Sequence[Task]) -> Need:
        """The need of tasks of one category. One that has not failed speaks for all.

        The largest is of one that has failed, is ready, or has the most input.
        """
        number, tasks = len(tasks), [task for task in tasks if task.id in self.tasks] or list(tasks)
        if tasks[0].id not in self.tasks:  # they are only foreseen
            return Need(_stated(tasks[0]), _stated(tasks[0]), number)
        ready = set(islice(self._board.wanting(self.tasks[tasks[0].id].part[0]), _LOOKED_AT))
        asked = [task.id for task in tasks if self.tasks[task.id].exhausted or task.id in ready]
        with_most = max(tasks, key=lambda task: task.input_bytes or 0).id
        first = next((task.id for task in tasks if not self.tasks[task.id].exhausted), tasks[0].id)
        largest = Resources()
        for task_id in {first, with_most, *asked}:
            largest = largest.covering(self._launching.with_next(task_id))
        return Need(self._launching.likely(first), largest, number)

    def _is_busy(self, tag: str) -> bool:
        return any(node.running for node in self.nodes.values() if node.tag == tag)

    def _running(self, task_id: str) -> Running | None:
        """The attempt of a task that is running; a task that is only foreseen has none."""
        state = self.tasks.get(task_id)
        return None if state is None else state.running

    def _attempt(self, task_id: str) -> tuple[int, bool]:
        running = self._running(task_id)
        return (0, False) if running is None else (running.attempt, running.noticed)

    def _runs_in(self, task_id: str) -> str | None:
        running = self._running(task_id)
        node = self.nodes.get(running.nodes[0]) if running is not None else None
        return node.tag if node is not None else None

    def _idle_nodes(self, tag: str) -> list[str]:
        nodes = (node for node in self.nodes.values() if node.tag == tag)
        idle = [node.name for node in nodes if not node.running and not node.keeps_job]
        spanned = {name for state in self.running() if state.running for name in state.running.nodes} if idle else ()
        return [name for name in idle if name not in spanned]

    def _is_over(self, task_id: str) -> bool:
        return self.tasks[task_id].phase > Phase.RUNNING

    @property
    def _winding_down(self) -> bool:
        """Whether nothing new is to be started."""
        return self.stopping is not None or (self._board.counts[Phase.FAILED] > 0 and not self.settings.keep_going)

    def _status(self) -> Literal["succeeded", "failed", "stopped"]:
        if self._board.counts[Phase.FAILED]:
            return "failed"
        return "stopped" if self._board.unfinished() or self._to_come else "succeeded"

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
            room: dict[Lane, int] = {}
            for lane, task_id in ready:
                room[lane] = room.get(lane, READ_AHEAD - self._board.looked_at[lane[0], lane[3]]) - 1
                if room[lane] < 0:
                    ready.skip(lane)
                else:
                    reads.append(records.ReadInputs(now, task_id))
        return reads


def _stated(task: Task) -> Resources:
    """What a task that is only foreseen is said to need on a node."""
    hints = task.hints
    return Resources(
        cores=hints.get("cores", 1.0), memory_bytes=int(hints.get("memory_bytes", 0)), gpus=hints.get("gpus", 0)
    )


def _with_wish(decision: Decision, wish: Wish | None) -> Decision:
    """The decision for tasks with a wish."""
    match decision:
        case records.Submit() if wish is not None:
            return structs.replace(decision, request=structs.replace(decision.request, wish=wish))
        case records.AskQueue() | records.WakeAt() if wish is not None:
            return structs.replace(decision, wish=wish)
    return decision


def _expiries(task: Task) -> int:
    """How many earlier attempts ended with their job, if the task of a pool stands for an attempt of another run."""
    return task.work.expiries if task.work is not None else 0
