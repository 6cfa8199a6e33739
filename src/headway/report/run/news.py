"""Events of a run that a display shows: retries, failures, lost nodes, a request to stop."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from headway.model.records import Decision, EnvironmentMissing, Event, GiveUp, Launch, NodeLost, UserCancel
from headway.model.resources import describe
from headway.report.run.summary import RunSummary
from headway.report.words import count, harmless


class Kind(StrEnum):
    """The kind of news, as the log names it."""

    RETRY = "retry"
    FAILED = "FAILED"
    LOST = "lost"
    STOPPING = "stopping"
    CREATING = "creating"


class News(Struct, frozen=True):
    """One line of news. `subject` is a task or a node, or empty."""

    kind: Kind
    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}: {self.text}" if self.subject else f"{self.kind} {self.text}"


_TYPES = (Launch, GiveUp, NodeLost, UserCancel, EnvironmentMissing)


def news_of(record: Event | Decision, summary: RunSummary) -> News | None:
    """Return the news in a record that has not been applied to `summary` yet."""
    if not isinstance(record, _TYPES):
        return None
    match record:
        case Launch() if record.attempt > 1:
            return _retry(record, summary)
        case GiveUp():
            return News(Kind.FAILED, harmless(record.task), harmless(record.why.text))
        case NodeLost():
            running = sum(launch.node == record.node for launch in summary.running.values())
            again = f"; {count(running, 'task')} will run again" if running else ""
            return News(Kind.LOST, f"node {record.node}", f"{record.message}{again}")
        case UserCancel():
            return _stopping(record, summary)
        case EnvironmentMissing():
            return News(Kind.CREATING, harmless(record.environment), f"tasks wait for it; its log is {record.log}")
    return None


def _retry(launch: Launch, summary: RunSummary) -> News:
    """Return why the task runs again, and how much it gets of the resource that ran out."""
    trouble = summary.troubles.get(launch.task)
    if trouble is None:
        return News(Kind.RETRY, harmless(launch.task), f"attempt {launch.attempt}; the last one was lost with its node")
    resource = trouble.ending.exhausted
    gets = f" with {describe(resource, launch.resources[resource] or 0)}" if resource else ""
    cause = harmless(trouble.message) or str(trouble.ending)
    return News(Kind.RETRY, harmless(launch.task), f"{cause}; attempt {launch.attempt}{gets}")


def _stopping(record: UserCancel, summary: RunSummary) -> News:
    running = len(summary.running)
    if record.mode == "now":
        return News(Kind.STOPPING, "", f"at once: ending {count(running, 'running task')}")
    if not running:
        return News(Kind.STOPPING, "", "gently: nothing is running")
    return News(
        Kind.STOPPING, "", f"gently: waiting for {count(running, 'running task')}; Ctrl-C again stops them at once"
    )
