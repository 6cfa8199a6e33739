"""`preview`: what a run would do. The engine and the policies are those of the run, asked without a node to run on."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from headway.api.answers import Answer
from headway.api.runnable import Runnable, Scale, runnable
from headway.api.settings import RunSettings
from headway.drivers.digests import Digests
from headway.drivers.earlier_runs import earlier_results
from headway.drivers.expanding import expanded
from headway.drivers.inputs import InputReader, check_sources
from headway.drivers.run_history import Warn, warn_program
from headway.drivers.runs import prepare
from headway.drivers.strays import Strays
from headway.engine.engine import Engine
from headway.engine.launching import does_not_fit
from headway.engine.state import Phase, TaskState
from headway.journal.folder import Project, RunFolder
from headway.journal.results import orphans_among
from headway.model import records
from headway.model.resources import Resources
from headway.model.task import Fingerprint
from headway.model.workflow import Workflow
from headway.report.run.document import amounts
from headway.sizing.base import Allocation

RUNS, MAY_RUN, STANDS, FAILS, LATER = "runs", "may run", "stands", "would fail", "comes later"


class Verdict(Struct, frozen=True):
    """What would become of one task; `given` only if the task is certain to run."""

    task: str
    category: str
    verdict: str  # one of RUNS, MAY_RUN, STANDS, FAILS, or LATER for an entry whose tasks are not known yet
    why: str
    given: Resources | None = None


class Preview(Answer, frozen=True):
    """What a run would do with each task, on the cluster and within the limits that the run would have."""

    unsaid = ("verdicts",)

    name: str
    directory: str
    limits: Resources
    sizer: str
    verdicts: list[Verdict]
    warnings: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()  # files of earlier runs that belong to no task now

    def document(self) -> dict[str, Any]:
        """Return what `headway run --dry-run --json` prints."""
        tasks = [structs.asdict(each) | {"given": each.given and amounts(each.given)} for each in self.verdicts]
        return Answer.document(self) | {"limits": amounts(self.limits), "tasks": tasks}


def preview(
    workflow: Workflow | str | os.PathLike[str] = "workflow.yaml",
    directory: str | os.PathLike[str] | None = None,
    settings: RunSettings | None = None,
    *,
    stand_ins: Scale | None = None,
    warn: Warn = warn_program,
) -> Preview:
    """Return what `start` with the same arguments would do; write nothing.

    It asks the same cluster for its limits and raises the same errors as the run.
    """
    what = runnable(workflow, directory, settings, stand_ins)
    graph = what.before_files()
    project = Project(what.directory)
    check_sources(graph, project.directory)
    engine = _engine(what, graph, project, warn)
    strays = Strays(engine.settings.strays, engine.workflow)
    added = _read_inputs(engine, InputReader(project.directory, Digests(project.path / "digests.db"), strays))
    verdicts = [*_verdicts(engine, engine.workflow, project.directory), *_later(engine)]
    where = str(project.directory)
    about = (engine.settings.warnings, _orphans(engine, added, project.directory))
    return Preview(graph.name, where, engine.limits, what.settings.sizer, verdicts, *about)


def _engine(what: Runnable, graph: Workflow, project: Project, warn: Warn) -> Engine:
    """Return the engine as a run's is when it starts, except that a failure does not end the run."""
    runs = project.runs()
    earlier = earlier_results(project, what.settings, warn, read_only=True)
    next_run = str(int(runs[-1].run) + 1) if runs else "1"
    folder = RunFolder(project.path / "runs" / next_run)  # only its name: nothing is created
    settings = structs.replace(what.settings, keep_going=True)
    engine, _, history, first = prepare(
        graph, folder, settings, earlier, source=what.source, warn=warn, read_only=True, explain=what.explain
    )
    history.close()
    for record in first:
        engine.apply(record)
    return engine


def _read_inputs(engine: Engine, inputs: InputReader) -> list[records.TasksAdded]:
    """Read the input files of every task whose parents' results stand, until no more tasks can be judged.

    Return the tasks that became known on the way.
    """
    now = time.time()
    added: list[records.TasksAdded] = []
    while True:
        ready = [state for state in engine.tasks.values() if state.phase is Phase.READY]
        for state in ready:
            engine.apply(records.ReadInputs(now, state.task.id))
            known = engine.made_before(state.task.id)
            engine.apply(inputs.read(state.task, now, engine.temporary(state.task), known))
        kinds = records.Reuse | records.GiveUp | records.Remake | records.Expand
        settled = [decision for decision in engine.decide(now) if isinstance(decision, kinds)]
        for decision in settled:
            engine.apply(decision)
            if isinstance(decision, records.Expand):
                about = (engine.deferred, engine.workflow, inputs.directory, engine.settings)
                added.append(expanded(decision.block, *about, now, engine.temporary_for(decision.block)))
                engine.apply(added[-1])
            if isinstance(decision, records.GiveUp):
                engine.tasks[decision.task].because = decision.why.text
        if not ready and not settled:
            return added


def _verdicts(engine: Engine, workflow: Workflow, directory: Path) -> Iterator[Verdict]:
    uncertain: set[str] = set()  # tasks that run or may run
    for task_id in workflow.topological():
        state = engine.tasks[task_id]
        verdict, why = _verdict(engine, state, uncertain, directory)
        if verdict in (RUNS, MAY_RUN):
            uncertain.add(task_id)
        given = None
        if verdict == RUNS:
            answer = engine.would_give(task_id)
            if isinstance(answer, Allocation):
                given = answer.resources
            else:
                verdict, why = FAILS, does_not_fit(answer).text
        yield Verdict(task_id, state.task.category, verdict, why, given)


def _orphans(engine: Engine, added: Sequence[records.TasksAdded], directory: Path) -> tuple[str, ...]:
    """Files of earlier runs that belong to no task, nor to one that may come later."""
    known = records.TasksAdded(engine.settings.at, list(engine.workflow))
    seen = (engine.settings, known, *added)
    return tuple(orphans_among(engine.settings.orphans, seen, lambda path: (directory / path).is_dir()))


def _later(engine: Engine) -> Iterator[Verdict]:
    """Say what the entries of the workflow file wait for whose tasks cannot be known yet."""
    for block in engine.waiting_entries:
        yield Verdict(block.name, block.name, LATER, f"tasks to come: {block.coming}")


def _verdict(engine: Engine, state: TaskState, uncertain: set[str], directory: Path) -> tuple[str, str]:
    match state.phase:
        case Phase.SUCCEEDED:
            return STANDS, f"unchanged since run {engine.known[state.task.id].run}"
        case Phase.FAILED:
            return FAILS, state.because
        case Phase.CUT_OFF:
            failed = [parent for parent in state.task.parents if engine.tasks[parent].phase >= Phase.FAILED]
            return FAILS, f"depends on {failed[0]}, which would fail"
        case Phase.WAITING if state.because:  # for a temporary file that is gone
            return RUNS, state.because
        case Phase.WAITING:
            return _downstream(engine, state, uncertain, directory)
        case _:
            return RUNS, state.because


def _downstream(engine: Engine, state: TaskState, uncertain: set[str], directory: Path) -> tuple[str, str]:
    """Judge a task whose parent runs: it runs if its own recipe or outputs changed, else only if its inputs do."""
    task = state.task
    earlier = engine.known.get(task.id)
    if rerun := engine.rerun(task.id):
        return RUNS, rerun
    if earlier is None:
        return RUNS, "no earlier result"
    now = Fingerprint(task.recipe(), earlier.fingerprint.inputs)
    changes = now.changes_since(earlier.fingerprint, earlier.config_changes)
    lasting = [path for path in task.outputs if path not in task.temp]
    changes += [f"output {path} is missing" for path in lasting if not (directory / path).exists()]
    if changes:
        return RUNS, ", ".join(changes)
    above = [parent for parent in task.parents if parent in uncertain]
    others = f" and {len(above) - 1} more" if len(above) > 1 else ""
    return MAY_RUN, f"depends on {above[0]}{others}"
