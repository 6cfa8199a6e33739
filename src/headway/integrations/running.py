"""`headway.run`: a workflow, from a file or built in code, run by a program."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct, field

from headway.drivers.runs import Options, start
from headway.integrations.amounts import stated_amounts
from headway.journal.folder import RunFolder
from headway.model.errors import HeadwayError, InputError
from headway.model.outcome import Ending, Outcome, Usage
from headway.model.records import Decision, Event, GiveUp, Reuse, TaskEnded
from headway.model.workflow import Workflow
from headway.ordering import DEFAULT_ORDER
from headway.sizing import DEFAULT_SIZER


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
        """What each task used that succeeded in this run."""
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
    """A run did not succeed; `run` tells all about it."""

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
    sizer: str = DEFAULT_SIZER,
    order: str = DEFAULT_ORDER,
    seed: int = 0,
    keep_going: bool = False,
    again: bool = False,
    fresh: bool = False,
    check: bool = True,
) -> Run:
    """Run what is new or has changed of a workflow, or of the workflow in a file, as `headway run` does.

    It runs in `directory`: by default the file's, for a workflow built in code the current one. Options are those of
    the command. Raises a `RunError` unless all tasks succeeded; with `check=False` the returned `Run` tells.
    """
    if isinstance(workflow, Workflow):
        graph, source, place = workflow, "", Path()
    else:
        from headway.formats.read_any import read_instance

        place = Path(workflow).parent
        graph, source = read_instance(Path(workflow)).workflow, str(workflow)
    stated = stated_amounts(cores, memory, disk)
    options = Options(sizer, order, seed, keep_going=keep_going, again=again, stated=stated, fresh=fresh)
    result = Run(directory=(Path(directory) if directory is not None else place).absolute())
    if not result.directory.is_dir():
        raise InputError("there is no such directory", where=str(result.directory))
    folder, result.status = _outside_of_any_loop(graph, options, source, result)
    result.number = folder.run
    if check and result.status != "succeeded":
        raise RunError(_sentence(result), result)
    return result


def _outside_of_any_loop(graph: Workflow, options: Options, source: str, result: Run) -> tuple[RunFolder, str]:
    """Drive the run here, or beside if this thread has an event loop at work already, as notebooks do."""

    def drive() -> tuple[RunFolder, str]:
        return start(graph, result.directory, options, source=source, observers=[result._observe])

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
