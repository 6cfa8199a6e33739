"""Figures of a simulated queue: computed by hand, published ones, and properties of every queue."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model.batch_log import BatchJobs, Seconds
from headway.report.queue.clock import Clock
from headway.report.queue.summary import bounded_slowdown, curves_of, steps, summary_of
from headway.report.queue.words import headline, sizes, telling
from tests.report.queues import FIVE, FIVE_START_S, jobs_of, queues, reference

DATA = os.environ.get("HEADWAY_DATA")


def test_five_jobs_by_hand() -> None:
    summary = summary_of(FIVE, FIVE_START_S, Clock())
    assert (summary.jobs, summary.machine, summary.span_s, summary.submissions_s) == (5, 4, 240, 40)
    assert summary.utilisation == pytest.approx((200 + 200 + 60 + 5 + 180) / (4 * 240))
    assert summary.utilisation_while_submitting == pytest.approx(0.5), "two of four nodes until 40"
    wait = summary.waits.wait_s
    assert (wait.mean, wait.median, wait.p90, wait.max) == pytest.approx((96, 120, 136, 140)), "0, 90, 130, 120, 140"
    slowdown = summary.waits.bounded_slowdown
    assert slowdown.mean == pytest.approx((1 + 2.8 + 160 / 30 + 12.5 + 200 / 60) / 5), "5 s count as 10"
    assert slowdown.max == 12.5
    assert (summary.waits.waited, summary.waits.started_at_once) == (0.8, 0.2)
    assert summary.queue.mean_jobs == pytest.approx(480 / 240)
    assert summary.queue.mean_nodes == pytest.approx((4 * 90 + 2 * 130 + 120 + 3 * 140) / 240)
    assert (summary.queue.peak_jobs, summary.queue.peak_nodes) == (4, 10)


def test_by_size_only_the_occupied_classes() -> None:
    summary = summary_of(FIVE, FIVE_START_S, Clock())
    assert [(it.least_nodes, it.most_nodes, it.waits.jobs) for it in summary.sizes] == [(1, 1, 1), (2, 2, 2), (3, 4, 2)]
    assert [it.waits.wait_s.mean for it in summary.sizes] == [120, 65, 115]
    assert [it.node_share for it in summary.sizes] == pytest.approx([5 / 645, 260 / 645, 380 / 645])
    wide = jobs_of([(0, 1, 10), (0, 100, 10), (0, 65, 10), (0, 64, 10)], 100)
    found = summary_of(wide, np.array([0.0, 10, 20, 30]), Clock()).sizes
    assert [sizes(it, 100) for it in found] == ["1", "33-64", "65-100"], "no class is larger than the machine"


def test_by_hour_of_submission() -> None:
    jobs = jobs_of([(0, 1, 10), (3599, 1, 10), (3600, 1, 10), (90_000, 1, 10)], 1)
    start_s = np.array([0.0, 3599, 3610, 90_000])
    summary = summary_of(jobs, start_s, Clock())
    assert [(it.hour, it.waits.jobs, it.waits.wait_s.mean) for it in summary.hours] == [(0, 2, 0), (1, 2, 5)]
    assert summary.hours_are == "since the first submission"


def test_one_job() -> None:
    summary = summary_of(jobs_of([(0, 2, 50)], 4), np.array([0.0]), Clock())
    assert summary.utilisation == 0.5
    assert summary.utilisation_while_submitting is None, "there is no time between the first submission and the last"
    assert (summary.waits.started_at_once, summary.waits.bounded_slowdown.mean) == (1, 1)
    assert (summary.queue.mean_jobs, summary.queue.peak_jobs) == (0, 0)


def test_the_bound_of_the_slowdown() -> None:
    wait_s, run_s = np.array([0.0, 0, 9, 90, 90]), np.array([1.0, 100, 1, 1, 10])
    assert bounded_slowdown(wait_s, run_s).tolist() == [1, 1, 1, 9.1, 10]


def test_in_words() -> None:
    summary = summary_of(FIVE, FIVE_START_S, Clock())
    assert headline(summary) == "jobs wait 1m 36s on average, 20% start at once, and the machine is 67% busy"
    assert telling(summary) == {
        "wait": "median 2m 00s, 90% within 2m 16s, longest 2m 20s",
        "slowdown": "mean 5.0, median 3.3, bounded at 10 s",
        "queue": "mean 2.0 jobs for 4.8 nodes, at most 4 jobs, 10 nodes",
        "busy": "67% of the machine up to the last end, 50% up to the last submission",
    }
    some = BatchJobs("some", 4, FIVE.submit_s, FIVE.nodes, FIVE.req_s, FIVE.run_s, None, {"never ran": 1200, "bad": 0})
    assert telling(summary_of(some, FIVE_START_S, Clock()))["left out"] == "1,200 (never ran)"


@given(queues())
def test_littles_law_and_other_sums(queue: tuple[BatchJobs, Seconds]) -> None:
    """Mean queue = sum of waits / span; size classes and hours contain all jobs; utilisation is at most 1."""
    jobs, start_s = queue
    curves = curves_of(jobs, start_s)
    clock = Clock() if jobs.started_at is None else Clock(jobs.started_at, True)
    summary = summary_of(jobs, start_s, clock, curves)
    wait_s = start_s - jobs.submit_s
    assert summary.queue.mean_jobs * summary.span_s == pytest.approx(wait_s.sum())
    assert summary.queue.mean_nodes * summary.span_s == pytest.approx(wait_s @ jobs.nodes)
    assert curves.busy_nodes.total(0, summary.span_s) == pytest.approx(jobs.nodes @ jobs.run_s)
    assert curves.busy_nodes.peak() <= jobs.machine
    assert 0 < summary.utilisation <= 1 + 1e-9
    for parts in ([it.waits for it in summary.sizes], [it.waits for it in summary.hours]):
        assert sum(it.jobs for it in parts) == len(jobs)
        assert sum(it.jobs * it.wait_s.mean for it in parts) == pytest.approx(wait_s.sum())
    assert sum(it.node_share for it in summary.sizes) == pytest.approx(1)


@given(queues(), st.integers(1, 30))
def test_resampled_curves_against_every_second(queue: tuple[BatchJobs, Seconds], pieces: int) -> None:
    jobs, start_s = queue
    curve = steps(start_s, start_s + jobs.run_s, jobs.nodes)
    end = int((start_s + jobs.run_s).max())
    seconds = np.zeros(end)
    for start, run, nodes in zip(start_s, jobs.run_s, jobs.nodes, strict=True):
        seconds[int(start) : int(start + run)] += nodes
    borders = np.unique(np.linspace(0, end, pieces + 1).round())
    cut = [seconds[int(low) : int(high)] for low, high in pairwise(borders)]
    assert curve.means(borders) == pytest.approx([piece.mean() for piece in cut])
    assert curve.peaks(borders).tolist() == [piece.max() for piece in cut]


def test_empty_intervals_do_not_count() -> None:
    curve = steps(np.array([5.0, 5.0]), np.array([5.0, 7.0]))
    assert (curve.at_s.tolist(), curve.value.tolist()) == ([5, 7], [1, 0])
    assert steps(np.zeros(0), np.zeros(0)).peaks(np.array([0.0, 1.0])).tolist() == [0]


@pytest.mark.skipif(not DATA, reason="HEADWAY_DATA does not say where the reference schedules are")
@pytest.mark.parametrize(
    ("name", "mean_wait_s", "mean_slowdown"),
    [
        ("kth_real_pyss_easy", 6804.92, 90.91),
        ("kth_real_pyss_cons", 7295.68, 88.24),
        ("kth_acc_pyss_easy", 6381.88, 72.58),
        ("kth_acc_pyss_cons", 7059.64, 67.90),
        ("kth_real_batsched_conservative_bf_basic", 7628.20, 85.37),
        ("kth_real_batsched_conservative_bf_contiguous", 9268.97, 100.98),
    ],
)
def test_the_published_figures_of_other_simulators(name: str, mean_wait_s: float, mean_slowdown: float) -> None:
    jobs, start_s = reference(Path(DATA or "") / "reference-schedules" / f"{name}.csv.gz")
    curves = curves_of(jobs, start_s)
    waits = summary_of(jobs, start_s, Clock(), curves).waits
    assert waits.jobs == 28_475
    assert waits.wait_s.mean == pytest.approx(mean_wait_s, abs=0.005)
    assert waits.bounded_slowdown.mean == pytest.approx(mean_slowdown, abs=0.005)
    assert curves.busy_nodes.peak() <= 100
