"""The mixture is never much worse than the best of its models, whichever that is, and holds what it promises."""

from __future__ import annotations

import numpy as np
import pytest

from headway.kernels.batch.queue import Scheduling
from headway.simulation.lublin import lublin
from headway.simulation.wait_scores import SHARES, ask, score, those_to_wait, waits_of
from headway.waiting import WAITS
from headway.waiting.base import Shape
from headway.waiting.mixture import JUDGED, Judged, Mixture, Zero

JOB = Shape(nodes=4, asked_s=3600.0, estimate_s=36_000.0)


def fed(model: Mixture, waits_s: list[float], shape: Shape = JOB) -> float:
    """Feed waits, each known before the next question; return the mean error of the answers."""
    errors_s = []
    for waited_s in waits_s:
        asked = model.predict(shape)
        errors_s.append(abs(asked.wait_s - waited_s))
        model.observe(shape, asked.ticket, waited_s)
    return float(np.mean(errors_s))


@pytest.mark.parametrize("seed", range(2))
def test_where_no_wait_resembles_the_last_it_errs_as_little_as_zero(seed: int) -> None:
    """Waits come in bursts: fifty jobs wait for long, then 250 for a moment."""
    draw = np.random.default_rng(seed)
    waits_s = [float(wait) for _ in range(4) for wait in (*draw.uniform(3e4, 9e4, 50), *draw.uniform(0, 60, 250))]
    draw.shuffle(waits_s)
    assert fed(Mixture(), waits_s) < 1.02 * float(np.mean(waits_s))


def test_where_the_plan_is_right_it_is_the_plan() -> None:
    model = Mixture()
    fed(model, [36_000.0] * 30)
    assert model.quantiles(JOB, [0.1, 0.5, 0.9]) == pytest.approx([36_000.0] * 3, rel=1e-2)


def test_models_are_charged_for_what_they_answered_at_the_submission() -> None:
    """A burst: all were asked before the first of them started, so learning from the burst earns nothing."""
    model = Mixture()
    fed(model, [60.0] * 50)
    tickets = [model.predict(JOB).ticket for _ in range(200)]
    for ticket in tickets:
        model.observe(JOB, ticket, 80_000.0)
    lost_s = model.state()["judged"]["later 0.5"]["lost_s"]
    assert lost_s["corrected-estimate"] == pytest.approx(lost_s[Zero.name], rel=0.05)
    assert lost_s["scheduler-estimate"] < 0.8 * lost_s[Zero.name]


def test_the_weights_do_not_depend_on_the_unit() -> None:
    def weights(unit: float) -> dict[str, float]:
        judged = Judged()
        for waited in (3.0, 5.0, 4.0, 9.0):
            judged.charge(0.5, {"a": 4.0 * unit, "b": 6.0 * unit, "c": 0.0}, waited * unit, None)
        return judged.weights(["a", "b", "c"])

    assert weights(3600.0) == pytest.approx(weights(1.0))
    assert max(weights(1.0), key=weights(1.0).__getitem__) == "a"


def test_on_a_generated_log_it_is_as_good_as_the_best_and_holds_its_quantiles() -> None:
    found = waits_of(lublin(128, 3000, 0.9, seed=5), Scheduling("conservative"))
    counted = those_to_wait(found)
    errors_s = {}
    for name in ("mixture", "corrected-estimate", "scheduler-estimate", "quantile-bound"):
        answers = ask(WAITS[name](), found)
        scores = score(name, answers, found, counted)
        assert scores is not None
        errors_s[name] = scores.absolute_error_s
        if name == "mixture":
            assert 0.86 <= scores.covered["0.9"] <= 0.94, scores.covered  # of 2,200 jobs in few bursts
            assert (np.diff(answers.quantile_s, axis=1) >= 0).all()
    assert errors_s["mixture"] <= 1.02 * min(errors_s.values())
    assert set(JUDGED) <= set(SHARES)
