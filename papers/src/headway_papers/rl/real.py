"""Two examples repeated on this machine under each approach, until its choices settle."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct, structs, to_builtins

from headway.drivers.run_settings import RunSettings
from headway.drivers.runs import start
from headway.formats.headway_yaml import read_workflow
from headway.journal.folder import RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.model import records
from headway.model.errors import InputError, SiteError
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.report.words import count
from headway.sizing.agents.ladder_malleable import LadderMalleable
from headway_papers.frame.report import Report
from headway_papers.rl.courses import OURS, RunFigures, figures_of
from headway_papers.rl.figures import added
from headway_papers.rl.sections import total_section

EXAMPLES = ("match", "power")
# The last treats every task as malleable; ours, those that are declared so.
REAL_APPROACHES = ("user", "gradient-bandit", "q-learning", "feedback-loop", OURS, LadderMalleable.name)
MOST_RUNS = 20
_COUNTED = 3
_ABOUT = 0.1
_ALIKE, _IN_A_ROW = 0.9, 3  # settled: three times in a row, nine in ten tasks got what they got in the run before
# --small: less data. The tasks that check and draw the results need all of it, and are left out.
_SMALL = {"MATCH_VOLUME_MB": "1", "MATCH_QUERIES": "360", "POWER_DAYS": "60"}
_NOT_WHEN_SMALL = ("check", "picture")

Choices = dict[str, tuple[float, int]]  # cores and bytes of each task's first attempt


class RealCourse(Struct, frozen=True):
    """An approach's runs of one example."""

    example: str
    approach: str
    runs: list[RunFigures]
    settled_after: int | None  # None: not within these runs

    @property
    def counted(self) -> list[RunFigures]:
        """The last runs, which count."""
        return self.runs[-_COUNTED:]


def real_runs(
    examples: Path, most: int, *, small: bool = False, seed: int = 0, tell: Callable[[str], None] = lambda words: None
) -> list[RealCourse]:
    """Run every approach on every example, each in a temporary folder with a history of its own."""
    found = []
    for example in EXAMPLES:
        for approach in REAL_APPROACHES:
            with tempfile.TemporaryDirectory(prefix="headway-rl-") as folder:
                found.append(_course(examples / example, example, approach, Path(folder), most, small, seed, tell))
    return found


def _course(
    source: Path,
    example: str,
    approach: str,
    folder: Path,
    most: int,
    small: bool,
    seed: int,
    tell: Callable[[str], None],
) -> RealCourse:
    workflow = _copied(source, example, folder, small)
    options = RunSettings(sizer=approach, seed=seed, again=True, history=str(folder / "history.db"))
    runs: list[RunFigures] = []
    before: Choices = {}
    alike = 0
    settled = None
    while len(runs) < most and settled is None:
        run, status = start(workflow, folder / example, options, source=str(source), warn=tell)
        if status == "stopped":
            raise KeyboardInterrupt
        if status != "succeeded":
            raise SiteError(f"a run of {example} under {approach} {status}: {_trouble(run)}", where=str(source))
        figures, choices = told(run)
        runs.append(figures)
        same = sum(task in before and _alike(before[task], given) for task, given in choices.items())
        alike = alike + 1 if same >= _ALIKE * len(choices) else 0
        before = choices
        if alike >= _IN_A_ROW:
            settled = len(runs) - alike
        tell(f"{example}, {approach}, run {len(runs)}: {figures.run_s:.1f} s, {same} of {len(choices)} as before")
    return RealCourse(example, approach, runs, settled)


def _alike(one: tuple[float, int], other: tuple[float, int]) -> bool:
    """Whether cores are equal and memory is about equal: amounts learned from measured peaks keep changing a little."""
    return one[0] == other[0] and abs(one[1] - other[1]) <= _ABOUT * max(one[1], other[1])


def _copied(source: Path, example: str, folder: Path, small: bool) -> Workflow:
    """Copy an example into a folder, and read its workflow."""
    if not (source / "workflow.yaml").is_file():
        raise InputError(f"there is no example {example} here", where=str(source), todo="name its folder by --examples")
    there = folder / example
    shutil.copytree(source / example, there / example)
    shutil.copy(source / "workflow.yaml", there)
    whole = read_workflow(there / "workflow.yaml")
    if not small:
        return whole
    kept = [whole.tasks[task_id] for task_id in whole.topological()]
    return Workflow(whole.name, [_smaller(task) for task in kept if task.category not in _NOT_WHEN_SMALL])


def _smaller(task: Task) -> Task:
    changed = {name: value for name, value in _SMALL.items() if name in task.environment}
    return structs.replace(task, environment=task.environment | changed)


def told(folder: RunFolder) -> tuple[RunFigures, Choices]:
    """The figures of a run, and what its tasks were given."""
    journal = SqliteJournal(folder.journal, read_only=True)
    try:
        kept = list(journal.replay(kinds=("launch", "task-ended")))
    finally:
        journal.close()
    choices = {
        record.task: (record.resources.cores, record.resources.memory_bytes)
        for record in kept
        if isinstance(record, records.Launch) and record.attempt == 1
    }
    return figures_of(kept), choices


def _trouble(folder: RunFolder) -> str:
    """The first task that was given up, and why."""
    journal = SqliteJournal(folder.journal, read_only=True)
    try:
        for record in journal.replay(kinds=("give-up",)):
            if isinstance(record, records.GiveUp):
                return f"task {record.task}: {record.why.text}"
    finally:
        journal.close()
    return "the journal does not say why"


def real_report(found: list[RealCourse], seed: int) -> Report:
    """The same table as for simulated runs, from measured ones."""
    sections = []
    for example in dict.fromkeys(course.example for course in found):
        own = [course for course in found if course.example == example]
        names = [f"{course.approach} ({_words(course)})" for course in own]
        sections.append(total_section(example, names, [_mean(course.counted) for course in own], seconds=True))
    title = "Zunker 2021 on this machine: examples repeated under each approach"
    return Report(title, f"Means of the last {_COUNTED} runs of each approach.", sections, [], seed)


def _words(course: RealCourse) -> str:
    if course.settled_after is None:
        return f"{count(len(course.runs), 'run')}, not settled"
    return f"settled after {count(course.settled_after, 'run')}"


def _mean(runs: list[RunFigures]) -> RunFigures:
    total = added(runs)
    shares = {name: getattr(total, name) / len(runs) for name in RunFigures.__struct_fields__ if name != "memory_use"}
    whole = {name: round(shares[name]) for name in ("attempts", "killed", "tasks")}
    return structs.replace(total, **(shares | whole))


def real_document(found: list[RealCourse]) -> dict[str, Any]:
    """The results as JSON."""
    return {"experiment": "rl-real", "courses": to_builtins(found)}
