"""`BatchLog`: the job log of a batch system. `BatchJobs`: the jobs of a log, prepared for simulation."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

Seconds = NDArray[np.float64]
Whole = NDArray[np.int64]

UNKNOWN = -1  # in any column, as in the Standard Workload Format


class BatchLog(Struct):
    """A table with one row per job, in the order of submission, and -1 for unknown values.

    Times are seconds since `started_at`. Processors are what the log counts: cores on most machines, whole nodes on
    some. `simulation.batch_jobs` decides what the log leaves open.
    """

    name: str
    processors: int  # of the machine
    number: Whole  # the job's number in the log
    submit_s: Seconds
    run_s: Seconds
    allocated: Whole  # processors
    requested: Whole  # processors
    requested_s: Seconds
    line: Whole  # of the file, for messages
    memory_kib: Seconds | None = None  # per processor: requested or, where that is unknown, used; None: not in this log
    partition: Seconds | None = None  # its number; None: not in this log
    started_at: float | None = None  # seconds since the epoch
    header: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)  # lines that were skipped, by reason

    def __len__(self) -> int:
        return len(self.number)


class BatchJobs(Struct):
    """Jobs to be simulated, in the order of submission; the first is submitted at 0.

    Every job runs for at least a second and at most its walltime, and fits on the machine.
    """

    name: str
    machine: int  # nodes
    submit_s: Seconds
    nodes: Whole
    req_s: Seconds
    run_s: Seconds
    started_at: float | None = None  # of the first submission, seconds since the epoch
    left_out: dict[str, int] = field(default_factory=dict)
    further: dict[str, int] = field(default_factory=dict)  # the machine's amounts of resources other than nodes
    needs: dict[str, Whole] = field(default_factory=dict)  # what each job needs of them

    def __len__(self) -> int:
        return len(self.submit_s)

    def load(self) -> float:
        """The jobs' node-seconds over those of the machine between the first and the last submission."""
        span_s = float(self.submit_s[-1]) if len(self) else 0.0
        return float(self.nodes @ self.run_s) / (self.machine * span_s) if span_s else 0.0
