"""The comparison's cells: every allocator on every workflow in every setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Literal

from msgspec import Struct

from headway.model.task_log import TaskLog
from headway.simulation.replay import Replay, World, replay
from headway.sizing.per_resource import PerResource
from headway.studies.processes import cores
from headway.studies.study import Tell
from headway_papers.bucketing.allocators import ENTRANTS
from headway_papers.bucketing.published import Figure5
from headway_papers.bucketing.workflows import Workflow
from headway_papers.frame.ledger import Ledger
from headway_papers.frame.runner import Runner

# By the name of a resource: its field, the unit of its waste, and how many amount-seconds that unit is.
RESOURCES = {
    "memory": ("memory_bytes", "GB·h", 3600e9),
    "disk": ("disk_bytes", "GB·h", 3600e9),
    "cores": ("cores", "core·h", 3600.0),
}
_MOST_PROCESSES = 8  # there are some hundred replays of less than a second each


class Setting(Struct, frozen=True, order=True):
    """How a log is replayed: the tasks in flight before an outcome is known, and when attempts fail."""

    lag: int
    ttf: Literal["end", "observed"]

    def __str__(self) -> str:
        return f"lag {self.lag}, failures {'at full cost' if self.ttf == 'end' else 'as observed'}"


# The setting of our verdicts, and the one nearest to the paper's own runs: see docs/reproduce-bucketing.md.
PLAIN = Setting(0, "end")
NEAREST = Setting(60, "observed")


class Share(Struct, frozen=True):
    """The figures of one resource, means over seeds; waste in the resource's unit."""

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
    impossible: float  # tasks that are too large for the machine
    resources: dict[str, Share]


class Job(Struct, frozen=True):
    """One replay."""

    workflow: str
    allocator: str
    setting: Setting
    seed: int
    tasks: int  # in the workflow
    failures: float = 1.0  # share of attempts that may fail; 1: any


class Replayed(Struct, frozen=True):
    """The result of one replay."""

    unit: Job
    replay: Replay


def settings_of(workflow: Workflow, settings: Sequence[Setting]) -> list[Setting]:
    """The settings in which a workflow can be replayed: failures as observed need observations."""
    return [setting for setting in settings if setting.ttf == "end" or workflow.fails_as_observed]


def run_cells(
    workflows: Sequence[tuple[Workflow, Sequence[Setting]]],
    seeds: Sequence[int],
    figure_5: Figure5 | None,
    path: Path | None = None,
    processes: int | None = None,
    tell: Tell | None = None,
    failures: float = 1.0,
) -> list[Cell]:
    """All cells, by workflow, setting and allocator. Where the seed changes nothing, only the first one is replayed."""
    jobs = {
        (workflow.key, setting, entrant.name): [
            Job(
                workflow.key,
                entrant.name,
                setting,
                seed,
                len(workflow.logs[seed].tasks),
                failures if entrant.bounded else 1.0,
            )
            for seed in (seeds if entrant.draws or _differs(workflow) else seeds[:1])
        ]
        for workflow, settings in workflows
        for setting in settings
        for entrant in ENTRANTS.values()
    }
    logs = {(workflow.key, seed): log for workflow, _ in workflows for seed, log in workflow.logs.items()}
    every = [job for each in jobs.values() for job in each]
    ledger: Ledger[Replayed] = Ledger(Replayed, path)
    runner = Runner(ledger, len(every), processes or min(_MOST_PROCESSES, cores()), tell)
    found = {it.unit: it.replay for it in runner.run(every, _replay_here, prepare=_begin, prepared=(logs,))}
    return [
        _cell(workflow, name, setting, figure_5, {job.seed: found[job] for job in jobs[workflow.key, setting, name]})
        for workflow, settings in workflows
        for setting in settings
        for name in ENTRANTS
    ]


def _differs(workflow: Workflow) -> bool:
    return len({id(log) for log in workflow.logs.values()}) > 1


def _cell(
    workflow: Workflow, allocator: str, setting: Setting, figure_5: Figure5 | None, found: Mapping[int, Replay]
) -> Cell:
    shares = {}
    for shown, (name, unit, factor) in RESOURCES.items():
        costs = {seed: replayed.costs[name] for seed, replayed in found.items()}
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
    attempts = fmean(replayed.attempts / replayed.tasks for replayed in found.values())
    impossible = fmean(replayed.impossible for replayed in found.values())
    return Cell(workflow.name, workflow.kind, allocator, setting, attempts, impossible, shares)


_logs: dict[tuple[str, int], TaskLog] = {}  # by workflow and seed, in each process


def _begin(logs: Mapping[tuple[str, int], TaskLog]) -> None:
    _logs.update(logs)


def _replay_here(job: Job) -> Replayed:
    return Replayed(job, _replay(_logs[job.workflow, job.seed], job))


def _replay(log: TaskLog, job: Job) -> Replay:
    world = World(log.machine, job.setting.lag, job.setting.ttf, job.seed)
    allocator = PerResource(ENTRANTS[job.allocator].make, job.seed)
    allocator.tolerate(job.failures)
    return replay(log, allocator, world)
