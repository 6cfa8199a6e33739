"""`Collector`: follows a run's records and keeps what its page shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import islice
from typing import Any

from msgspec import Struct

from headway.model import records
from headway.model.job import JobPhase
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, Launch, Why, kind
from headway.model.resources import Resources
from headway.report.run.summary import QueuedJob
from headway.report.run_page.data import Attempts, Job, Node, Said, Tasks
from headway.report.words import amount, harmless

STATES = ("waiting", "running", "succeeded", "reused", "failed", "cut off")
RUNNING_ENDING, LOST_ENDING = "runs", "lost"
ENDINGS = (RUNNING_ENDING, *(str(ending) for ending in Ending), LOST_ENDING)
MOST_DECISIONS = 3_000
_MB = 1e6
_PLACES = {"local": "this machine", "pool": "the pool"}  # what stands for a job where there is no batch system


class WholeNodes(Struct, frozen=True):
    """Nodes that a job holds from its start, or (a negative number) no more from a later time on."""

    job: int
    nodes: int
    since: float | None = None


class Collector:
    """Give it every record in order with `apply`; then `end`."""

    def __init__(self) -> None:
        self.began = 0.0
        self.jobs: list[Job] = []
        self.nodes: list[Node] = []
        self.tasks = Tasks()
        self.attempts = Attempts()
        self.decisions: list[Said] = []
        self.decisions_left_out = 0
        self.categories: dict[str, int] = {}
        self.most_asked: defaultdict[int, dict[str, float]] = defaultdict(dict)  # by category: of each resource
        self.asked: list[dict[str, float]] = []  # by task: what it asks for
        self.machines: dict[str, Resources] = {}  # by node
        self.node_cores = 0.0  # of a usual node of the batch system
        self.whole_nodes: list[WholeNodes] = []
        self._cluster = ""
        self._task: dict[str, int] = {}
        self._parents: dict[int, list[str]] = {}
        self._done_at: dict[str, float] = {}
        self._job: dict[str, int] = {}
        self._node: dict[str, int] = {}
        self._running: dict[str, int] = {}  # by task: the attempt
        self._given: dict[int, float] = {}  # by category: what the last attempt was given
        self._handlers: dict[str, Callable[[Any], None]] = {
            tag: getattr(self, name)
            for tag in (str(each.__struct_config__.tag) for each in records.KINDS)
            if hasattr(self, name := f"_{tag.replace('-', '_')}")
        }

    def apply(self, record: Event | Decision) -> None:
        """Keep what the record says."""
        handler = self._handlers.get(kind(record))
        if handler is not None:
            handler(record)

    def end(self) -> None:
        """Find when each task could first run (it was there, and all that it needs had succeeded), and which cannot.

        More records may come afterwards, and then another `end`.
        """
        for task, parents in self._parents.items():
            times = [self._done_at.get(parent) for parent in parents]
            known = [at for at in times if at is not None]
            added = self.tasks.ready[task] or 0.0
            self.tasks.ready[task] = max([added, *known]) if len(known) == len(times) else None
        self._cut_off()

    def _cut_off(self) -> None:
        """Mark the tasks that wait for one that has failed."""
        children: defaultdict[str, list[int]] = defaultdict(list)
        for task, parents in self._parents.items():
            for parent in parents:
                children[parent].append(task)
        ids = list(self._task)
        waiting, failed, cut = (STATES.index(state) for state in ("waiting", "failed", "cut off"))
        below = [number for number, state in enumerate(self.tasks.state) if state == failed]
        while below:
            for child in children[ids[below.pop()]]:
                if self.tasks.state[child] == waiting:
                    self.tasks.state[child] = cut
                    below.append(child)

    def name_of(self, task: int) -> str | None:
        """The id of a task by its number on the page, as the journal has it."""
        return next(islice(self._task, task, None), None) if task >= 0 else None

    def _after(self, at: float) -> float:
        return round(at - self.began, 2)

    # --- handlers of records ---

    def _run_started(self, record: records.RunStarted) -> None:
        self.began, self._cluster = record.at, record.cluster

    def _tasks_added(self, record: records.TasksAdded) -> None:
        for task in record.tasks:
            number = self._task[task.id] = len(self.tasks.id)
            category = self.categories.setdefault(task.category, len(self.categories))
            self.tasks.id.append(harmless(task.id))
            self.tasks.category.append(category)
            self.tasks.state.append(0)
            self.tasks.ready.append(self._after(record.at))
            self._parents[number] = list(task.parents)
            self.asked.append(task.hints)
            most = self.most_asked[category]
            most |= {name: max(value, most.get(name, 0.0)) for name, value in task.hints.items()}

    def _submit(self, record: records.Submit) -> None:
        jobs = ((tag, self.jobs[number]) for tag, number in self._job.items())
        ended = {tag: self.began + job.ended for tag, job in jobs if job.ended is not None}
        submitted, ready = self._after(record.at), self._after(record.ready_at(ended))
        name, asks = _PLACES.get(self._cluster, record.tag), QueuedJob(record).shape
        self._job[record.tag] = len(self.jobs)
        self.whole_nodes.append(WholeNodes(len(self.jobs), record.request.per_node.nodes))
        self.jobs.append(
            Job(name, asks, submitted, ready, expected_wait=record.expected_wait_s, why=_words(record.why))
        )
        self._say(record.at, "job asked for", asks, record.why)

    def _admit(self, record: records.Admit) -> None:
        if record.tag in self._job:
            job = self.jobs[self._job[record.tag]]
            job.ready = self._after(record.at)
            self._say(record.at, "job let go", job.name, record.why)

    def _job_seen(self, record: records.JobSeen) -> None:
        if record.tag in self._job and record.job_id is not None:
            where = f" in {record.partition}" if record.partition else ""
            self.jobs[self._job[record.tag]].name = f"job {record.job_id}{where}"

    def _job_state(self, record: records.JobState) -> None:
        if record.tag not in self._job:
            return
        job, at = self.jobs[self._job[record.tag]], self._after(record.since or record.at)
        if record.phase is JobPhase.RUNNING and job.started is None:
            job.started = at
        elif record.phase is JobPhase.ENDED:
            self._job_ended(record.tag, at)

    def _release(self, record: records.Release) -> None:
        if record.tag in self._job:
            self._say(record.at, "job given back", self.jobs[self._job[record.tag]].name, record.why)
            self._job_ended(record.tag, self._after(record.at))

    def _job_ended(self, tag: str, at: float) -> None:
        job = self.jobs[self._job[tag]]
        if job.ended is None:
            job.ended = at

    def _node_up(self, record: records.NodeUp) -> None:
        number = self._job[record.tag]
        self.machines[record.node] = record.capacity
        if self.jobs[number].started is None:
            self.jobs[number].started = self._after(record.at)
        if record.node not in self._node or self.nodes[self._node[record.node]].job != number:
            self._node[record.node] = len(self.nodes)
            self.nodes.append(Node(record.node, number))

    def _limits_read(self, record: records.LimitsRead) -> None:
        if record.wish is None:
            self.node_cores = record.limits.cores

    def _shrunk(self, record: records.Shrunk) -> None:
        if record.tag in self._job:
            self.whole_nodes.append(WholeNodes(self._job[record.tag], -len(record.nodes), self._after(record.at)))

    def _node_lost(self, record: records.NodeLost) -> None:
        if (number := self._node.get(record.node)) is None:
            return
        for task, attempt in list(self._running.items()):
            if self.attempts.node[attempt] == number:
                self._lost(task, record.at)

    def _attempt_lost(self, record: records.AttemptLost) -> None:
        if record.task in self._running:
            self._lost(record.task, record.at)

    def _lost(self, task: str, at: float) -> None:
        attempt = self._running.pop(task)
        self.attempts.end[attempt] = self._after(at)
        self.attempts.ending[attempt] = ENDINGS.index(LOST_ENDING)
        self._state(task, "waiting")

    def _shrink(self, record: records.Shrink) -> None:
        self._say(record.at, "nodes given back", ", ".join(record.nodes), record.why)

    def _launch(self, record: Launch) -> None:
        columns, task = self.attempts, self._task[record.task]
        self._running[record.task] = len(columns.task)
        columns.task.append(task)
        columns.number.append(record.attempt)
        columns.node.append(self._node.get(record.node, -1))
        columns.start.append(self._after(record.at))
        columns.end.append(None)
        columns.ending.append(ENDINGS.index(RUNNING_ENDING))
        columns.cores.append(record.resources.cores)
        columns.busy.append(None)
        columns.given.append(round(record.resources.memory_bytes / _MB, 1))
        columns.used.append(None)
        columns.time.append(record.resources.walltime_s)
        self._state(record.task, "running")
        self._say_size(record, self.tasks.category[task])

    def _say_size(self, record: Launch, category: int) -> None:
        """Say why a category is given another amount of memory than before."""
        given = record.resources.memory_bytes
        if self._given.get(category) != given and "memory_bytes" in record.why:
            self._given[category] = given
            about = f"{record.task}: {amount('memory_bytes', given)}"
            self._say(record.at, "memory given", about, record.why["memory_bytes"])

    def _task_ended(self, record: records.TaskEnded) -> None:
        outcome = record.outcome
        attempt = self._running.get(outcome.task)
        if attempt is None or self.attempts.number[attempt] != outcome.attempt:
            return
        del self._running[outcome.task]
        self._measure(attempt, outcome)
        success = outcome.ending is Ending.SUCCESS
        self._state(outcome.task, "succeeded" if success else "waiting")
        if success:
            self._done_at[outcome.task] = self._after(record.at)

    def _measure(self, attempt: int, outcome: Outcome) -> None:
        columns, usage = self.attempts, outcome.usage
        if outcome.started_at:
            columns.start[attempt] = self._after(outcome.started_at)
        columns.end[attempt] = self._after(outcome.ended_at)
        columns.ending[attempt] = ENDINGS.index(str(outcome.ending))
        if usage.memory_bytes:
            columns.used[attempt] = round(usage.memory_bytes.value / _MB, 1)
        if usage.cores_average:
            columns.busy[attempt] = round(usage.cores_average.value, 2)

    def _reuse(self, record: records.Reuse) -> None:
        self._state(record.task, "reused")
        self._done_at[record.task] = self._after(record.at)

    def _remake(self, record: records.Remake) -> None:
        self._state(record.task, "waiting")

    def _give_up(self, record: records.GiveUp) -> None:
        self._state(record.task, "failed")
        self._say(record.at, "handed back" if record.handed_back else "given up", record.task, record.why)

    def _kill(self, record: records.Kill) -> None:
        self._say(record.at, "killed", record.task, record.why)

    def _give_notice(self, record: records.GiveNotice) -> None:
        self._say(record.at, "told to save its checkpoint", record.task, record.why)

    def _avoid_node(self, record: records.AvoidNode) -> None:
        self._say(record.at, "node avoided", record.node, record.why)

    def _state(self, task: str, state: str) -> None:
        self.tasks.state[self._task[task]] = STATES.index(state)

    def _say(self, at: float, what: str, about: str, why: Why) -> None:
        if len(self.decisions) >= MOST_DECISIONS:
            self.decisions_left_out += 1
            return
        self.decisions.append(Said(self._after(at), what, harmless(about), _words(why)))


def _words(why: Why) -> str:
    return harmless(why.text or f"{why.policy}: {why.rule}")
