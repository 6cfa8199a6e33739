"""A million observations of one category, and a hundred thousand categories: what they cost a history and a sizer.

`python -m benchmarks.learning_data [--observations N] [--categories N]`: times are of the processor, and all should
grow as the numbers do.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.table import Table

from headway.api.history import show_history
from headway.drivers.assemble import sizers
from headway.drivers.run_history import RunHistory
from headway.history.location import open_history
from headway.model.observation import Observation
from headway.model.outcome import Ending, Measured, Quality, Usage
from headway.model.records import HistoryKey
from headway.model.resources import Resources
from headway.sizing.base import Context
from headway.sizing.per_resource import PerResource

SITE, FLOW = "site", "flow"
BATCH = 5000
GIVEN = Resources(cores=1, memory_bytes=2_000_000_000, disk_bytes=10**9)
LIMITS = Resources(cores=16, memory_bytes=64_000_000_000, disk_bytes=10**12)
SIZER = "ladder"

Row = tuple[str, float, float, str]  # what, seconds of processor time, MB more, a remark


def observations(number: int, categories: int) -> Iterator[Observation]:
    """Attempts of so many categories in turn."""
    draw = random.Random(0)
    for n in range(number):
        peak = draw.uniform(0.5e9, 1.5e9)
        usage = Usage(Measured(60.0, Quality.EXACT), None, Measured(peak, Quality.EXACT), method="polling")
        about = (f"c{n % categories}", "run", f"t{n}", 1, Ending.SUCCESS, 1e9 + n, 1e9 + n + 60)
        yield Observation(*about, GIVEN, usage, int(peak / 100), {})


def write(place: Path, number: int, categories: int) -> int:
    """Add the observations to a history; return its size."""
    history = open_history(str(place))
    batch: list[Observation] = []
    for seen in observations(number, categories):
        batch.append(seen)
        if len(batch) == BATCH:
            history.add(SITE, FLOW, batch)
            batch = []
    history.add(SITE, FLOW, batch)
    history.close()
    return place.stat().st_size


def read(place: Path) -> int:
    """Read what a run that grows would learn from; return how many observations that are."""
    history = RunHistory(HistoryKey(str(place), SITE, FLOW), print, read_only=True)
    found = history.observations(None)
    history.close()
    return len(found)


def learn(number: int, categories: int) -> int:
    """Let an allocator learn all of them, and answer now and then; return the size of its state."""
    allocator = PerResource(sizers()[SIZER])
    allocator.tolerate(0.03)
    for count, seen in enumerate(observations(number, categories)):
        task = seen.as_task()
        allocator.observe(task, {}, seen.as_outcome())
        if count % 100 == 0:
            allocator.allocate(task, {}, Context(LIMITS))
    return len(json.dumps(allocator.state()))


def measured(what: str, act: Callable[[], str]) -> Row:
    """Do something that returns a remark; return that with the processor time, and by how much the process grew."""
    began, before = time.process_time(), _peak_mb()
    remark = act()
    return what, time.process_time() - began, _peak_mb() - before, remark


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def rows_for(number: int, categories: int) -> list[Row]:
    """What is measured for one size, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        place = Path(folder) / "history.db"
        return [
            measured("added to a history", lambda: f"{write(place, number, categories) / 1e6:.0f} MB on disk"),
            measured("read by a run that starts", lambda: f"{read(place):,} of them"),
            measured("headway history", lambda: f"{len(show_history(history=str(place)).categories):,} categories"),
            measured(f"learned by {SIZER}", lambda: f"a state of {learn(number, categories) / 1e6:.1f} MB"),
        ]


def main() -> None:
    """Print a table for both shapes, at a tenth of the size and at the size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--observations", type=int, default=1_000_000)
    parser.add_argument("--categories", type=int, default=100_000)
    asked = parser.parse_args()
    table = Table(title="many observations and many categories, seed 0")
    for heading in ("observations", "categories", "what", "processor s", "MB more", ""):
        table.add_column(heading, justify="right")
    shapes = [(asked.observations, 1), (asked.observations, asked.categories)]
    for number, categories in [(max(1, a // 10), max(1, b // 10)) for a, b in shapes] + shapes:
        with get_context("spawn").Pool(1) as pool:
            for what, spent_s, more_mb, result in pool.apply(rows_for, (number, categories)):
                table.add_row(f"{number:,}", f"{categories:,}", what, f"{spent_s:.1f}", f"{more_mb:.0f}", result)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
