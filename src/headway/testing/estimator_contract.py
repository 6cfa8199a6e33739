"""What every estimator must do, whichever resource its numbers are of."""
# ruff: noqa: S101, S311 - these are tests

from __future__ import annotations

import json
import math
import random

from headway.sizing.estimators.base import Attempt, Estimator, Query

LIMIT = 64e9


class EstimatorContract:
    """Estimates are finite, positive and explained; asking changes nothing; a state survives JSON."""

    def make(self) -> Estimator:
        """Return a new estimator."""
        raise NotImplementedError

    def test_estimates_are_positive_and_explained(self) -> None:
        for records in (0, 1, 2, 12, 40):
            estimator = _trained(self.make(), random.Random(records), records)
            found = estimator.estimate(_query(records))
            if found is None:
                continue
            assert found.rule and len(found.text) > 10
            assert json.loads(json.dumps(found.figures)) == found.figures
            assert not isinstance(found.value, float | int) or (found.value > 0 and math.isfinite(found.value))

    def test_after_a_failure_one_that_climbs_gives_more(self) -> None:
        estimator = _trained(self.make(), random.Random(1), 40)
        failures: list[float] = []
        for number in range(80):
            found = estimator.estimate(_query(number, *failures))
            if not estimator.climbs or found is None or not isinstance(found.value, float | int):
                return
            assert not failures or found.value > failures[-1]
            failures.append(found.value)
        raise AssertionError("it climbs for ever: above the greatest peaks the answer must be None")

    def test_asking_changes_nothing(self) -> None:
        one, two = (_trained(self.make(), random.Random(4), 25) for _ in range(2))
        answers = [one.estimate(_query(7)) for _ in range(3)]
        assert answers == [two.estimate(_query(7))] * 3
        assert one.state() == two.state()

    def test_a_state_survives_json(self) -> None:
        first, second = _trained(self.make(), random.Random(3), 25), self.make()
        state = json.loads(json.dumps(first.state()))
        assert state["version"] >= 1
        second.restore(state)
        for estimator in (first, second):
            _trained(estimator, random.Random(5), 10)
        assert second.state() == first.state()
        assert second.estimate(_query(1)) == first.estimate(_query(1))

    def test_attempts_without_a_peak_are_no_records(self) -> None:
        estimator = _trained(self.make(), random.Random(6), 12)
        before = estimator.estimate(_query(1))
        estimator.learn_without_peak(Attempt(run_s=5.0, task="another"))
        after = estimator.estimate(_query(1))
        assert (after and after.value) == (before and before.value)

    def test_an_amount_that_ran_out_lowers_no_estimate(self) -> None:
        estimator = _trained(self.make(), random.Random(6), 12)
        before = estimator.estimate(_query(1))
        estimator.learn_without_peak(Attempt(run_s=5.0, task="other", exhausted=LIMIT / 2))
        after = estimator.estimate(_query(1))
        if before is not None and isinstance(before.value, float | int):
            assert after is not None and isinstance(after.value, float | int) and after.value >= before.value


def _query(number: int, *failures: float) -> Query:
    draw = random.Random(number).random()
    return Query(failures, 1000 + number, LIMIT, uniform=lambda: draw)


def _trained(estimator: Estimator, draw: random.Random, records: int) -> Estimator:
    for number in range(records):
        size = draw.randrange(10**9)
        estimator.learn(Attempt(draw.uniform(0.001, 0.7) * LIMIT, draw.uniform(1, 100), size, f"t{number}"))
    return estimator
