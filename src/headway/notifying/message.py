"""`Message`: what people are told about a run, in words and as fields."""

from __future__ import annotations

import shlex
import socket
from typing import Any, Literal

from msgspec import Struct, to_builtins

from headway.model.units import format_duration
from headway.report.run.figures import STATES
from headway.report.run.job_lines import job_lines
from headway.report.run.summary import Failure, RunSummary
from headway.report.words import count, harmless
from headway.version import __version__

Occasion = Literal["end", "failure", "stuck"]

_MOST_JOBS = 5


class FirstFailure(Struct, frozen=True):
    """The first task that failed for good: why, and the last lines that it wrote."""

    task: str
    why: str
    log: list[str]


class Message(Struct, frozen=True):
    """A message about a run. `title` is its first line, `details` are the further lines."""

    event: Occasion
    title: str
    details: list[str]
    workflow: str
    run: str
    state: str
    tasks: dict[str, int]  # their number by state, and `total`
    elapsed_s: float
    host: str
    directory: str
    first_failure: FirstFailure | None
    look: str  # the command that shows more

    @property
    def text(self) -> str:
        """All of it, for people."""
        failure = self.first_failure
        lines = [self.title, *self.details]
        if failure is not None:
            lines += [f"first failure: {failure.task}: {failure.why}", *(f"    {line}" for line in failure.log)]
        return "\n".join([*lines, f"where: {self.host}:{self.directory}", f"look further: {self.look}"])

    def document(self) -> dict[str, Any]:
        """Return it as JSON values: `text` for people, and every field."""
        fields: dict[str, Any] = to_builtins(self)
        shown = {name: value for name, value in fields.items() if name not in ("title", "details")}
        return {"text": self.text, **shown, "headway": __version__}


def message_of(
    event: Occasion, summary: RunSummary, now: float, *, idle_s: float = 0.0, trouble: str = ""
) -> tuple[Message, Failure | None]:
    """Return a message about the run as it is now, and the failure whose last lines it should still get.

    `idle_s` says for how long nothing ran; `trouble` is the error with which the manager ended, if it did.
    """
    settings, whole = summary.settings, summary.whole()
    name = harmless(settings.name) if settings else ""
    run = settings.run if settings else ""
    directory = harmless(settings.directory) if settings else ""
    state = summary.finished or ("interrupted" if trouble else "running")
    failure = next(iter(summary.failures.values()), None)
    took = format_duration(summary.elapsed_s(None if summary.finished else now))
    title = f"{name}, run {run}: {state} after {took}"
    look = f"headway status -C {shlex.quote(directory)} {run}"
    if event == "failure" and failure is not None:
        title = f"{name}, run {run}: {harmless(failure.task)} failed"
        verb = "logs" if failure.attempt else "why"
        look = f"headway {verb} -C {shlex.quote(directory)} --run {run} {shlex.quote(harmless(failure.task))}"
    elif event == "stuck":
        title = f"{name}, run {run}: nothing has run for {format_duration(idle_s)}"
    counts = {"running": whole.running, "waiting": whole.waiting, "failed": whole.failed, "cut off": whole.cut_off}
    parts = [f"{whole.done:,} of {count(whole.total, 'task')} done"]
    details = [", ".join([*parts, *(f"{number:,} {words}" for words, number in counts.items() if number)])]
    if trouble:
        details.append(f"its manager ended: {harmless(trouble)}; nothing is lost, `headway resume` goes on")
    if event == "stuck":
        details += [f"job {line}" for line in job_lines(list(summary.jobs.live().values())[:_MOST_JOBS], now)]
        details += [harmless(unread.message) for unread in summary.unread.values()]
    first = FirstFailure(harmless(failure.task), harmless(failure.why.text), []) if failure else None
    message = Message(
        event,
        " ".join(title.split()),
        details,
        name,
        run,
        state,
        {each: getattr(whole, each) for each in ("total", *STATES)},
        round(summary.elapsed_s(None if summary.finished else now), 3),
        socket.gethostname(),
        directory,
        first,
        look,
    )
    return message, failure
