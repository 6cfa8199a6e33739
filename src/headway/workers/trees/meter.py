"""`Meter`: collects measurements of one attempt and computes its usage, with the quality of each figure.

The peak of memory has three sources:

- Samples are correct for their moment and miss what happens in between: a lower bound of the peak.
- `ru_maxrss` of reaped processes is the kernel's own peak, but of the largest single process, with file pages. Without
  the file pages seen it is a lower bound for the tree; if there was only one process, it is an upper bound.
- A cgroup's peak covers the whole tree, with page cache and kernel memory: an upper bound.

If lower and upper bound agree within 5 %, the figure is exact; otherwise it is the best lower bound, marked as sampled.
"""

from __future__ import annotations

import math
from collections import deque

from headway.model.outcome import Ending, Measured, Quality, Usage
from headway.workers.trees.group import Sample, Totals

_AGREEMENT = 0.95
_WINDOW_S = 0.5  # cores in use are averaged over at least this long
_FLOOR_MARGIN = 1.25  # `ru_maxrss` below this multiple of the spawner's own tells nothing about the command
_CPU_ROUNDING_S = 0.05  # /proc counts hundredths of a second, for each process


class Meter:
    """Measurements of one attempt, from its launch to the end of its last process. Times are monotonic seconds."""

    def __init__(self, method: str, *, floor_bytes: int, most_cores: float = math.inf) -> None:
        """`most_cores` is what the machine has: CPU seconds that are noted late must not look like more."""
        self._method = method
        self._most_cores = most_cores
        self._floor_bytes = floor_bytes * _FLOOR_MARGIN
        self.held_bytes = 0  # the largest amount seen so far
        self._sampled = False
        self._file_bytes: int | None = None
        self._largest_bytes = 0  # ru_maxrss
        self._alone = True
        self._reaped_cpu_s = 0.0
        self._seen_cpu_s = 0.0
        self._cpu_history: deque[tuple[float, float]] = deque()  # (time, CPU seconds so far) of the last window
        self._cores_peak = 0.0
        self._disk_bytes: int | None = None

    def begin(self, at_s: float) -> None:
        """Note the start of the first process."""
        self._cpu_history.append((at_s, 0.0))

    def add_sample(self, at_s: float, sample: Sample) -> None:
        """Add a sample of the whole tree."""
        self._sampled = True
        self._alone = self._alone and len(sample.pids) <= 1
        self.add_held(sample.held_bytes)
        if sample.file_bytes is not None:
            self._file_bytes = max(self._file_bytes or 0, sample.file_bytes)
        self._see_cpu(at_s, self._reaped_cpu_s + sample.cpu_s)

    def add_held(self, held_bytes: int) -> None:
        """Add an amount of memory that the tree held."""
        self.held_bytes = max(self.held_bytes, held_bytes)

    def add_disk(self, disk_bytes: int) -> None:
        """Add a size that the measured directory had."""
        self._disk_bytes = max(self._disk_bytes or 0, disk_bytes)

    def add_reaped(self, cpu_s: float, largest_bytes: int, *, alone: bool) -> None:
        """Add a process that we reaped: the first process, or an orphan (which was not alone)."""
        self._reaped_cpu_s += cpu_s
        self._largest_bytes = max(self._largest_bytes, largest_bytes)
        self._alone = self._alone and alone

    def usage(
        self, started_s: float, ended_s: float, totals: Totals, stopped: Ending | None, limit_bytes: int
    ) -> Usage:
        """Compute the usage. If the attempt was stopped, its figures are lower bounds of what it needs."""
        wall_s = ended_s - started_s
        cpu = self._cpu(totals)
        self._see_cpu(ended_s, cpu.value)
        average = Measured(min(cpu.value / wall_s, self._most_cores) if wall_s > 0 else 0.0, cpu.quality)
        peak = Measured(min(max(self._cores_peak, average.value), self._most_cores), Quality.SAMPLED)
        memory = self._memory(totals)
        if stopped is Ending.MEMORY and totals.memory_kills and (totals.peak_bytes or 0) >= limit_bytes:
            # The kernel did not let it grow beyond its limit, so it needs at least that.
            memory = Measured(max(memory.value, limit_bytes), memory.quality)
        disk = None if self._disk_bytes is None else Measured(self._disk_bytes, Quality.SAMPLED)
        wall = Measured(wall_s, Quality.EXACT)
        if stopped is not None:
            wall, cpu, memory, peak = map(_at_least, (wall, cpu, memory, peak))
            disk = disk and _at_least(disk)
        return Usage(
            wall_s=wall,
            cpu_s=cpu,
            memory_bytes=memory,
            disk_bytes=disk,
            cores_peak=peak,
            cores_average=average,
            method=self._method,
        )

    def _memory(self, totals: Totals) -> Measured:
        largest = self._largest_bytes if self._largest_bytes > self._floor_bytes else 0
        lower = self.held_bytes
        if totals.peak_held_bytes is not None:
            # A peak between two samples: the part of the cgroup's peak that a single process has reached.
            lower = max(lower, min(totals.peak_held_bytes, largest))
        elif self._file_bytes is not None:
            lower = max(lower, largest - self._file_bytes)
        uppers = [totals.peak_bytes] if totals.peak_bytes is not None else []
        if self._alone:
            uppers.append(self._largest_bytes)
        if uppers and lower >= _AGREEMENT * min(uppers):
            return Measured(lower, Quality.EXACT)
        estimate = max(lower, min([totals.peak_held_bytes or 0, *uppers]))
        if self._sampled or totals.peak_held_bytes is not None:
            return Measured(estimate, Quality.SAMPLED)
        # It ended before the first sample, and there is no cgroup: only the largest process is known.
        return Measured(self._largest_bytes, Quality.UPPER_BOUND if self._alone else Quality.SAMPLED)

    def _cpu(self, totals: Totals) -> Measured:
        if totals.cpu_s is not None:
            return Measured(totals.cpu_s, Quality.EXACT)
        if self._seen_cpu_s > self._reaped_cpu_s * 1.01 + _CPU_ROUNDING_S:
            return Measured(self._seen_cpu_s, Quality.SAMPLED)  # some processes were not waited for
        return Measured(self._reaped_cpu_s, Quality.EXACT)

    def _see_cpu(self, at_s: float, cpu_s: float) -> None:
        cpu_s = max(cpu_s, self._seen_cpu_s)  # a process that has ended and is not reaped is missing from the sum
        self._seen_cpu_s = cpu_s
        history = self._cpu_history
        while len(history) > 1 and history[1][0] <= at_s - _WINDOW_S:
            history.popleft()
        if history and history[0][0] <= at_s - _WINDOW_S:
            self._cores_peak = max(self._cores_peak, (cpu_s - history[0][1]) / (at_s - history[0][0]))
        history.append((at_s, cpu_s))


def _at_least(figure: Measured) -> Measured:
    return Measured(figure.value, Quality.LOWER_BOUND)
