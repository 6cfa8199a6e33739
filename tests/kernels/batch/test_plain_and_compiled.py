"""The scheduler computes the same in plain Python, where no numba is installed, and in machine code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from headway.kernels import compiled
from headway.kernels.batch.queue import Scheduling
from headway.simulation.batch import queue_of
from headway.simulation.lublin import lublin

SCHEDULINGS = [
    Scheduling("fcfs"),
    Scheduling("easy", depth=3),
    *(Scheduling("easy", *rest) for rest in product(("counts", "ids"), ("pyss", "batsched"))),
    *(Scheduling("conservative", *rest) for rest in product(("counts", "ids", "contiguous"), ("pyss", "batsched"))),
]


def starts(scheduling: Scheduling) -> list[list[float]]:
    """Simulate made-up jobs with two foreign jobs among them, and questions; with memory, where that is possible."""
    jobs = lublin(70, 150, 0.9, 5)
    if scheduling.nodes == "counts" and scheduling.rules == "pyss":
        jobs.further, jobs.needs = {"memory": 200}, {"memory": jobs.nodes * (1 + jobs.nodes % 3) % 200}
    queue = queue_of(jobs, scheduling)
    queue.advance(float(jobs.submit_s[50]))
    found = [queue.waits([1, 10, 70], [100.0, 3600.0, 50.0]).tolist()]
    first = queue.submit(20, 4000.0)
    queue.submit(30, 500.0, after=first)
    queue.advance(float(jobs.submit_s[60]))
    queue.shrink(first, 12)
    queue.advance(float(jobs.submit_s[70]))
    queue.withdraw(first)
    queue.run()
    return [*found, queue.starts.tolist(), queue.promises.tolist()]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(compiled, "PATIENCE_S", 0.0)
    monkeypatch.setattr(compiled, "PATIENCE_IF_KEPT_S", 0.0)
    yield


PLAIN = f"""
import sys
sys.modules["numba"] = None  # importing it fails
import warnings
warnings.simplefilter("error")
from tests.kernels.batch.{Path(__file__).stem} import SCHEDULINGS, starts
for scheduling in SCHEDULINGS:
    print(starts(scheduling))
"""


@pytest.mark.usefixtures("at_once")
def test_the_same_without_numba() -> None:
    plain = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, check=True)
    for scheduling, line in zip(SCHEDULINGS, plain.stdout.splitlines(), strict=True):
        assert str(starts(scheduling)) == line, scheduling
