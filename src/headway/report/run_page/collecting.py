"""`Collector`: follows a run's records and keeps what its page shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import islice
from typing import Any

from headway.journal.story.jobs import Job as KnownJob
from headway.model import records
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, Launch, Why, kind
from headway.model.resources import Resources
from headway.report.run.job_lines import shape_of
from headway.report.run.summary import RunSummary
from headway.report.run_page.data import Attempts, Job, Node, Said, Tasks
from headway.report.words import amount, harmless

STATES = ("waiting", "running", "succeeded", "reused", "failed", "cut off")
_NUMBER_OF = {state.replace(" ", "_"): number for number, state in enumerate(STATES)}
RUNNING_ENDING, LOST_ENDING = "runs", "lost"
ENDINGS = (RUNNING_ENDING, *(str(ending) for ending in Ending), LOST_ENDING)
MOST_DECISIONS = 3_000
_MB = 1e6
_PLACES = {"local": "this machine", "pool": "the pool"}  # what stands for a job where there is no batch system


class Collector:
    """Give it every record in order with `apply`, after its summary `run` has heard it; then `end`."""

    def __init__(self, run: RunSummary) -> None:
        self.run = run
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
        """Find the jobs, each task's state, and when it could first run: all that it needs had succeeded.

        More records may come afterwards, and then another `end`.
        """
        self.jobs = [self._page_job(job) for job in self.run.jobs.known.values()]
        self.tasks.state = [_NUMBER_OF[self.run.state_of(task)] for task in self._task]
        for task, parents in self._parents.items():
            times = [self._done_at.get(parent) for parent in parents]
            known = [at for at in times if at is not None]
            added = self.tasks.ready[task] or 0.0
            self.tasks.ready[task] = max([added, *known]) if len(known) == len(times) else None

    def name_of(self, task: int) -> str | None:
        """The id of a task by its number on the page, as the journal has it."""
        return next(islice(self._task, task, None), None) if task >= 0 else None

    def _after(self, at: float) -> float:
        return round(at - self.began, 2)

    def _page_job(self, job: KnownJob) -> Job:
        times = (job.eligible_at, job.started_at, job.ended_at)
        ready, started, ended = (None if at is None else self._after(at) for at in times)
        submit = job.submit
        name, asks, at = self._name_of(job), shape_of(job), self._after(submit.at)
        return Job(name, asks, at, ready, started, ended, submit.expected_wait_s, _words(submit.why))

    def _name_of(self, job: KnownJob) -> str:
        if job.seen is None or job.seen.job_id is None:
            return _PLACES.get(self.run.settings.cluster if self.run.settings else "", job.submit.tag)
        where = f" in {job.seen.partition}" if job.seen.partition else ""
        return f"job {job.seen.job_id}{where}"

    # --- handlers of records ---

    def _run_started(self, record: records.RunStarted) -> None:
        self.began = record.at

    def _tasks_added(self, record: records.TasksAdded) -> None:
        for task in record.tasks:
            number = self._task[task.id] = len(self.tasks.id)
            category = self.categories.setdefault(task.category, len(self.categories))
            self.tasks.id.append(harmless(task.id))
            self.tasks.category.append(category)
            self.tasks.ready.append(self._after(record.at))
            self._parents[number] = list(task.parents)
            self.asked.append(task.hints)
            most = self.most_asked[category]
            most |= {name: max(value, most.get(name, 0.0)) for name, value in task.hints.items()}

    def _submit(self, record: records.Submit) -> None:
        self._job[record.tag] = len(self._job)
        self._say(record.at, "job asked for", shape_of(self.run.jobs.known[record.tag]), record.why)

    def _admit(self, record: records.Admit) -> None:
        if record.tag in self._job:
            self._say(record.at, "job let go", self._name_of(self.run.jobs.known[record.tag]), record.why)

    def _release(self, record: records.Release) -> None:
        if record.tag in self._job:
            self._say(record.at, "job given back", self._name_of(self.run.jobs.known[record.tag]), record.why)

    def _node_up(self, record: records.NodeUp) -> None:
        number = self._job[record.tag]
        self.machines[record.node] = record.capacity
        if record.node not in self._node or self.nodes[self._node[record.node]].job != number:
            self._node[record.node] = len(self.nodes)
            self.nodes.append(Node(record.node, number))

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
        if outcome.ending is Ending.SUCCESS:
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
        self._done_at[record.task] = self._after(record.at)

    def _give_up(self, record: records.GiveUp) -> None:
        self._say(record.at, "handed back" if record.handed_back else "given up", record.task, record.why)

    def _kill(self, record: records.Kill) -> None:
        self._say(record.at, "killed", record.task, record.why)

    def _give_notice(self, record: records.GiveNotice) -> None:
        self._say(record.at, "told to save its checkpoint", record.task, record.why)

    def _avoid_node(self, record: records.AvoidNode) -> None:
        self._say(record.at, "node avoided", record.node, record.why)

    def _say(self, at: float, what: str, about: str, why: Why) -> None:
        if len(self.decisions) >= MOST_DECISIONS:
            self.decisions_left_out += 1
            return
        self.decisions.append(Said(self._after(at), what, harmless(about), _words(why)))


def _words(why: Why) -> str:
    return harmless(why.text or f"{why.policy}: {why.rule}")
