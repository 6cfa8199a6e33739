"""`Meter`: gathers evidence about one attempt's usage and says what it amounts to, and how far to trust it.

Memory has three witnesses, none of them perfect:

- looks: right for the moment they are taken at, blind in between. A lower bound of the peak.
- `ru_maxrss` of what was reaped: the kernel's own peak, but of the largest single process, file pages included. Less
  the file pages seen, a lower bound for the tree; if there never was a second process, an upper bound as it is.
- a cgroup's peak: of the whole tree, but with page cache and kernel memory. An upper bound.

Where lower and upper bound agree within 5 % the figure is exact; elsewhere it is the best lower one, a sample.
"""

from __future__ import annotations

from collections import deque

from headway.model.outcome import Ending, Measured, Quality, Usage
from headway.workers.trees.group import Sample, Totals

_AGREEMENT = 0.95
_WINDOW_S = 0.5  # cores in use are an average over at least this long
_FLOOR_MARGIN = 1.25  # `ru_maxrss` this close to that of an empty command says nothing about the command
_CPU_ROUNDING_S = 0.05  # /proc counts in hundredths of a second, for each process


class Meter:
    """Evidence of one attempt, from launch to the end of its last process. Times are monotonic seconds."""

    def __init__(self, method: str, *, floor_bytes: int) -> None:
        self._method = method
        self._floor_bytes = floor_bytes * _FLOOR_MARGIN
        self.held_bytes = 0  # the most seen so far
        self._looked = False
        self._file_bytes: int | None = None
        self._largest_bytes = 0  # ru_maxrss
        self._alone = True
        self._reaped_cpu_s = 0.0
        self._seen_cpu_s = 0.0
        self._cpu_history: deque[tuple[float, float]] = deque()  # (at, cpu so far), the last window's
        self._cores_peak = 0.0
        self._disk_bytes: int | None = None

    def begin(self, at_s: float) -> None:
        """The first process was started."""
        self._cpu_history.append((at_s, 0.0))

    def add_sample(self, at_s: float, sample: Sample) -> None:
        """A sample at the whole tree."""
        self._looked = True
        self._alone = self._alone and len(sample.pids) <= 1
        self.add_held(sample.held_bytes)
        if sample.file_bytes is not None:
            self._file_bytes = max(self._file_bytes or 0, sample.file_bytes)
        self._see_cpu(at_s, self._reaped_cpu_s + sample.cpu_s)

    def add_held(self, held_bytes: int) -> None:
        """Memory that the tree was seen to hold."""
        self.held_bytes = max(self.held_bytes, held_bytes)

    def add_disk(self, disk_bytes: int) -> None:
        """The size that the measured directory was seen to have."""
        self._disk_bytes = max(self._disk_bytes or 0, disk_bytes)

    def add_reaped(self, cpu_s: float, largest_bytes: int, *, alone: bool) -> None:
        """A process was reaped that nobody else waited for: the first one, or an orphan (not alone)."""
        self._reaped_cpu_s += cpu_s
        self._largest_bytes = max(self._largest_bytes, largest_bytes)
        self._alone = self._alone and alone

    def usage(
        self, started_s: float, ended_s: float, totals: Totals, stopped: Ending | None, limit_bytes: int
    ) -> Usage:
        """What it all amounts to. Whatever was stopped would have gone on: its figures are lower bounds."""
        wall_s = ended_s - started_s
        cpu = self._cpu(totals)
        self._see_cpu(ended_s, cpu.value)
        average = cpu.value / wall_s if wall_s > 0 else 0.0
        peak = Measured(max(self._cores_peak, average), Quality.SAMPLED)
        memory = self._memory(totals)
        if stopped is Ending.MEMORY and totals.memory_kills and (totals.peak_bytes or 0) >= limit_bytes:
            # The kernel refused to let it grow beyond its limit: it wanted at least that.
            memory = Measured(max(memory.value, limit_bytes), memory.quality)
        disk = None if self._disk_bytes is None else Measured(self._disk_bytes, Quality.SAMPLED)
        wall = Measured(wall_s, Quality.EXACT)
        if stopped is not None:
            wall, cpu_total, memory, peak = (_at_least(figure) for figure in (wall, cpu, memory, peak))
            disk = disk and _at_least(disk)
        else:
            cpu_total = cpu
        return Usage(
            wall_s=wall,
            cpu_s=cpu_total,
            memory_bytes=memory,
            disk_bytes=disk,
            cores_peak=peak,
            cores_average=Measured(average, cpu.quality),
            method=self._method,
        )

    def _memory(self, totals: Totals) -> Measured:
        telling = self._largest_bytes if self._largest_bytes > self._floor_bytes else 0
        lower = self.held_bytes
        if totals.peak_held_bytes is not None:
            # A peak between two looks: as much as the cgroup's peak leaves room for and one process has shown.
            lower = max(lower, min(totals.peak_held_bytes, telling))
        elif self._file_bytes is not None:
            lower = max(lower, telling - self._file_bytes)
        uppers = [totals.peak_bytes] if totals.peak_bytes is not None else []
        if self._alone:
            uppers.append(self._largest_bytes)
        if uppers and lower >= _AGREEMENT * min(uppers):
            return Measured(lower, Quality.EXACT)
        estimate = max(lower, min([totals.peak_held_bytes or 0, *uppers]))
        if self._looked or totals.peak_held_bytes is not None:
            return Measured(estimate, Quality.SAMPLED)
        # Over before the first sample, and no cgroup: all there is is the largest process.
        return Measured(self._largest_bytes, Quality.UPPER_BOUND if self._alone else Quality.SAMPLED)

    def _cpu(self, totals: Totals) -> Measured:
        if totals.cpu_s is not None:
            return Measured(totals.cpu_s, Quality.EXACT)
        if self._seen_cpu_s > self._reaped_cpu_s * 1.01 + _CPU_ROUNDING_S:
            return Measured(self._seen_cpu_s, Quality.SAMPLED)  # processes that nobody waited for: their sum is lost
        return Measured(self._reaped_cpu_s, Quality.EXACT)

    def _see_cpu(self, at_s: float, cpu_s: float) -> None:
        cpu_s = max(cpu_s, self._seen_cpu_s)  # a process between its end and its reaping is in no sum
        self._seen_cpu_s = cpu_s
        history = self._cpu_history
        while len(history) > 1 and history[1][0] <= at_s - _WINDOW_S:
            history.popleft()
        if history and history[0][0] <= at_s - _WINDOW_S:
            self._cores_peak = max(self._cores_peak, (cpu_s - history[0][1]) / (at_s - history[0][0]))
        history.append((at_s, cpu_s))


def _at_least(figure: Measured) -> Measured:
    return Measured(figure.value, Quality.LOWER_BOUND)
