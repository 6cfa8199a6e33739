"""A Gantt chart of a time window: running jobs as boxes on rows of nodes, waiting jobs as lines on lanes below."""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from html import escape

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headway.model.batch_log import BatchJobs, Seconds
from headway.report.charts import LEFT, RIGHT, WIDTH, grid, label, number_marks, svg
from headway.report.queue.charts import time_axis
from headway.report.queue.clock import Clock, Span
from headway.report.queue.summary import Steps
from headway.report.queue.words import waited
from headway.report.words import count

MOST_JOBS = 20_000  # in a window: more cannot be distinguished
_NEARLY = 0.95

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


# --- the picture ---


MOST_BOXES = 3_000
_TOP, _AXIS, _GAP = 8.0, 26.0, 16.0  # pixels
_LEAST_HEIGHT, _MOST_HEIGHT, _ROW = 160.0, 520.0, 6.0
_LANE, _LEAST_LANE, _MOST_LANES_HEIGHT = 5.0, 1.0, 260.0
_EDGED_FROM = 2.0  # pixels: an edge would cover a smaller box
_NAMED_FROM = (46.0, 13.0)  # the least width and height of a box that shows the job's number

# Classes of waits: name, longest wait in seconds, and colour, from grey over blue to red.
WAITS = (
    ("not at all", 0.0, "#a9b4bf"),
    ("up to 1 h", 3_600.0, "#6cb8d8"),
    ("up to 6 h", 21_600.0, "#3b7fc4"),
    ("up to a day", 86_400.0, "#7a5cc0"),
    ("longer", float("inf"), "#c2476f"),
)
_INK = {colour: "#1b1f24" for _, _, colour in WAITS[:2]}  # text colour in light boxes


class Drawing(Struct, frozen=True):
    """The SVG and how many jobs are not in it."""

    picture: str
    jobs: int
    jobs_left_out: int
    waits_left_out: int


class _Frame(Struct, frozen=True):
    """Turns times and rows into pixels."""

    from_s: float
    to_s: float
    rows: int
    height: float

    def x(self, at_s: float) -> float:
        inside = min(max(at_s, self.from_s), self.to_s)
        return LEFT + (WIDTH - LEFT - RIGHT) * (inside - self.from_s) / (self.to_s - self.from_s)

    def y(self, row: float) -> float:
        """Pixels from the top; the first row is at the bottom."""
        return _TOP + self.height * (1 - row / self.rows)


def draw(gantt: Gantt, jobs: BatchJobs, start_s: Seconds, clock: Clock) -> Drawing:
    """The whole chart; if there are too many jobs, those with the least node time in the window are left out."""
    height = min(_MOST_HEIGHT, max(_LEAST_HEIGHT, _ROW * jobs.machine))
    frame = _Frame(gantt.from_s, gantt.to_s, jobs.machine, height)
    drawn = _largest(gantt, jobs, start_s)
    words = _tooltip(jobs, start_s, clock)
    parts = [grid([mark for mark in number_marks(jobs.machine, 5) if mark[0] <= jobs.machine], frame.y)]
    for place in drawn:
        parts += _boxes(frame, gantt, place, jobs, start_s, words)
    bottom = _TOP + height
    parts.append(f'<path class="frame" d="M{LEFT:g} {_TOP:g}H{WIDTH - RIGHT:g}"/>')
    parts.append(label(14, _TOP + height / 2, "nodes", turned=True))
    lane = min(_LANE, _MOST_LANES_HEIGHT / gantt.lanes) if gantt.lanes else 0.0
    too_many = gantt.lanes > 0 and lane < _LEAST_LANE
    if gantt.lanes and not too_many:
        top = bottom + _GAP
        bottom = top + lane * gantt.lanes
        for job, number in gantt.waiting:
            y = top + lane * (number + 0.5)
            line = f"M{frame.x(jobs.submit_s[job]):.1f} {y:.1f}H{frame.x(start_s[job]):.1f}"
            colour = _colour(float(start_s[job] - jobs.submit_s[job]))
            parts.append(f'<path d="{line}" stroke="{colour}" stroke-width="{max(0.8, lane * 0.6):.1f}">')
            parts.append(f"<title>{escape(words(job))}</title></path>")
        if bottom - top >= 30:
            parts.append(label(14, (top + bottom) / 2, "waiting", turned=True))
    axis = time_axis(clock, gantt.from_s, gantt.to_s, _TOP, bottom)
    picture = svg("Jobs on nodes", WIDTH, bottom + _AXIS, axis + "".join(parts))
    waits_left_out = len(gantt.waiting) if too_many else 0
    return Drawing(picture, len(drawn), len(gantt.running) - len(drawn), waits_left_out)


def _largest(gantt: Gantt, jobs: BatchJobs, start_s: Seconds) -> list[int]:
    """The running jobs with the most node time in the window, as many as can be drawn, in layout order."""

    def node_s(place: int) -> float:
        job = gantt.running[place].job
        begin, end = max(start_s[job], gantt.from_s), min(start_s[job] + jobs.run_s[job], gantt.to_s)
        return float(jobs.nodes[job] * (end - begin))

    drawn, boxes = [], 0
    for place in sorted(range(len(gantt.running)), key=node_s, reverse=True):
        boxes += len(gantt.running[place].pieces)
        if boxes > MOST_BOXES:
            break
        drawn.append(place)
    return sorted(drawn)


def _boxes(
    frame: _Frame, gantt: Gantt, place: int, jobs: BatchJobs, start_s: Seconds, words: Callable[[int], str]
) -> Iterator[str]:
    job, pieces = gantt.running[place].job, gantt.running[place].pieces
    left, right = frame.x(start_s[job]), frame.x(start_s[job] + jobs.run_s[job])
    wide = max(0.7, right - left)
    colour = _colour(float(start_s[job] - jobs.submit_s[job]))
    yield f'<g class="job" fill="{colour}"><title>{escape(words(job))}</title>'
    for low, high in pieces:
        top, tall = frame.y(high), max(0.5, frame.y(low) - frame.y(high))
        edge = ' class="edge"' if wide > _EDGED_FROM and tall > _EDGED_FROM else ""
        yield f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{tall:.1f}"{edge}/>'
    low, high = max(pieces, key=lambda piece: piece[1] - piece[0], default=(0, 0))
    if wide >= _NAMED_FROM[0] and frame.y(low) - frame.y(high) >= _NAMED_FROM[1]:
        where = f'x="{left + 4:.1f}" y="{frame.y((low + high) / 2) + 4:.1f}"'
        yield f'<text {where} font-size="11" fill="{_INK.get(colour, "#ffffff")}">{job + 1}</text>'
    yield "</g>"


def _tooltip(jobs: BatchJobs, start_s: Seconds, clock: Clock) -> Callable[[int], str]:
    def words(job: int) -> str:
        wait_s = float(start_s[job] - jobs.submit_s[job])
        return (
            f"job {job + 1:,}: {count(int(jobs.nodes[job]), 'node')}, ran {waited(float(jobs.run_s[job]))} "
            f"of {waited(float(jobs.req_s[job]))}\nsubmitted {clock.words(float(jobs.submit_s[job]))}, "
            f"waited {waited(wait_s)}\nfrom {clock.words(float(start_s[job]))} "
            f"to {clock.words(float(start_s[job] + jobs.run_s[job]))}"
        )

    return words


def _colour(wait_s: float) -> str:
    return next(colour for _, most_s, colour in WAITS if wait_s <= most_s)
