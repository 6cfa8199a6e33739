"""When the next job is submitted, worked out by hand."""

from __future__ import annotations

from headway.timing.base import NOT_YET, Predecessor
from headway.timing.timings import LEAST_AHEAD_S, Ahead

PRINTED, NAIVE = Ahead(as_printed=True), Ahead(depends=False)
RUNNING = Predecessor("a", expected_end=1000.0, latest_end=1200.0, earliest_end=1000.0)
WAITING = Predecessor("b", expected_end=None, latest_end=None, earliest_end=1300.0)


def test_a_job_is_submitted_its_expected_wait_before_the_end() -> None:
    for timing in (PRINTED, NAIVE):
        assert timing.submit_at([RUNNING], 300.0, now=0.0) == 700.0
        assert timing.submit_at([RUNNING], 1500.0, now=50.0) == 50.0
        assert timing.submit_at([], 1500.0, now=50.0) == 50.0


def test_where_an_early_job_costs_nothing_it_is_submitted_hours_ahead_whatever_was_learned() -> None:
    late = Predecessor("a", expected_end=30_000.0, latest_end=36_000.0, earliest_end=30_000.0)
    assert Ahead().submit_at([late], 0.0, now=0.0) == 30_000.0 - LEAST_AHEAD_S
    assert Ahead().submit_at([late], 20_000.0, now=0.0) == 10_000.0
    assert Ahead().submit_at([RUNNING], 0.0, now=50.0) == 50.0


def test_while_a_job_waits_the_next_is_submitted_only_with_a_quantile_and_a_dependency() -> None:
    waiting = Predecessor("b", expected_end=None, latest_end=None, earliest_end=20_000.0)
    assert Ahead().submit_at([RUNNING, waiting], 20_000.0, now=0.0) == 0.0
    assert Ahead().submit_at([RUNNING, waiting], 19_999.0, now=0.0) == NOT_YET  # it may be needed later than that
    for timing in (PRINTED, NAIVE):
        assert not timing.may_be_due([RUNNING, WAITING])
        assert timing.submit_at([RUNNING, WAITING], 5000.0, now=0.0) == NOT_YET


def test_what_each_does_about_early_jobs() -> None:
    assert (Ahead().depends, Ahead().covers, Ahead().resubmits) == (True, 0.9, False)
    assert (PRINTED.depends, PRINTED.covers, PRINTED.resubmits) == (True, None, False)
    assert (NAIVE.depends, NAIVE.covers, NAIVE.resubmits) == (False, None, True)
