"""What `headway run` would do: the engine and the sizer asked without a node to run on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from headway.clusters.machine import machine, part_of
from headway.drivers.assemble import allocator_of, assemble
from headway.drivers.digests import Digests
from headway.drivers.inputs import InputReader, check_sources
from headway.drivers.run_history import RunHistory, Warn, history_key
from headway.drivers.runs import Options
from headway.engine.engine import Engine
from headway.engine.state import Phase, TaskState
from headway.journal.folder import Project
from headway.journal.results import known_results
from headway.journal.sqlite import SqliteJournal
from headway.model import records
from headway.model.resources import Resources
from headway.model.task import Fingerprint
from headway.model.workflow import Workflow
from headway.report.run.document import amounts
from headway.sizing.base import Allocation, Allocator, Context

RUNS, MAY_RUN, STANDS, FAILS = "runs", "may run", "stands", "would fail"


class Verdict(Struct, frozen=True):
    """What would become of one task; sizes only where it would surely run."""

    task: str
    category: str
    verdict: str
    why: str
    given: Resources | None = None
    reasons: dict[str, str] | None = None


class Plan(Struct, frozen=True):
    """What a run would do."""

    name: str
    directory: str
    limits: Resources
    sizer: str
    verdicts: list[Verdict]

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.name,
            "directory": self.directory,
            "limits": amounts(self.limits),
            "sizer": self.sizer,
            "tasks": [
                {
                    "task": verdict.task,
                    "category": verdict.category,
                    "verdict": verdict.verdict,
                    "why": verdict.why,
                    "given": amounts(verdict.given) if verdict.given else None,
                }
                for verdict in self.verdicts
            ],
        }


def foresee(workflow: Workflow, directory: Path, options: Options, source: str, warn: Warn) -> Plan:
    """Look at everything that a run would look at, and write nothing."""
    project = Project(directory)
    check_sources(workflow, project.directory)
    limits = part_of(machine(project.directory), options.stated)
    engine = _engine(workflow, project, options, limits, source)
    _read_inputs(engine, InputReader(project.directory, Digests(project.path / "digests.db")))
    allocator = allocator_of(options.sizer, options.seed)
    if not options.fresh:
        _learn(allocator, workflow, options, warn)
    verdicts = list(_verdicts(engine, workflow, allocator, project.directory))
    return Plan(workflow.name, str(project.directory), limits, options.sizer, verdicts)


def _learn(allocator: Allocator, workflow: Workflow, options: Options, warn: Warn) -> None:
    """Let the sizers know what a run's would know when it starts."""
    key = history_key(options.history, options.known_as or workflow.name, options.site)
    history = RunHistory(key, warn, read_only=True)
    for seen in history.observations(dict.fromkeys(task.category for task in workflow)):
        allocator.observe(seen.as_task(), {}, seen.as_outcome())
    state = history.state(options.sizer)
    if state is not None:
        allocator.restore(state)
    history.close()


def _engine(workflow: Workflow, project: Project, options: Options, limits: Resources, source: str) -> Engine:
    """An engine that knows what a run's would know when it starts."""
    now = time.time()
    settings = records.RunStarted(
        at=now,
        run="",
        uid="",
        name=workflow.name,
        directory=str(project.directory),
        source=source,
        version="",
        sizer=options.sizer,
        order=options.order,
        seed=options.seed,
        keep_going=True,
        again=options.again,
        stated=options.stated,
    )
    engine = assemble(settings)
    engine.apply(records.LimitsRead(now, limits))
    runs = project.runs()
    if runs:
        journal = SqliteJournal(runs[-1].journal, read_only=True)
        engine.apply(records.ResultsKnown(now, list(known_results(journal.replay()).values())))
        journal.close()
    engine.apply(records.TasksAdded(now, [workflow.tasks[task] for task in workflow.topological()]))
    return engine


def _read_inputs(engine: Engine, inputs: InputReader) -> None:
    """Look at the files of every task whose parents' results stand, until no more can be judged."""
    now = time.time()
    while True:
        ready = [state for state in engine.tasks.values() if state.phase is Phase.READY]
        for state in ready:
            engine.apply(records.ReadInputs(now, state.task.id))
            engine.apply(inputs.read(state.task, now))
        settled = [d for d in engine.decide(now) if isinstance(d, records.Reuse | records.GiveUp)]
        for decision in settled:
            engine.apply(decision)
            if isinstance(decision, records.GiveUp):
                engine.tasks[decision.task].because = decision.why.text
        if not ready and not settled:
            return


def _verdicts(engine: Engine, workflow: Workflow, allocator: Allocator, directory: Path) -> Iterator[Verdict]:
    uncertain: set[str] = set()  # tasks that run or may run
    for task_id in workflow.topological():
        state = engine.tasks[task_id]
        verdict, why = _verdict(engine, state, uncertain, directory)
        if verdict in (RUNS, MAY_RUN):
            uncertain.add(task_id)
        given, reasons = None, None
        if verdict == RUNS:
            answer = allocator.allocate(state.task, {}, Context(engine.limits, (engine.settings.seed, "", task_id, 1)))
            if isinstance(answer, Allocation):
                given, reasons = answer.resources, {name: each.text for name, each in answer.why.items()}
            else:
                verdict, why = FAILS, answer.why.text
        yield Verdict(task_id, state.task.category, verdict, why, given, reasons)


def _verdict(engine: Engine, state: TaskState, uncertain: set[str], directory: Path) -> tuple[str, str]:
    match state.phase:
        case Phase.SUCCEEDED:
            return STANDS, f"unchanged since run {engine.known[state.task.id].run}"
        case Phase.FAILED:
            return FAILS, state.because
        case Phase.CUT_OFF:
            failed = [parent for parent in state.task.parents if engine.tasks[parent].phase >= Phase.FAILED]
            return FAILS, f"depends on {failed[0]}, which would fail"
        case Phase.WAITING:
            return _downstream(engine, state, uncertain, directory)
        case _:
            return RUNS, state.because


def _downstream(engine: Engine, state: TaskState, uncertain: set[str], directory: Path) -> tuple[str, str]:
    """A task below one that runs: it runs for sure if something of its own has changed, and else if its inputs do."""
    task = state.task
    earlier = engine.known.get(task.id)
    if engine.settings.again:
        return RUNS, "everything runs again (--again)"
    if earlier is None:
        return RUNS, "no earlier result"
    changes = Fingerprint(task.recipe(), earlier.fingerprint.inputs).changes_since(earlier.fingerprint)
    changes += [f"output {path} is missing" for path in task.outputs if not (directory / path).exists()]
    if changes:
        return RUNS, ", ".join(changes)
    above = [parent for parent in task.parents if parent in uncertain]
    others = f" and {len(above) - 1} more" if len(above) > 1 else ""
    return MAY_RUN, f"depends on {above[0]}{others}"
