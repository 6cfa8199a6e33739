"""Progress of a run, shown as its records become durable: its news, the base of all displays, the display for logs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct, structs
from rich.console import Console
from rich.text import Text

from headway.journal.story.jobs import Job
from headway.model.job import JobPhase
from headway.model.records import (
    AvoidNode,
    BudgetUsed,
    Decision,
    EnvironmentMissing,
    Event,
    GiveUp,
    JobSeen,
    JobState,
    Launch,
    NodeLost,
    QueueUnread,
    Shrunk,
    UserCancel,
)
from headway.model.resources import describe
from headway.model.units import format_duration
from headway.report.run.job_lines import named, outlook, shape_of, without_nodes
from headway.report.run.summary import RunSummary
from headway.report.saying import show
from headway.report.streams import silence
from headway.report.words import clock, count, harmless


class Kind(StrEnum):
    """The kind of news, as the log names it."""

    RETRY = "retry"
    FAILED = "FAILED"
    LOST = "lost"
    STOPPING = "stopping"
    CREATING = "creating"
    WAITS = "waits"
    HELD = "HELD"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    CHANGED = "changed"
    DRAINED = "drained"
    AVOIDED = "avoided"
    NARROWER = "narrower"


class News(Struct, frozen=True):
    """One line of news. `subject` is a task or a node, or empty."""

    kind: Kind
    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}: {self.text}" if self.subject else f"{self.kind} {self.text}"


def news_of(record: Event | Decision, summary: RunSummary) -> News | None:
    """Return the news in a record that has not been applied to `summary` yet."""
    match record:
        case Launch() if record.attempt > 1:
            return _retry(record, summary)
        case GiveUp() if not record.handed_back:
            return News(Kind.FAILED, harmless(record.task), harmless(record.why.text))
        case NodeLost():
            running = sum(launch.node == record.node for launch in summary.running.values())
            again = f"; {count(running, 'task')} will run again" if running else ""
            return News(Kind.LOST, f"node {record.node}", f"{record.message}{again}")
        case JobSeen() | JobState() | Shrunk() if summary.jobs.is_live(record.tag):
            return _of_job(record, summary.jobs.known[record.tag])
        case AvoidNode() | QueueUnread():
            return _of_nodes(record)
        case UserCancel() | BudgetUsed():
            return _stopping(record, summary)
        case EnvironmentMissing():
            return News(Kind.CREATING, harmless(record.environment), f"tasks wait for it; its log is {record.log}")
    return None


def _of_nodes(record: AvoidNode | QueueUnread) -> News:
    """Return that a node is avoided, or that there are no nodes for tasks, or again some."""
    if isinstance(record, AvoidNode):
        return News(Kind.AVOIDED, f"node {record.node}", f"{record.why.text}; until {clock(record.until)}")
    tasks, why = without_nodes(record)
    return News(Kind.WAITS, tasks, why) if record.message else News(Kind.RESUMED, tasks, "jobs are planned again")


def _retry(launch: Launch, summary: RunSummary) -> News:
    """Return why the task runs again, and how much it gets of the resource that ran out."""
    trouble = summary.troubles.get(launch.task)
    if trouble is None:
        return News(Kind.RETRY, harmless(launch.task), f"attempt {launch.attempt}; the last one was lost with its node")
    resource = trouble.ending.exhausted
    gets = f" with {describe(resource, launch.resources[resource] or 0)}" if resource else ""
    cause = harmless(trouble.message) or str(trouble.ending)
    return News(Kind.RETRY, harmless(launch.task), f"{cause}; attempt {launch.attempt}{gets}")


def _of_job(record: JobSeen | JobState | Shrunk, job: Job) -> News | None:
    """Return the news in what the batch system says of a job."""
    if isinstance(record, Shrunk):
        return _narrower(record, job)
    if isinstance(record, JobSeen):
        return _changed(record, job) if record.phase is JobPhase.RUNNING else _waits(record, job)
    if record.phase is not JobPhase.ENDED or not record.message or job.started_at is not None:
        return None  # of a job that has run, the loss of its nodes says it
    return News(Kind.LOST, f"job {named(job)} ({shape_of(job)})", harmless(record.message))


def _waits(record: JobSeen, job: Job) -> News | None:
    """Return why a job waits, when that is known or changes."""
    if not record.message or (job.seen is not None and job.seen.message == record.message):
        return None
    job = structs.replace(job, seen=record)
    said = "; ".join([harmless(record.message), *outlook(job.expected_at, record.at)])
    return News(Kind.HELD if record.held else Kind.WAITS, f"job {named(job)} ({shape_of(job)})", said)


def _changed(record: JobSeen, job: Job) -> News | None:
    """Return what became of a running job: it was suspended or resumed, or has another time limit."""
    before = job.seen or structs.replace(record, suspended=False, walltime_s=None)
    subject = f"job {named(structs.replace(job, seen=record))} ({shape_of(job)})"
    if record.suspended and not before.suspended:
        return News(Kind.SUSPENDED, subject, "its tasks stand still until it is resumed, and no others start there")
    longer = record.walltime_s or job.submit.request.per_node.walltime_s
    if before.suspended and not record.suspended:
        return News(Kind.RESUMED, subject, "its tasks go on; the time in between does not count")
    if record.message and record.message != before.message:
        return News(Kind.DRAINED, "", harmless(record.message))
    if record.walltime_s == before.walltime_s or record.suspended or longer is None:
        return None
    return News(Kind.CHANGED, subject, f"it may run for {format_duration(longer)} now")


def _narrower(record: Shrunk, job: Job) -> News:
    """Return which nodes a job gave back, or that it may not."""
    gave = f"gave back {', '.join(name.partition('#')[0] for name in record.nodes)}, idle for now"
    kept = f"the batch system takes no nodes back from running jobs ({record.refused}); they stay until their jobs end"
    return News(Kind.NARROWER, f"job {named(job)} ({shape_of(job)})", kept if record.refused else gave)


def _stopping(record: UserCancel | BudgetUsed, summary: RunSummary) -> News:
    if isinstance(record, BudgetUsed):
        budget = summary.settings.budget or 0.0 if summary.settings else 0.0
        text = f"the budget of {budget:g} core-hours is used up; tasks that run may end"
        if record.needed > budget:
            text = f"the tasks need about {record.needed:.3g} core-hours by earlier runs, and the budget is {budget:g}"
        return News(Kind.STOPPING, "", f"gently: {text}")
    running = count(len(summary.running), "running task")
    if record.because:
        return News(Kind.STOPPING, "", f"gently: {record.because}; `headway resume` goes on")
    text = f"gently: waiting for {running}; Ctrl-C again stops them at once"
    if record.mode == "now":
        text = f"at once: ending {running}"
    elif not summary.running:
        text = "gently: nothing is running"
    return News(Kind.STOPPING, "", text)


# The shortest time between two progress lines in a log; it grows as a run goes on.
_SHORTEST_S = 10.0
_STEPS = 10
_MOST_OF_A_KIND = 50

STYLES = {
    Kind.FAILED: "bold red",
    Kind.RETRY: "yellow",
    Kind.LOST: "yellow",
    Kind.STOPPING: "bold yellow",
    Kind.CREATING: "cyan",
    Kind.WAITS: "cyan",
    Kind.HELD: "bold red",
    Kind.AVOIDED: "yellow",
    Kind.SUSPENDED: "yellow",
    Kind.RESUMED: "cyan",
    Kind.CHANGED: "cyan",
    Kind.DRAINED: "yellow",
    Kind.NARROWER: "cyan",
}


class Progress:
    """Keeps a summary up to date and shows nothing, as `--quiet` wants; subclasses override `_tell` to show more.

    A display must never harm the run: when its output cannot be written any more (a closed pipe, a closed terminal), it
    stops showing and the run goes on.
    """

    def __init__(self, summary: RunSummary) -> None:
        self.summary = summary
        self._readable = True

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def catch_up(self, batch: Iterable[Event | Decision]) -> None:
        """Bring the summary up to date with records from before this process watched: they are no news."""
        for record in batch:
            self.summary.apply(record)

    def __call__(self, batch: Sequence[Event | Decision]) -> None:
        """Observe a driver: `batch` is durable now."""
        told = self._fold(batch)
        if self._readable:
            try:
                self._tell(told)
            except (OSError, ValueError):  # ValueError: the stream was closed
                self._give_up()

    def _give_up(self) -> None:
        """Stop showing: the output cannot be written any more."""
        self._readable = False

    def _fold(self, batch: Sequence[Event | Decision]) -> list[News]:
        """Bring the summary up to date; return the news in the batch."""
        told: list[News] = []
        for record in batch:
            news = news_of(record, self.summary)
            if news is not None:
                told.append(news)
            self.summary.apply(record)
        return told

    def _tell(self, told: Sequence[News]) -> None:
        """Show news, and how far the run is."""


class Lines(Progress):
    """Prints lines, for logs: the start, what goes wrong, and from time to time how far the run is."""

    def __init__(self, summary: RunSummary, console: Console) -> None:
        super().__init__(summary)
        self._console = console
        self._greeted = False
        self._shown_at = 0.0
        self._shown_step = 0
        self._told: dict[Kind, int] = {}

    def _tell(self, told: Sequence[News]) -> None:
        now = time.time()
        if not self._greeted:
            self._greeted = True
            self._shown_at = now
            self._say(now, greeting(self.summary))
            self._shown_step = self._step()
        for news in told:
            self._news(now, news)
        silent_s = now - self._shown_at
        if silent_s < 1.0 or self.summary.finished:
            return
        step = self._step()
        if step > self._shown_step or silent_s >= max(_SHORTEST_S, self.summary.elapsed_s(now) / 20):
            self._shown_at, self._shown_step = now, step
            self._say(now, Text(state_of(self.summary)))

    def _step(self) -> int:
        whole = self.summary.whole()
        return _STEPS * whole.done // max(1, whole.total)

    def _news(self, now: float, news: News) -> None:
        told = self._told[news.kind] = self._told.get(news.kind, 0) + 1
        if told <= _MOST_OF_A_KIND:
            self._say(now, styled(news))
        elif told == _MOST_OF_A_KIND + 1:
            self._say(now, Text(f"more of these ({news.kind}) are counted, not listed"))

    def _give_up(self) -> None:
        super()._give_up()
        silence(self._console.file)

    def _say(self, now: float, line: Text) -> None:
        show(self._console, Text.assemble((clock(now), "dim"), "  ", line))
        self._console.file.flush()


def styled(news: News) -> Text:
    """Return a line of news with its kind in colour."""
    style = STYLES[news.kind]
    subject = Text.assemble(" ", (news.subject, "bold"), ": ") if news.subject else Text(" ")
    return Text.assemble((str(news.kind), style), subject, news.text)


def greeting(summary: RunSummary) -> Text:
    """Return the line that a display begins with: the workflow, its tasks and the limits."""
    settings, whole = summary.settings, summary.whole()
    name = harmless(settings.name) if settings else ""
    run = settings.run if settings else ""
    sizer = f"; sizes by {settings.sizer}" if settings else ""
    if summary.learned_from:
        sizer += f", {count(summary.learned_from, 'earlier attempt')} known"
    text = Text.assemble(
        (name, "bold"), f", run {run}: {summary.at_least}{count(whole.total, 'task')} on {summary.limits}{sizer}"
    )
    if whole.done:
        text.append(f"; {whole.done:,} done already")
    return text


def state_of(summary: RunSummary) -> str:
    """Return how far the run is, in one line."""
    whole = summary.whole()
    retrying = len(summary.troubles)
    parts = [
        f"{100 * whole.done // max(1, whole.total):3d}%",
        f"{whole.done:,} of {summary.at_least}{whole.total:,} done",
        f"{whole.running:,} running",
        *([f"{retrying:,} to be retried"] if retrying else []),
        *([f"{whole.failed:,} failed"] if whole.failed else []),
        *([f"{whole.cut_off:,} cut off"] if whole.cut_off else []),
    ]
    return ", ".join(parts)
