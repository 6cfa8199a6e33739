"""`headway.run`: run a workflow from a file or built in code."""

from __future__ import annotations

import asyncio
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, TypeVar, Unpack, overload

from msgspec import Struct, field

from headway.api.check_inputs import CheckedInputs
from headway.api.check_inputs import check_inputs as find_missing_inputs
from headway.api.detach import Detached
from headway.api.detach import detach as detach_run
from headway.api.preview import Preview, preview
from headway.api.run_result import RunResult
from headway.api.runnable import Scale
from headway.api.settings import RunSettings
from headway.api.start import start
from headway.integrations.run_options import RunOptions, settings_of
from headway.integrations.usage import Usage, plain_usage
from headway.model.errors import HeadwayError, InputError
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, GiveUp, Remake, Reuse, TaskEnded
from headway.model.units import parse_duration
from headway.model.workflow import Workflow
from headway.report.run.progress import Progress
from headway.report.run.summary import RunSummary

Result = TypeVar("Result")


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
        succeeded = [outcome for outcome in self.outcomes.values() if outcome.ending is Ending.SUCCESS]
        return {outcome.task: plain_usage(outcome.usage) for outcome in succeeded}

    def _observe(self, batch: Sequence[Event | Decision]) -> None:
        for record in batch:
            match record:
                case Remake():
                    self.reused.pop(record.task, None)
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


@overload
def run(
    workflow: Workflow | str | os.PathLike[str] = ...,
    directory: str | os.PathLike[str] | None = ...,
    *,
    dry_run: Literal[True],
    stand_ins: Scale | None = ...,
    **options: Unpack[RunOptions],
) -> Preview: ...


@overload
def run(
    workflow: str | os.PathLike[str] = ...,
    directory: str | os.PathLike[str] | None = ...,
    *,
    detach: Literal[True],
    stand_ins: Scale | None = ...,
    **options: Unpack[RunOptions],
) -> Detached: ...


@overload
def run(
    workflow: Workflow | str | os.PathLike[str] = ...,
    directory: str | os.PathLike[str] | None = ...,
    *,
    check_inputs: Literal[True],
    progress: bool | Progress = ...,
    **options: Unpack[RunOptions],
) -> CheckedInputs: ...


@overload
def run(
    workflow: Workflow | str | os.PathLike[str] = ...,
    directory: str | os.PathLike[str] | None = ...,
    *,
    progress: bool | Progress = ...,
    check: bool = ...,
    stand_ins: Scale | None = ...,
    **options: Unpack[RunOptions],
) -> Run: ...


def run(
    workflow: Workflow | str | os.PathLike[str] = "workflow.yaml",
    directory: str | os.PathLike[str] | None = None,
    *,
    progress: bool | Progress = False,
    dry_run: bool = False,
    detach: bool = False,
    check_inputs: bool = False,
    check: bool = True,
    stand_ins: Scale | None = None,
    **options: Any,
) -> Run | Preview | Detached | CheckedInputs:
    """Run what is new or has changed of a workflow, or of the workflow in a file, as `headway run` does.

    It runs in `directory`: by default the file's, for a workflow built in code the current one. Options are those of
    the command, as keywords: `cores=2`, `on="slurm"`, `grace="10s"`, …; see `RunOptions`. With `progress=True` the
    progress is shown on standard error. Raises a `RunError` unless all tasks succeeded or `check` is False.

    With `dry_run=True` nothing is run: a `Preview` says what would be. With `detach=True` a process in the background
    manages the run, and a `Detached` says which. With `check_inputs=True` all tasks run beside their results, and a
    `CheckedInputs` says which inputs are not declared.
    """
    place = Path() if isinstance(workflow, Workflow) else Path(workflow).parent
    where = (Path(directory) if directory is not None else place).absolute()
    deadline = options.pop("deadline", None)
    settings = settings_of(where, options)
    if deadline is not None:
        settings = _keeping(deadline, workflow, settings)
    if dry_run and detach:
        raise InputError("a dry run is over at once", where="detach", todo="leave one of the two out")
    if check_inputs and (dry_run or detach or stand_ins is not None):
        what = "a check of inputs runs all tasks, here and now"
        raise InputError(what, where="check_inputs", todo="leave it out, or `dry_run`, `detach` and `stand_ins`")
    shown = progress if isinstance(progress, Progress) else _display(progress)
    if check_inputs:
        return _outside_of_any_loop(lambda: _checked_inputs(workflow, where, settings, shown))
    if dry_run:
        return preview(workflow, where, settings, stand_ins=stand_ins)
    if detach:
        if isinstance(workflow, Workflow):
            raise InputError("a run in the background needs a workflow file", where="detach")
        return detach_run(workflow, where, settings, stand_ins=stand_ins)
    result = Run(directory=where)

    def drive() -> RunResult:
        with shown:
            return start(workflow, where, settings, stand_ins=stand_ins, progress=shown, observers=[result._observe])

    ended = _outside_of_any_loop(drive)
    result.number, result.status = ended.run, ended.state
    if check and result.status != "succeeded":
        raise RunError(_sentence(result), result)
    return result


def _checked_inputs(
    workflow: Workflow | str | os.PathLike[str], where: Path, settings: RunSettings, shown: Progress
) -> CheckedInputs:
    with shown:
        return find_missing_inputs(workflow, where, settings, progress=shown)


def _keeping(deadline: float | str, workflow: Workflow | str | os.PathLike[str], settings: RunSettings) -> RunSettings:
    """Return the settings by which a run most likely ends in time, and warn of how likely that is."""
    from headway.api.deadline import keeping

    if isinstance(workflow, Workflow):
        raise InputError("a deadline needs a workflow file", where="deadline")
    seconds = parse_duration(deadline) if isinstance(deadline, str) else deadline
    kept, said = keeping(seconds, Path(workflow), settings, "program")
    warnings.warn(said, RuntimeWarning, stacklevel=3)
    return kept


def _display(wanted: bool) -> Progress:
    if not wanted:
        return Progress(RunSummary())
    from headway.report.console import console_on
    from headway.report.run.display import display_on

    return display_on(console_on(sys.stderr))


def _outside_of_any_loop(drive: Callable[[], Result]) -> Result:
    """Drive the run here, or in another thread if this one has a running event loop, as notebooks do."""
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
