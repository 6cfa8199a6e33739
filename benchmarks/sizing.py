"""The time of a sizer's observation and prediction, compared with Phung and Thain 2024, Table I."""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.measure import timed
from headway.kernels.bucketing import exhaustive_cuts, greedy_cuts
from headway.kernels.ladder import rungs_of
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import Context, Sizer
from headway.sizing.estimators.bucketing import ExhaustiveBucketing, GreedyBucketing
from headway.sizing.ways import sizers_of

SIZES = (10, 200, 1_000, 2_000, 5_000, 1_000_000)
# Table I: average microseconds to compute a new bucketing state and derive a new allocation.
PAPER_US: dict[str, dict[int, float]] = {
    GreedyBucketing.name: {10: 11.2, 200: 586.4, 1_000: 14_588.2, 2_000: 62_207.2, 5_000: 441_050.7},
    ExhaustiveBucketing.name: {10: 14.4, 200: 76.5, 1_000: 323.5, 2_000: 567.8, 5_000: 1_632.0},
}
ROUNDS = 200
LONGEST_S = 5.0  # for the rounds of one figure
# A sizer that takes longer than this at 5,000 records is not timed with a million.
SLOWEST_US = 150.0
LIMITS = Resources(cores=16, memory_bytes=64_000_000_000, disk_bytes=64_000_000_000)

FIRST_USE = """
from headway.sizing import SIZERS
sizer = SIZERS["{name}"].sizer("memory_bytes")
state = {{"version": 1, "values": [1e9 + n for n in range(2000)], "significances": list(range(1, 2001))}}
sizer.restore(state)
from benchmarks.sizing import LIMITS, Context, Task
sizer.predict(Task("t", "c", "-", outputs=("-",)), [], Context(LIMITS))
"""


def normal(draw: random.Random) -> float:
    """Draw a peak from the example in section IV-A of the paper: 8 GB with a standard deviation of 2 GB."""
    return max(1e8, draw.gauss(8e9, 2e9))


def exponential(draw: random.Random) -> float:
    """Draw a peak as in the paper's hardest workflow, which needs many buckets."""
    return 1e8 + draw.expovariate(1 / 5e9)


def main(sizers: Mapping[str, Callable[[str], Sizer]] | None = None, sizes: Sequence[int] = SIZES) -> None:
    """Print the table for `sizers` (by default the two that the paper timed), and the time of compiling."""
    console = Console()
    for kernel in (greedy_cuts, exhaustive_cuts, rungs_of):
        kernel.compile_now()  # as in a long run; before that, small sizes take a tenth of a millisecond
    chosen = sizers or {estimator.name: sizers_of(estimator) for estimator in (GreedyBucketing, ExhaustiveBucketing)}
    for peaks in (normal, exponential):
        table = Table(title=f"µs to learn one outcome and answer one question, {peaks.__name__} peaks")
        table.add_column("records", no_wrap=True)
        for size in sizes:
            table.add_column(f"{size:,}", justify="right", no_wrap=True)
        for name, make in chosen.items():
            table.add_row(name, *figures(make, sizes, peaks))
            if name in PAPER_US:
                published = (PAPER_US[name].get(size) for size in sizes)
                table.add_row(
                    "  Phung and Thain 2024", *(_cell(value) if value else "" for value in published), style="dim"
                )
        console.print(table)
    for name in (GreedyBucketing.name, ExhaustiveBucketing.name):
        wall_s, cpu_s = first_use_s(name)
        console.print(
            f"{name}: first use of compiled code, nothing cached: {wall_s:.1f} s, {cpu_s:.1f} s of it computing"
        )


def figures(
    make: Callable[[str], Sizer], sizes: Sequence[int], peaks: Callable[[random.Random], float]
) -> Iterator[str]:
    """Yield a cell for each size."""
    last_us = 0.0
    for size in sizes:
        if size > 5_000 and last_us > SLOWEST_US:
            yield "-"
            continue
        last_us = median_us(make, size, peaks)
        yield _cell(last_us)


def _cell(value_us: float) -> str:
    return f"{value_us:,.1f}" if value_us < 100 else f"{value_us:,.0f}"


def median_us(make: Callable[[str], Sizer], records: int, peaks: Callable[[random.Random], float]) -> float:
    """Return the median time of one observation and one prediction by a sizer with this number of records."""
    draw = random.Random(records)
    values = [peaks(draw) for _ in range(records)]
    if records > 5_000:
        values.sort()  # inserting a million values in random order takes minutes
    sizer = make("memory_bytes")
    for number, value in enumerate(values):
        sizer.observe(_task(number), _outcome(value))
    state = sizer.state()
    before_restoring = max(1, records // 50)  # rounds that change the number of records by little
    spans_s: list[float] = []
    began = time.perf_counter()
    while len(spans_s) < ROUNDS and (len(spans_s) < 3 or time.perf_counter() - began < LONGEST_S):
        if len(spans_s) % before_restoring == 0:
            sizer = make("memory_bytes")
            sizer.restore(state)
            _round(sizer, 0, peaks(draw))  # what it computes only once is not timed
        spans_s.append(_round(sizer, len(spans_s), peaks(draw)))
    return statistics.median(spans_s) * 1e6


def _round(sizer: Sizer, number: int, peak: float) -> float:
    task, outcome, context = _task(number), _outcome(peak), Context(LIMITS, (1, "p", str(number), 1))
    began = time.perf_counter()
    sizer.observe(task, outcome)
    sizer.predict(task, (), context)
    return time.perf_counter() - began


def first_use_s(sizer: str) -> tuple[float, float]:
    """Return the wall time and CPU time of compiling: a new process with an empty cache, less one in plain Python."""
    script = FIRST_USE.format(name=sizer)
    here = str(Path(__file__).parents[1])
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        directory = Path(folder)
        plain = script.replace("range(2000)", "range(20)").replace("range(1, 2001)", "range(1, 21)")
        without = timed([sys.executable, "-c", plain], directory, PYTHONPATH=here)
        compiling = timed(
            [sys.executable, "-c", script], directory, PYTHONPATH=here, NUMBA_CACHE_DIR=str(directory / "cache")
        )
    return compiling.wall_s - without.wall_s, compiling.cpu_s - without.cpu_s


def _task(number: int) -> Task:
    return Task(f"t{number}", "c", "-", outputs=("-",), input_bytes=1_000_000 + number)


def _outcome(peak: float) -> Outcome:
    usage = Usage(wall_s=Measured(60.0, Quality.EXACT), memory_bytes=Measured(peak, Quality.EXACT))
    return Outcome("t", 1, Ending.SUCCESS, 0.0, 60.0, usage)
