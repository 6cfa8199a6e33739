"""The five pipelines: what their processes asked for and used, from Nextflow traces, or made up without them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from math import exp, log
from pathlib import Path
from statistics import median

from msgspec import Struct

from headway.formats.log_table import LogTable
from headway.formats.safe_yaml import shown
from headway.formats.unpacked_lines import unpacked_lines
from headway_papers.rl.draws import drawing

DATA_VARIABLE = "HEADWAY_DATA"
NAMES = ("eager", "chipseq", "rnaseq", "methylseq", "sarek")
_TRACE = "sizey-nextflow-traces/trace_{}.csv.gz"
_SAREK = "ksegments-traces/tasks.csv.gz"
_MB = 2.0**20
_SHORTEST_S = 0.5  # traces count in whole seconds: 0 is less than one
_MADE_UP = 12  # processes of a pipeline without a trace
_GB = 1e9


class Process(Struct, frozen=True):
    """A category: what the pipeline's developers ask for, how often it runs, and what runs of it took and used."""

    name: str
    cores: int
    memory_bytes: float
    tasks: int
    runs: list[tuple[float, float]]  # seconds with these cores, and the peak of memory in bytes


class Pipeline(Struct, frozen=True):
    """Processes in the order in which they commonly start."""

    name: str
    processes: list[Process]
    measured: bool


class Found(Struct, frozen=True):
    """The pipelines, and what is missing, in a sentence each."""

    pipelines: list[Pipeline]
    missing: list[str]


class _Row(Struct, frozen=True):
    """A task of a trace."""

    process: str
    cores: int
    asked_bytes: float
    run_s: float
    peak_bytes: float
    started_at: float


def find_pipelines() -> Found:
    """Those whose trace lies under the folder that HEADWAY_DATA names; the others are made up, with the same names."""
    data = os.environ.get(DATA_VARIABLE)
    pipelines, missing = [], []
    for name in NAMES:
        path = Path(data or "") / (_SAREK if name == "sarek" else _TRACE.format(name))
        if data and path.is_file():
            pipelines.append(_pipeline(name, _sarek_rows(path) if name == "sarek" else _trace_rows(path)))
        else:
            pipelines.append(made_up(name))
            missing.append(name)
    if not missing:
        return Found(pipelines, [])
    why = f"there is no trace of {', '.join(missing)} in {data}" if data else f"{DATA_VARIABLE} is not set"
    return Found(pipelines, [f"{why}: {', '.join(missing)} are made up, and say nothing of the real ones"])


def made_up(name: str) -> Pipeline:
    """A pipeline of no particular science: run times and peaks over three orders of magnitude, and developers who ask
    for two to ten times what is needed."""
    draw = drawing("made up", name)
    processes = []
    for number in range(_MADE_UP):
        cores = int(draw.choice([1, 1, 2, 4, 6, 12]))
        seconds, peak = exp(draw.normal(log(100.0), 1.3)), exp(draw.normal(log(1.5 * _GB), 1.2))
        asked = min(64 * _GB, max(_GB, peak * exp(draw.uniform(log(2.0), log(10.0)))))
        runs = [
            (seconds * exp(draw.normal(0, 0.4)), min(0.9 * asked, peak * exp(draw.normal(0, 0.25)))) for _ in range(40)
        ]
        processes.append(Process(f"{name}-{number + 1}", cores, asked, 40 if number else 1, runs))
    return Pipeline(name, processes, measured=False)


def _pipeline(name: str, rows: Iterable[_Row]) -> Pipeline:
    by_process: dict[str, list[_Row]] = {}
    for row in rows:
        by_process.setdefault(row.process, []).append(row)
    begins = {process: median(row.started_at for row in own) for process, own in by_process.items()}
    processes = []
    for process in sorted(by_process, key=lambda each: (begins[each], each)):
        own = by_process[process]
        asked = min(row.asked_bytes for row in own)  # more was asked for only after failures
        runs = [(row.run_s, row.peak_bytes) for row in own]
        processes.append(Process(process, round(median(row.cores for row in own)), asked, len(own), runs))
    return Pipeline(name, processes, measured=True)


def _trace_rows(path: Path) -> Iterable[_Row]:
    table = LogTable(unpacked_lines(path), shown(path))
    for row in table:
        if table.cell(row, "status") != "COMPLETED":
            continue
        cores, asked, peak = (table.number(row, name) for name in ("cpus", "memory", "peak_rss"))
        run_ms, started_ms = table.number(row, "realtime"), table.number(row, "start")
        if cores and asked and peak and run_ms is not None and started_ms is not None:
            seconds = max(_SHORTEST_S, run_ms / 1000)
            yield _Row(table.cell(row, "process"), int(cores), asked, seconds, peak, started_ms / 1000)


def _sarek_rows(path: Path) -> Iterable[_Row]:
    table = LogTable(unpacked_lines(path), shown(path))
    seen = set()
    for row in table:
        task = table.cell(row, "task_id")
        if table.cell(row, "workflow") != "sarek" or task in seen:  # the source has some tasks twice
            continue
        seen.add(task)
        cores, asked, peak_mb = (table.number(row, name) for name in ("max_cpus", "max_mem_bytes", "peak_mb"))
        run_s, started_at = table.number(row, "duration_s"), table.number(row, "first_sample")
        if cores and asked and peak_mb and run_s is not None and started_at is not None:
            seconds = max(_SHORTEST_S, run_s)
            yield _Row(table.cell(row, "process"), int(cores), asked, seconds, min(asked, peak_mb * _MB), started_at)
