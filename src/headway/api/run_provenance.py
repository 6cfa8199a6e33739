"""A run's journal as `Provenance`: every attempt, with what it read and made."""

from __future__ import annotations

from contextlib import suppress

from headway.api.finding import manager_of, reading, state_of
from headway.journal.folder import Project, RunFolder
from headway.model import records
from headway.model.command_as_run import command_as_run
from headway.model.errors import HeadwayError
from headway.model.provenance import Execution, Provenance
from headway.model.records import Decision, Event
from headway.report.run.again import again, chosen_words
from headway.report.run.summary import RunSummary


def provenance_of(folder: RunFolder) -> Provenance:
    """Read a run's journal; a task whose result was reused has the attempt of the run that made it."""
    found = _fold(folder)
    earlier: dict[str, Provenance | None] = {}
    for task, run in found.reused.items():
        if run not in earlier:
            earlier[run] = None
            with suppress(HeadwayError):  # that run was deleted
                earlier[run] = _fold(Project(folder.directory).run(run))
        _adopt(found, task, earlier[run])
    return found


def _adopt(found: Provenance, task: str, earlier: Provenance | None) -> None:
    """Take a task's successful attempt, if it is known, from the run that made it."""
    if earlier is None:
        return
    found.executions[task] = [each for each in earlier.executions.get(task, []) if each.succeeded][-1:]
    for execution in found.executions[task]:
        if execution.outcome is not None:
            found.stamps = execution.outcome.outputs | found.stamps
    found.read.setdefault(task, earlier.read.get(task, ()))


def _fold(folder: RunFolder) -> Provenance:
    summary, fold = RunSummary(), _Fold(folder.run)
    with reading(folder) as journal:
        for record in journal.replay():
            summary.apply(record)
            fold.apply(record)
    found, settings = fold.found, summary.settings
    found.state = state_of(summary, manager_of(folder, summary))
    found.ended_at = summary.last_at
    found.failures = {task: failure.why.text or failure.why.rule for task, failure in summary.failures.items()}
    if settings is not None:
        found.uid, found.name, found.version = settings.uid, settings.name, settings.version
        found.started_at = settings.at
        said = {"runs on": settings.cluster, "plan": settings.plan, "sizes by": settings.sizer, "order": settings.order}
        found.settings = [f"{name} {value}" for name, value in said.items() if value] + [f"seed {settings.seed}"]
        found.settings += chosen_words(settings)
        if command := again(settings):
            found.settings.append(f"to do it again: {command}")
        found.config = settings.config
    return found


class _Fold:
    """Collects attempts and files from records, applied in order."""

    def __init__(self, run: str) -> None:
        self.found = Provenance(run, "", "", "", "", 0.0, 0.0)
        self._running: dict[str, Execution] = {}  # by task

    def apply(self, record: Event | Decision) -> None:
        """Take note of a record."""
        found = self.found
        match record:
            case records.TasksAdded():
                found.tasks |= {task.id: task for task in record.tasks}
            case records.InputsRead():
                found.read[record.task] = tuple(record.digests)
                found.stamps |= record.inputs | record.outputs
            case records.Reuse():
                found.reused[record.task] = record.run
            case records.Remake():
                found.reused.pop(record.task, None)
            case records.Launch():
                self._launch(record)
            case records.TaskEnded():
                self._ended(record)
            case records.NodeLost():
                for task in [task for task, each in self._running.items() if each.node == record.node]:
                    self._lost(task, record.message)
            case records.AttemptLost() if record.task in self._running:
                self._lost(record.task, record.message)

    def _launch(self, record: records.Launch) -> None:
        task = self.found.tasks[record.task]
        command = command_as_run(task, record.ceiling or record.resources)
        made = Execution(task, record.attempt, self.found.run, record.node, record.resources, command, record.at)
        self._running[record.task] = made
        self.found.executions.setdefault(record.task, []).append(made)

    def _lost(self, task: str, message: str) -> None:
        self._running.pop(task).lost = message or "its node was lost"

    def _ended(self, record: records.TaskEnded) -> None:
        outcome = record.outcome
        execution = self._running.get(outcome.task)
        if execution is None or execution.attempt != outcome.attempt:
            return  # a late result of an attempt that counts as lost
        del self._running[outcome.task]
        execution.outcome, execution.started_at = outcome, outcome.started_at or execution.started_at
        self.found.stamps |= outcome.outputs
