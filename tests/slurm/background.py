"""Background jobs of other users that keep a test's Slurm busy: an endless, seeded stream with a chosen load."""

from __future__ import annotations

import contextlib
import math
import os
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from tests.slurm.lab import SlurmLab

NAME = "background"
SIZES = {1: 5, 2: 3, 4: 2}  # number of nodes: relative frequency
SPREAD = 0.8  # standard deviation of the logarithm of the run time
MOST_TYPICAL_RUNS = 6  # cap on run times: a single longer job would dominate a short experiment


@dataclass(frozen=True)
class BackgroundJob:
    """A whole-node job, submitted `after_s` after the start; as real users do, it requests more time than it uses."""

    after_s: float
    nodes: int
    run_s: float
    walltime_min: int


def background_jobs(
    nodes: int, load: float, seed: int, *, typical_run_s: float, backlog_s: float = 0.0
) -> Iterator[BackgroundJob]:
    """Yield jobs with random arrival times whose mean work is a share `load` of the nodes; one seed, one sequence.

    The first jobs all arrive at time 0 and are enough to keep all nodes busy for `backlog_s`.
    """
    draw = random.Random(seed)
    sizes = {size: weight for size, weight in SIZES.items() if size <= nodes}
    after_s, backlog_node_s = 0.0, backlog_s * nodes
    while True:
        size = draw.choices(list(sizes), list(sizes.values()))[0]
        run_s = min(typical_run_s * math.exp(draw.gauss(0.0, SPREAD)), MOST_TYPICAL_RUNS * typical_run_s)
        yield BackgroundJob(after_s, size, run_s, math.ceil(run_s * draw.uniform(1.1, 3.0) / 60))
        if backlog_node_s > 0:
            backlog_node_s -= size * run_s
        else:
            # Work arrives at a mean rate of `load * nodes`, so the mean gap after a job is its work over that rate.
            after_s += size * run_s / (load * nodes) * draw.expovariate(1.0)


class BackgroundLoad:
    """Context manager that submits background jobs from entry to exit, and cancels them on exit."""

    def __init__(
        self, lab: SlurmLab, load: float, seed: int, *, typical_run_s: float = 1200.0, backlog_s: float = 1800.0
    ) -> None:
        self._lab = lab
        self._jobs = background_jobs(len(lab.nodes), load, seed, typical_run_s=typical_run_s, backlog_s=backlog_s)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._submit_all, name="background load")
        self.submitted: list[BackgroundJob] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        self._lab.run("scancel", f"--name={NAME}", check=False)

    def _submit_all(self) -> None:
        started_at = self._lab.now()
        for job in self._jobs:
            early_s = started_at + job.after_s - self._lab.now()
            if self._stop.wait(max(0.0, self._lab.real_s(early_s))):
                return
            self._submit(job)
            self.submitted.append(job)

    def _submit(self, job: BackgroundJob) -> None:
        """Submit a background job, as the user nobody if we are root."""
        whose = ("--uid=nobody", "--gid=nogroup") if os.geteuid() == 0 else ()
        what = ("--exclusive", f"--nodes={job.nodes}", f"--time={job.walltime_min}", f"--job-name={NAME}")
        with contextlib.suppress(RuntimeError):  # while the controller is down, jobs are skipped
            self._lab.submit(f"exec sleep {self._lab.real_s(job.run_s):.2f}", "--chdir=/", *whose, *what)
