"""Scores of models of waits: causal, and right by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from headway.kernels.batch.queue import Backfill, Scheduling
from headway.model.batch_log import BatchJobs
from headway.model.records import Figure
from headway.simulation.batch import schedule
from headway.simulation.lublin import lublin
from headway.simulation.wait_scores import SHARES, Answers, Waits, ask, score, those_to_wait, waits_of
from headway.waiting import WAITS
from headway.waiting.base import Draw, Shape, Wait, WaitModel
from headway.waiting.scheduler_estimate import SchedulerEstimate
from tests.simulation.scoring import scored


def jobs_of(rows: list[tuple[float, int, float, float]], machine: int) -> BatchJobs:
    """Jobs from submission, nodes, request, run time."""
    submit_s, nodes, req_s, run_s = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    return BatchJobs("made up", machine, submit_s, nodes.astype(np.int64), req_s, run_s)


# Two nodes. Job 0 asks for 100 s and runs for 50, job 1 wants both, job 2 one for 40 s, job 3 both.
FOUR = jobs_of([(0, 1, 100, 50), (10, 2, 30, 30), (20, 1, 40, 40), (30, 2, 10, 10)], 2)
ALL = np.ones(4, np.bool_)


def test_what_the_queue_plans_by_hand() -> None:
    """At 10 the plan has job 1 at 100, at 20 job 2 beside job 0 at once, at 30 job 3 after job 1, at 130.

    Job 0 ends at 50, and job 2 at 60: then job 1 starts, and job 3 after it, at 90.
    """
    for backfill in ("conservative", "easy"):
        waits = waits_of(FOUR, Scheduling(backfill))
        assert waits.estimate_s.tolist() == [0, 90, 0, 100]
        assert waits.wait_s.tolist() == [0, 50, 0, 60]


@pytest.mark.parametrize("backfill", ["fcfs", "easy", "conservative"])
def test_asking_does_not_disturb_the_queue(backfill: Backfill) -> None:
    jobs = lublin(machine=32, jobs=400, load=0.9, seed=5, requests="estimated")
    waits = waits_of(jobs, Scheduling(backfill))
    assert (jobs.submit_s + waits.wait_s == schedule(jobs, Scheduling(backfill))).all()
    assert np.isfinite(waits.estimate_s).all() and (waits.estimate_s >= 0).all()


@pytest.mark.parametrize("backfill", ["fcfs", "conservative"])
def test_with_accurate_requests_the_plan_is_exact_unless_jobs_overtake(backfill: Backfill) -> None:
    jobs = lublin(machine=32, jobs=400, load=0.9, seed=5, requests="accurate")
    waits = waits_of(jobs, Scheduling(backfill))
    alone = np.diff(jobs.submit_s, prepend=-1.0, append=np.inf)
    apart = (alone[:-1] > 0) & (alone[1:] > 0)  # who comes in the same second is not seen by fcfs
    assert np.abs(waits.estimate_s - waits.wait_s)[apart].max() < 1e-6


def test_scores_by_hand() -> None:
    """Waits 50 and 60 against 90 and 100: errors of 40 each; the pinball loss of a quantile above is (1 - q) x 40."""
    waits = waits_of(FOUR, Scheduling("conservative"))
    found = scored(SchedulerEstimate(), waits)
    assert found is not None
    assert (found.name, found.jobs, found.mean_wait_s) == ("scheduler-estimate", 2, 55.0)
    assert (found.absolute_error_s, found.error_s, found.to_plan) == (40.0, 40.0, 1.0)
    assert found.to_wait == pytest.approx(40 / 55)
    assert set(found.covered.values()) == {1.0}
    assert found.pinball_s["0.9"] == pytest.approx(4.0) and found.pinball_s["0.05"] == pytest.approx(38.0)


def test_pinball_loss_of_a_low_quantile() -> None:
    waits = waits_of(FOUR, Scheduling("conservative"))
    low = Answers(np.zeros(4), np.full((4, len(SHARES)), 10.0))
    found = score("low", low, waits, those_to_wait(waits))
    assert found is not None
    assert found.pinball_s["0.9"] == pytest.approx(0.9 * 45) and found.covered["0.9"] == 0.0
    assert found.error_s == -55.0 and found.to_plan == pytest.approx(55 / 40)
    both = score("low", low, waits, ALL)
    assert both is not None and both.covered["0.9"] == 0.5 and both.jobs == 4


def test_an_exact_plan_gives_no_ratio() -> None:
    exact = Waits(FOUR, np.array([0.0, 5.0, 0.0, 6.0]), np.array([0.0, 5.0, 0.0, 6.0]))
    found = scored(SchedulerEstimate(), exact)
    assert found is not None
    assert found.to_plan is None and found.absolute_error_s == 0.0


def test_jobs_of_the_warm_up_are_not_scored() -> None:
    waits = waits_of(FOUR, Scheduling("conservative"))
    assert those_to_wait(waits).tolist() == [False, True, False, True]
    assert those_to_wait(waits, 20.0).tolist() == [False, False, False, True]
    assert scored(SchedulerEstimate(), waits, warm_up_s=1e6) is None


class Listening(WaitModel):
    """Notes what it hears, and when."""

    name = "listening"

    def __init__(self) -> None:
        self.asked = 0
        self.heard: list[tuple[int, Figure, float]] = []

    def predict(self, shape: Shape, draw: Draw = (0, "", "", 0)) -> Wait:
        self.asked += 1
        assert draw == (3, "listening", str(self.asked - 1), 0)
        return Wait(0.0, {"job": float(self.asked - 1)})

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        return [0.0] * len(shares)

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, **_: Any) -> None:
        self.heard.append((self.asked, ticket["job"], waited_s))


def test_a_wait_is_known_when_the_job_has_started_and_not_before() -> None:
    """Jobs start at 0, 60, 20, 90 and come at 0, 10, 20, 30: at 10 the first is known, at 30 the third."""
    model = Listening()
    ask(model, waits_of(FOUR, Scheduling("conservative")), seed=3)
    assert model.heard == [(1, 0.0, 0.0), (3, 2.0, 0.0)]


@pytest.mark.parametrize("name", sorted(WAITS))
def test_the_future_changes_no_answer(name: str) -> None:
    """Jobs after the 200th come in another order of size: what was said of those before stays the same."""
    jobs = lublin(machine=32, jobs=300, load=0.9, seed=5, requests="estimated")
    waits = waits_of(jobs, Scheduling("conservative"))
    cut = float(jobs.submit_s[200])
    later = jobs.submit_s + waits.wait_s >= cut
    other = Waits(jobs, waits.estimate_s, np.where(later, waits.wait_s * 3.0 + 1e6, waits.wait_s))
    first, second = ask(WAITS[name](), waits), ask(WAITS[name](), other)
    assert (first.point_s[:200] == second.point_s[:200]).all()
    assert (first.quantile_s[:200] == second.quantile_s[:200]).all()


def test_progress_is_told() -> None:
    told: list[int] = []
    jobs = lublin(machine=32, jobs=1500, load=0.5, seed=5, requests="estimated")
    waits = waits_of(jobs, Scheduling("easy"), told.append)
    ask(SchedulerEstimate(), waits, progress=told.append)
    assert told == [0, 1000, 0, 1000]
