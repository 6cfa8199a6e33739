"""Other people's jobs, which keep a test's Slurm busy: seeded, endless, at a load that one chooses."""

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
SIZES = {1: 5, 2: 3, 4: 2}  # nodes, and how often
SPREAD = 0.8  # of the logarithm of the run time
MOST_TYPICAL_RUNS = 6  # longer ones would decide a short experiment alone


@dataclass(frozen=True)
class BackgroundJob:
    """A job of whole nodes that comes so long after the start and asks for more time than it takes, as people do."""

    after_s: float
    nodes: int
    run_s: float
    walltime_min: int


def background_jobs(
    nodes: int, load: float, seed: int, *, typical_run_s: float, backlog_s: float = 0.0
) -> Iterator[BackgroundJob]:
    """Jobs that come at random and take, on the average, a share `load` of so many nodes; the same for the same seed.

    First of all, at once, come jobs that would keep all nodes busy for `backlog_s`.
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
            # Work comes at the rate `load * nodes`, so what this job brings lasts so long on the average.
            after_s += size * run_s / (load * nodes) * draw.expovariate(1.0)


class BackgroundLoad:
    """Submits background jobs as time goes by, from entering to leaving; then it takes them away."""

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
        """As somebody else where we may."""
        whose = ("--uid=nobody", "--gid=nogroup") if os.geteuid() == 0 else ()
        what = ("--exclusive", f"--nodes={job.nodes}", f"--time={job.walltime_min}", f"--job-name={NAME}")
        with contextlib.suppress(RuntimeError):  # a controller that is down gets no background load
            self._lab.submit(f"exec sleep {self._lab.real_s(job.run_s):.2f}", "--chdir=/", *whose, *what)
