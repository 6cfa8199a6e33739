"""The layout of a Gantt chart: rows of nodes for the jobs that run in a time window, lanes for those that wait."""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headway.model.batch_log import BatchJobs, Seconds
from headway.report.queue.clock import Clock
from headway.report.queue.curves import Steps

MOST_JOBS = 20_000  # in a window: more cannot be distinguished
_NEARLY = 0.95

Span = tuple[float, float]
Rows = tuple[int, int]  # the first row, and the one after the last


class Placed(Struct, frozen=True):
    """A job that runs in the window and its rows: one piece if a gap was wide enough."""

    job: int  # its index in the log
    pieces: list[Rows]


class Gantt(Struct, frozen=True):
    """The layout of a time window of a schedule."""

    from_s: float
    to_s: float
    running: list[Placed]
    waiting: list[tuple[int, int]]  # (job, lane)
    lanes: int


def busiest_day(jobs: BatchJobs, start_s: Seconds, busy_nodes: Steps, clock: Clock) -> Span:
    """The day with the most busy node time; among days within 5% of it, the one on which the most jobs start.

    The first and last day are cut to the time span of the schedule.
    """
    first_s = float(jobs.submit_s.min())
    end_s = float((start_s + jobs.run_s).max())
    borders = [clock.day_begins(first_s)]
    while borders[-1] < end_s:
        borders.append(clock.day_after(borders[-1]))
    days = np.array(borders)
    used = busy_nodes.means(days)
    started, _ = np.histogram(start_s, days)
    best = int(np.argmax(np.where(used >= _NEARLY * used.max(), started, -1)))
    return max(first_s, borders[best]), min(end_s, borders[best + 1])


def in_window(jobs: BatchJobs, start_s: Seconds, window: Span) -> NDArray[np.bool_]:
    """A mask of the jobs that run in the window."""
    inside: NDArray[np.bool_] = (start_s < window[1]) & (start_s + jobs.run_s > window[0])
    return inside


def gantt_of(jobs: BatchJobs, start_s: Seconds, window: Span) -> Gantt:
    """Lay out the window's jobs in the order in which they start.

    A job gets the lowest gap that is wide enough, or the lowest free rows if there is none. Rows are not node numbers:
    a scheduler that only counts nodes does not say which nodes a job has.
    """
    chosen = np.flatnonzero(in_window(jobs, start_s, window))
    chosen = chosen[np.argsort(start_s[chosen], kind="stable")]
    rows = _Rows(jobs.machine)
    ends: list[tuple[float, int]] = []
    running: list[Placed] = []
    for job in chosen.tolist():
        while ends and ends[0][0] <= start_s[job]:
            rows.give_back(running[heapq.heappop(ends)[1]].pieces)
        heapq.heappush(ends, (float(start_s[job] + jobs.run_s[job]), len(running)))
        running.append(Placed(job, rows.take(int(jobs.nodes[job]))))
    waits = np.flatnonzero((jobs.submit_s < window[1]) & (start_s > window[0]) & (start_s > jobs.submit_s))
    waiting, lanes = _lanes(waits.tolist(), jobs.submit_s, start_s)
    return Gantt(*window, running, waiting, lanes)


class _Rows:
    """The free rows as gaps, lowest first."""

    def __init__(self, machine: int) -> None:
        self._gaps: list[Rows] = [(0, machine)]

    def take(self, wanted: int) -> list[Rows]:
        whole = next((place for place, (low, high) in enumerate(self._gaps) if high - low >= wanted), None)
        if whole is not None:
            low, high = self._gaps[whole]
            self._gaps[whole : whole + 1] = [(low + wanted, high)] if high - low > wanted else []
            return [(low, low + wanted)]
        pieces: list[Rows] = []
        while wanted and self._gaps:
            low, high = self._gaps.pop(0)
            taken = min(wanted, high - low)
            pieces.append((low, low + taken))
            wanted -= taken
            if low + taken < high:
                self._gaps.insert(0, (low + taken, high))
        return pieces

    def give_back(self, pieces: Sequence[Rows]) -> None:
        for piece in pieces:
            insort(self._gaps, piece)
        joined: list[Rows] = []
        for low, high in self._gaps:
            if joined and joined[-1][1] == low:
                joined[-1] = (joined[-1][0], high)
            else:
                joined.append((low, high))
        self._gaps = joined


def _lanes(chosen: list[int], submit_s: Seconds, start_s: Seconds) -> tuple[list[tuple[int, int]], int]:
    """Give each waiting job the lowest free lane, so that there are as many lanes as jobs that wait at once."""
    free: list[int] = []
    taken: list[tuple[float, int]] = []
    lanes = 0
    found = []
    for job in chosen:  # in the order of submission
        while taken and taken[0][0] <= submit_s[job]:
            heapq.heappush(free, heapq.heappop(taken)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, lanes = lanes, lanes + 1
        heapq.heappush(taken, (float(start_s[job]), lane))
        found.append((job, lane))
    return found, lanes
