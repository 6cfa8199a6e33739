"""The paper's own runs, from their logs: the same formula must give the published figures."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median

from msgspec import Struct

from headway.formats.log_table import LogTable
from headway.formats.unpacked import unpacked_lines
from headway_papers.bucketing.allocators import ENTRANTS
from headway_papers.bucketing.published import Figure5
from headway_papers.bucketing.workflows import LOGS

# By the name of a resource: its columns, and how many of their amount-seconds are a GB·h or core·h.
_COLUMNS = {"memory": ("memory_mb", 3600e3), "disk": ("disk_mb", 3600e3), "cores": ("cores", 3600.0)}
_EXPLORING = {"memory": 1000.0, "disk": 1000.0, "cores": 1.0}  # what the bucketing algorithms start with


class OwnRun(Struct, frozen=True):
    """One of the paper's runs: a workflow under an allocator. Amounts by resource, in GB·h and core·h."""

    workflow: str
    allocator: str
    tasks: int
    attempts_per_task: float
    in_flight: float  # attempts running when one starts: the median
    awe: dict[str, float]
    published: dict[str, float | None]
    fragmentation: dict[str, float]  # given to attempts that succeeded, and not used
    failed: dict[str, float]  # given to attempts that failed
    cores_used: float  # by attempts that succeeded, mean weighted by run time
    first_amounts: int  # of first attempts after exploration, over all resources, without the first one
    lowered: int  # of these, the ones lower than the one before; draws from several buckets would go up and down


class _Attempt(Struct, frozen=True):
    """A row of the log. An attempt that was lost with its worker has no run time."""

    task: str
    is_first: bool
    succeeded: bool
    begun_us: float
    ended_us: float
    run_s: float | None
    given: dict[str, float]
    used: dict[str, float]


def own_runs(folder: Path, figure_5: Figure5) -> list[OwnRun]:
    """All runs whose log is there."""
    return [
        own_run(path, workflow, entrant.name, figure_5)
        for workflow, stem in LOGS.items()
        for entrant in ENTRANTS.values()
        if entrant.column and (path := folder / f"{stem}_{entrant.column}.csv.gz").is_file()
    ]


def own_run(path: Path, workflow: str, allocator: str, figure_5: Figure5) -> OwnRun:
    """The figures of one run, from its log."""
    attempts = sorted(_attempts(path), key=lambda attempt: attempt.begun_us)
    measured = [attempt for attempt in attempts if attempt.run_s is not None]
    good = [attempt for attempt in measured if attempt.succeeded]
    first = [attempt for attempt in attempts if attempt.is_first and attempt.given != _EXPLORING]
    column = ENTRANTS[allocator].column
    used = {name: sum(it.used[name] * (it.run_s or 0) for it in good) for name in _COLUMNS}
    kept = {name: sum(it.given[name] * (it.run_s or 0) for it in good) for name in _COLUMNS}
    given = {name: sum(it.given[name] * (it.run_s or 0) for it in measured) for name in _COLUMNS}
    tasks = len({attempt.task for attempt in attempts})
    return OwnRun(
        workflow,
        allocator,
        tasks,
        len(measured) / max(1, tasks),
        _in_flight(attempts),
        {name: used[name] / given[name] if given[name] else 0.0 for name in _COLUMNS},
        {name: figure_5.awe(name, workflow, column) for name in _COLUMNS},
        {name: (kept[name] - used[name]) / unit for name, (_, unit) in _COLUMNS.items()},
        {name: (given[name] - kept[name]) / unit for name, (_, unit) in _COLUMNS.items()},
        used["cores"] / (sum(it.run_s or 0 for it in good) or 1.0),
        max(0, len(first) - 1) * len(_COLUMNS),
        sum(later.given[name] < earlier.given[name] for earlier, later in pairwise(first) for name in _COLUMNS),
    )


def _attempts(path: Path) -> Iterator[_Attempt]:
    table = LogTable(unpacked_lines(path), str(path))
    for row in table:
        result = table.cell(row, "result")
        yield _Attempt(
            table.cell(row, "task_id"),
            table.cell(row, "attempt") == "1",
            result == "SUCCESS",
            table.number(row, "t_run_us") or 0.0,
            table.number(row, "t_end_us") or 0.0,
            None if result == "LOST" else table.number(row, "wall_time_s"),
            {name: table.number(row, f"alloc_{column}") or 0.0 for name, (column, _) in _COLUMNS.items()},
            {name: table.number(row, f"used_{column}") or 0.0 for name, (column, _) in _COLUMNS.items()},
        )


def _in_flight(attempts: Sequence[_Attempt]) -> float:
    ended = sorted(attempt.ended_us for attempt in attempts)
    running = [place - bisect_left(ended, attempt.begun_us) for place, attempt in enumerate(attempts)]
    return median(running) if running else 0.0
