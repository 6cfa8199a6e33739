"""The laws of a run, checked with everything that is written to the journal, and at the end."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from headway.drivers import runs
from headway.engine.engine import Engine
from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.outcome import Ending
from headway.model.records import Decision, Event, GiveUp, Launch, TaskEnded
from headway.model.task import Task
from tests.world.batch import HAS, BatchSystem
from tests.world.nodes import Commands

_MOST_ATTEMPTS = 25


class Laws:
    """No task is lost, none succeeds twice, each is given a sane amount, and the journal says what the manager knows.

    That no command runs twice at a time, or after its result was written, and that nodes are not given more than they
    have, is checked when a command begins (`Commands`).
    """

    def __init__(
        self, commands: Commands, batch: BatchSystem, directory: Path, tasks: Iterable[Task] | None = None
    ) -> None:
        """`tasks` are those of the run, by default all that there are."""
        self._tasks = list(commands.tasks.values() if tasks is None else tasks)
        self._commands = commands
        self._batch = batch
        self._directory = directory
        self._require = commands.world.require
        self._succeeded: Counter[str] = Counter()
        self._attempts: Counter[str] = Counter()

    def check(self, records: Sequence[Event | Decision]) -> None:
        """Look at what was just written to the journal."""
        for record in records:
            self._require(math.isfinite(record.at), f"no time: {record}")
            match record:
                case TaskEnded() if record.outcome.ending is Ending.SUCCESS:
                    self._succeeded[record.outcome.task] += 1
                    self._require(self._succeeded[record.outcome.task] == 1, f"{record.outcome.task} succeeds twice")
                case Launch():
                    self._check_launch(record)
                case GiveUp():
                    self._require(False, f"{record.task} is given up: {record.why.text}")

    def _check_launch(self, record: Launch) -> None:
        task, given = record.task, record.resources
        self._require(not self._succeeded[task], f"{task} starts again after its success")
        self._require(record.attempt == self._attempts[task] + 1, f"{task}: an attempt is left out")
        self._require(record.attempt <= _MOST_ATTEMPTS, f"{task} is tried for ever")
        self._attempts[task] = record.attempt
        fits = 0 < given.cores <= HAS.cores and 0 < given.memory_bytes <= HAS.memory_bytes
        self._require(fits and 0 < (given.walltime_s or 1) < math.inf, f"{task} is given {given}")

    def compare(self, engine: Engine) -> None:
        """Read the journal as a new manager would, and compare what that knows."""
        journal = SqliteJournal(Project(self._directory).runs()[-1].journal, read_only=True)
        told, believed = _picture(runs.rebuild(journal)), _picture(engine)
        journal.close()
        for part, words in believed.items():
            says = f"the journal says of {part}: {told[part]}; the manager believes: {words}"
            self._require(told[part] == words, says)

    def check_results(self) -> None:
        """Look at what a run that has succeeded leaves."""
        for task in self._tasks:
            self._require(self._succeeded[task.id] == 1, f"{task.id} never succeeded")
            for path in task.outputs:
                found = (self._directory / path).read_text()
                made = self._commands.contents(task, self._directory)
                self._require(found == made, f"{path} is wrong: {found}")

    def check_nothing_is_left(self) -> None:
        """Look at what still waits and runs some time after the end."""
        jobs = [job.tag for job in self._batch.jobs.values() if job.is_live]
        self._require(not jobs, f"jobs are left: {jobs}")
        running = [each.task for each in self._commands.executions if each.ended is None]
        self._require(not running, f"commands are left: {running}")


def _picture(engine: Engine) -> dict[str, object]:
    """What an engine believes, in a form that can be compared."""
    return {
        "tasks": {
            name: (state.phase.name, state.attempts, state.errors, state.losses, state.running and state.running.nodes)
            for name, state in engine.tasks.items()
        },
        "nodes": {name: (node.tag, node.free, sorted(node.running)) for name, node in engine.nodes.items()},
        "jobs": {tag: (job.phase.name, job.released) for tag, job in engine.jobs.items()},
        "end": engine.finished,
    }
