"""When the next job is submitted, worked out by hand."""

from __future__ import annotations

from headway.timing.base import NOT_YET, Predecessor
from headway.timing.timings import Ahead

RUNNING = Predecessor("a", expected_end=1000.0, latest_end=1200.0, earliest_end=1000.0)
WAITING = Predecessor("b", expected_end=None, latest_end=None, earliest_end=1300.0)


def test_a_job_is_submitted_its_expected_wait_before_the_end() -> None:
    for timing in (Ahead(), Ahead(depends=False)):
        assert timing.submit_at([RUNNING], 300.0, now=0.0) == 700.0
        assert timing.submit_at([RUNNING], 1500.0, now=50.0) == 50.0
        assert timing.submit_at([], 1500.0, now=50.0) == 50.0


def test_while_a_job_waits_the_next_is_submitted_only_with_a_dependency() -> None:
    assert Ahead().submit_at([RUNNING, WAITING], 1300.0, now=0.0) == 0.0
    assert Ahead().submit_at([RUNNING, WAITING], 1299.0, now=0.0) == NOT_YET  # it may be needed later than that
    naive = Ahead(depends=False)
    assert not naive.may_be_due([RUNNING, WAITING])
    assert naive.submit_at([RUNNING, WAITING], 5000.0, now=0.0) == NOT_YET


def test_only_with_a_dependency_a_high_quantile_of_the_wait_is_used() -> None:
    assert Ahead().covers == 0.9
    assert Ahead(depends=False).covers is None
