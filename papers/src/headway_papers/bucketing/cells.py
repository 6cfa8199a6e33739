"""The comparison's cells: every allocator on every workflow in every setting, replayed on all cores of this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import fmean
from typing import Literal

from msgspec import Struct

from headway.model.task_log import TaskLog
from headway.simulation.replay import Replay, World, replay
from headway.sizing.per_resource import PerResource
from headway_papers.bucketing.allocators import ENTRANTS
from headway_papers.bucketing.published import Figure5
from headway_papers.bucketing.workflows import Workflow

# What people call a resource, the unit of its waste, and how many amount-seconds that is.
RESOURCES = {
    "memory": ("memory_bytes", "GB·h", 3600e9),
    "disk": ("disk_bytes", "GB·h", 3600e9),
    "cores": ("cores", "core·h", 3600.0),
}
_MOST_PROCESSES = 8  # there are some hundred replays of less than a second each
Told = Callable[[int, int], None]  # how many replays are done, of how many


class Setting(Struct, frozen=True, order=True):
    """How a log is replayed: tasks in flight before one's outcome is known, and when attempts fail."""

    lag: int
    ttf: Literal["end", "observed"]

    def __str__(self) -> str:
        return f"lag {self.lag}, failures {'at full cost' if self.ttf == 'end' else 'as observed'}"


# What the verdicts on ours are about, and what comes nearest to the paper's own runs: see docs/reproduce.md.
PLAIN = Setting(0, "end")
NEAREST = Setting(60, "observed")


class Share(Struct, frozen=True):
    """What became of one resource, the mean over seeds; waste in the resource's unit."""

    awe: float
    published: float | None
    fragmentation: float  # given to attempts that succeeded, and not used
    failed: float  # given to attempts that failed
    failures: float  # attempts that this resource ended
    unit: str
    awe_by_seed: dict[int, float]


class Cell(Struct, frozen=True):
    """One allocator on one workflow in one setting."""

    workflow: str
    kind: str
    allocator: str
    setting: Setting
    attempts_per_task: float
    impossible: float  # tasks that the machine is too small for
    resources: dict[str, Share]


class Job(Struct, frozen=True):
    """One replay."""

    workflow: str
    allocator: str
    setting: Setting
    seed: int


def settings_of(workflow: Workflow, settings: Sequence[Setting]) -> list[Setting]:
    """Those that can be replayed: as observed only where something was."""
    return [setting for setting in settings if setting.ttf == "end" or workflow.fails_as_observed]


def run_cells(
    workflows: Sequence[tuple[Workflow, Sequence[Setting]]],
    seeds: Sequence[int],
    figure_5: Figure5 | None,
    told: Told | None = None,
    processes: int | None = None,
) -> list[Cell]:
    """All cells, in the order of workflows, settings, allocators. What no seed can change is replayed once."""
    jobs = [
        Job(workflow.key, entrant.name, setting, seed)
        for workflow, settings in workflows
        for setting in settings
        for entrant in ENTRANTS.values()
        for seed in (seeds if entrant.draws or _differs(workflow) else seeds[:1])
    ]
    logs = {(workflow.key, seed): log for workflow, _ in workflows for seed, log in workflow.logs.items()}
    processes = processes or min(_MOST_PROCESSES, len(os.sched_getaffinity(0)))
    found = dict(zip(jobs, _replays(jobs, logs, told, processes), strict=True))
    return [
        _cell(workflow, name, setting, figure_5, [(job.seed, found[job]) for job in jobs_of])
        for workflow, settings in workflows
        for setting in settings
        for name in ENTRANTS
        if (jobs_of := [job for job in (Job(workflow.key, name, setting, seed) for seed in seeds) if job in found])
    ]


def _differs(workflow: Workflow) -> bool:
    return len({id(log) for log in workflow.logs.values()}) > 1


def _cell(
    workflow: Workflow, allocator: str, setting: Setting, figure_5: Figure5 | None, found: list[tuple[int, Replay]]
) -> Cell:
    shares = {}
    for shown, (name, unit, factor) in RESOURCES.items():
        costs = {seed: replayed.costs[name] for seed, replayed in found}
        awe = {seed: cost.awe or 0.0 for seed, cost in costs.items()}
        published = figure_5.awe(shown, workflow.row, ENTRANTS[allocator].column) if figure_5 else None
        shares[shown] = Share(
            fmean(awe.values()),
            published,
            fmean(cost.fragmentation for cost in costs.values()) / factor,
            fmean(cost.failed for cost in costs.values()) / factor,
            fmean(cost.failures for cost in costs.values()),
            unit,
            awe,
        )
    attempts = fmean(replayed.attempts / replayed.tasks for _, replayed in found)
    impossible = fmean(replayed.impossible for _, replayed in found)
    return Cell(workflow.name, workflow.kind, allocator, setting, attempts, impossible, shares)


# --- the work, spread over processes ---


def _replays(
    jobs: Sequence[Job], logs: Mapping[tuple[str, int], TaskLog], told: Told | None, processes: int
) -> Iterator[Replay]:
    with _many(logs, processes) as each:
        for done, replayed in enumerate(each(jobs)):
            if told:
                told(done, len(jobs))
            yield replayed


@contextmanager
def _many(
    logs: Mapping[tuple[str, int], TaskLog], processes: int
) -> Iterator[Callable[[Sequence[Job]], Iterator[Replay]]]:
    if processes == 1:
        yield lambda jobs: (_replay(logs[job.workflow, job.seed], job) for job in jobs)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Processes that start anew: one copied from this, with its threads, might hang.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin, (logs,))
    try:
        yield lambda jobs: pool.map(_replay_here, jobs)
    finally:
        pool.shutdown(cancel_futures=True)


_here: dict[tuple[str, int], TaskLog] = {}  # the logs, in a process of the pool


def _begin(logs: Mapping[tuple[str, int], TaskLog]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who asked; it then ends this one
    _here.update(logs)


def _replay_here(job: Job) -> Replay:
    return _replay(_here[job.workflow, job.seed], job)


def _replay(log: TaskLog, job: Job) -> Replay:
    world = World(log.machine, job.setting.lag, job.setting.ttf, job.seed)
    return replay(log, PerResource(ENTRANTS[job.allocator].make, job.seed), world)
