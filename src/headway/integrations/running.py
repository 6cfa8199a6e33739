"""`headway.run`: run a workflow from a file or built in code."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct, field

from headway.api.run_result import RunResult
from headway.api.settings import RunSettings
from headway.api.start import start
from headway.integrations.amounts import stated_amounts
from headway.model.errors import HeadwayError
from headway.model.outcome import Ending, Outcome, Usage
from headway.model.records import Decision, Event, GiveUp, Reuse, TaskEnded
from headway.model.workflow import Workflow


class Run(Struct):
    """How a run ended. `status` is `succeeded`, `failed` or `stopped` (a later run goes on where it stopped)."""

    number: str = ""  # in its directory, for `headway why --run`
    directory: Path = Path()
    status: str = ""
    outcomes: dict[str, Outcome] = field(default_factory=dict)  # the last attempt of each task that ran
    failures: dict[str, str] = field(default_factory=dict)  # why tasks failed for good
    reused: dict[str, str] = field(default_factory=dict)  # tasks that need not run, and the run whose result stands

    @property
    def usage(self) -> dict[str, Usage]:
        """What each task used that succeeded in this run, by task."""
        return {task: outcome.usage for task, outcome in self.outcomes.items() if outcome.ending is Ending.SUCCESS}

    def _observe(self, batch: Sequence[Event | Decision]) -> None:
        for record in batch:
            match record:
                case TaskEnded():
                    self.outcomes[record.outcome.task] = record.outcome
                case GiveUp():
                    self.failures[record.task] = record.why.text
                case Reuse():
                    self.reused[record.task] = record.run


class RunError(HeadwayError):
    """A run did not succeed; `run` describes it."""

    def __init__(self, what: str, run: Run) -> None:
        super().__init__(what, where=str(run.directory))
        self.run = run


def run(
    workflow: Workflow | str | os.PathLike[str],
    directory: str | os.PathLike[str] | None = None,
    *,
    cores: float | None = None,
    memory: float | str | None = None,
    disk: float | str | None = None,
    sizer: str = RunSettings().sizer,
    order: str = RunSettings().order,
    seed: int = 0,
    keep_going: bool = False,
    again: bool = False,
    fresh: bool = False,
    check: bool = True,
) -> Run:
    """Run what is new or has changed of a workflow, or of the workflow in a file, as `headway run` does.

    It runs in `directory`: by default the file's, for a workflow built in code the current one. Options are those of
    the command. Raises a `RunError` unless all tasks succeeded or `check` is False.
    """
    settings = RunSettings(
        **stated_amounts(cores, memory, disk),
        sizer=sizer,
        order=order,
        seed=seed,
        keep_going=keep_going,
        again=again,
        fresh=fresh,
    )
    place = Path() if isinstance(workflow, Workflow) else Path(workflow).parent
    result = Run(directory=(Path(directory) if directory is not None else place).absolute())
    ended = _outside_of_any_loop(workflow, settings, result)
    result.number, result.status = ended.run, ended.state
    if check and result.status != "succeeded":
        raise RunError(_sentence(result), result)
    return result


def _outside_of_any_loop(workflow: Workflow | str | os.PathLike[str], settings: RunSettings, result: Run) -> RunResult:
    """Drive the run here, or in another thread if this one has a running event loop, as notebooks do."""

    def drive() -> RunResult:
        return start(workflow, result.directory, settings, observers=[result._observe])

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return drive()
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(drive).result()


def _sentence(result: Run) -> str:
    if result.failures:
        task, why = next(iter(result.failures.items()))
        more = f" (and {len(result.failures) - 1} more)" if len(result.failures) > 1 else ""
        return f"run {result.number} failed: {task}: {why}{more}"
    return f"run {result.number} {result.status}"
