"""Rows and lanes of the Gantt chart."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.model.batch_log import BatchJobs, Seconds
from headway.report.queue.clock import DAY_S, Clock
from headway.report.queue.gantt import MOST_BOXES, busiest_day, draw, gantt_of
from headway.report.queue.summary import curves_of
from tests.report.queues import FIVE, FIVE_START_S, first_come, jobs_of, queues


def test_five_jobs_by_hand() -> None:
    gantt = gantt_of(FIVE, FIVE_START_S, (0.0, 240.0))
    assert [(it.job, it.pieces) for it in gantt.running] == [
        (0, [(0, 2)]),
        (1, [(0, 4)]),
        (2, [(0, 2)]),
        (3, [(2, 3)]),
        (4, [(0, 3)]),
    ]
    assert gantt.waiting == [(1, 0), (2, 1), (3, 2), (4, 3)]
    assert gantt.lanes == 4
    later = gantt_of(FIVE, FIVE_START_S, (100.0, 150.0))
    assert [it.job for it in later.running] == [1], "what ends or starts at the border is not in it"
    assert [job for job, _ in later.waiting] == [2, 3, 4]


def test_a_job_without_a_wide_gap_is_split() -> None:
    jobs = jobs_of([(0, 1, 10), (0, 1, 30), (0, 1, 10), (0, 1, 30), (10, 2, 20)], 4)
    gantt = gantt_of(jobs, np.array([0.0, 0, 0, 0, 10]), (0.0, 30.0))
    assert gantt.running[-1].pieces == [(0, 1), (2, 3)]


@given(queues(), st.floats(0, 1), st.floats(0.01, 1))
def test_jobs_do_not_overlap(queue: tuple[BatchJobs, Seconds], begin: float, length: float) -> None:
    jobs, start_s = queue
    span_s = float((start_s + jobs.run_s).max())
    window = (begin * span_s, (begin + length) * span_s)
    gantt = gantt_of(jobs, start_s, window)
    running = [job for job in range(len(jobs)) if start_s[job] < window[1] and (start_s + jobs.run_s)[job] > window[0]]
    assert sorted(it.job for it in gantt.running) == running
    held: list[tuple[float, float, set[int]]] = []
    for placed in gantt.running:
        rows = {row for low, high in placed.pieces for row in range(low, high)}
        assert len(rows) == sum(high - low for low, high in placed.pieces) == jobs.nodes[placed.job]
        assert rows <= set(range(jobs.machine))
        begins, ends = start_s[placed.job], start_s[placed.job] + jobs.run_s[placed.job]
        assert not any(begins < other_end and other < ends and rows & theirs for other, other_end, theirs in held)
        held.append((begins, ends, rows))
    lanes: dict[int, float] = {}
    for job, lane in gantt.waiting:
        assert jobs.submit_s[job] >= lanes.get(lane, 0.0)
        assert start_s[job] > jobs.submit_s[job]
        lanes[lane] = float(start_s[job])
    assert len(lanes) == gantt.lanes


def test_the_busiest_day() -> None:
    """The second day is full; that another day has more jobs does not matter."""
    rows = [*((hour * 3600.0, 1, 60.0) for hour in range(20)), (DAY_S, 4, DAY_S), (2 * DAY_S, 1, 5.0)]
    jobs = jobs_of(rows, 4)
    start_s = first_come(jobs)
    assert busiest_day(jobs, start_s, curves_of(jobs, start_s).busy_nodes, Clock()) == (DAY_S, 2 * DAY_S)


def test_a_short_schedule_is_its_own_busiest_day() -> None:
    assert busiest_day(FIVE, FIVE_START_S, curves_of(FIVE, FIVE_START_S).busy_nodes, Clock()) == (0.0, 240.0)


def test_too_many_jobs_are_counted_and_the_smallest_left_out() -> None:
    rows = [(float(number), 1, 1.0) for number in range(MOST_BOXES + 5)]
    rows[7] = (7.0, 2, 1.0)
    jobs = jobs_of(rows, 2)
    drawing = draw(gantt_of(jobs, jobs.submit_s, (0.0, 4000.0)), jobs, jobs.submit_s, Clock())
    assert (drawing.jobs, drawing.jobs_left_out, drawing.waits_left_out) == (MOST_BOXES, 5, 0)
    assert drawing.picture.count('<g class="job"') == MOST_BOXES
    assert "job 8: 2 nodes" in drawing.picture
    crowd = jobs_of([(0.0, 1, 10.0)] * 400, 1)
    start_s = first_come(crowd)
    assert draw(gantt_of(crowd, start_s, (0.0, 4000.0)), crowd, start_s, Clock()).waits_left_out == 399
