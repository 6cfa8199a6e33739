"""The five pipelines: what their processes asked for and used, from Nextflow traces, or generated without them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from math import exp, log
from pathlib import Path
from statistics import median

from msgspec import Struct
from numpy.random import Generator, Philox

from headway.formats.log_table import LogTable
from headway.formats.safe_yaml import shown
from headway.formats.unpacked import unpacked_lines
from headway_papers.frame.data import VARIABLE, data_folder

NAMES = ("eager", "chipseq", "rnaseq", "methylseq", "sarek")
_TRACE = "sizey-nextflow-traces/trace_{}.csv.gz"
_SAREK = "ksegments-traces/tasks.csv.gz"
_MB = 2.0**20
_SHORTEST_S = 0.5  # traces have whole seconds: 0 means less than one
_GENERATED = 12  # processes of a generated pipeline
_GB = 1e9


def drawing(*question: object) -> Generator:
    """A random generator for this question; the same question draws the same numbers."""
    digest = hashlib.blake2b(repr(question).encode(), digest_size=16).digest()
    return Generator(Philox(key=int.from_bytes(digest)))


class Process(Struct, frozen=True):
    """A category: the developers' requests, the number of tasks, and the run times and peaks that were measured."""

    name: str
    cores: int
    memory_bytes: float
    tasks: int
    runs: list[tuple[float, float]]  # seconds with these cores, and peak memory in bytes


class Pipeline(Struct, frozen=True):
    """Processes in the order in which they commonly start."""

    name: str
    processes: list[Process]
    measured: bool


class Found(Struct, frozen=True):
    """The pipelines, and a sentence for each thing that is missing."""

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
    """Those whose trace lies under the folder that HEADWAY_DATA names; the others are generated."""
    data = data_folder()
    pipelines, missing = [], []
    for name in NAMES:
        path = (data or Path()) / (_SAREK if name == "sarek" else _TRACE.format(name))
        if data and path.is_file():
            pipelines.append(_pipeline(name, _sarek_rows(path) if name == "sarek" else _trace_rows(path)))
        else:
            pipelines.append(generated(name))
            missing.append(name)
    if not missing:
        return Found(pipelines, [])
    why = f"there is no trace of {', '.join(missing)} in {data}" if data else f"{VARIABLE} is not set"
    return Found(pipelines, [f"{why}: {', '.join(missing)} are generated, and say nothing about the real ones"])


def generated(name: str) -> Pipeline:
    """A generated pipeline: run times and peaks over three orders of magnitude, and requests of two to ten times the
    need."""
    draw = drawing("made up", name)
    processes = []
    for number in range(_GENERATED):
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
        asked = min(row.asked_bytes for row in own)  # more was requested only after failures
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
