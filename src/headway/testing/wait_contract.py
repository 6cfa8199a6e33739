"""The contract suite for wait models."""
# ruff: noqa: S101, S311 - these are tests

from __future__ import annotations

import json
import math
import random

from headway.waiting.base import Shape, WaitModel

SHARES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
SHAPES = tuple(
    Shape(nodes, asked_s, estimate_s)
    for nodes in (1, 5, 64)
    for asked_s in (60.0, 7_200.0, 500_000.0)
    for estimate_s in (None, 0.0, 30.0, 40_000.0)
)
GARBAGE = (math.nan, math.inf, -math.inf, -1.0)
LIES = (0.0, 1.0, 2.0**31, 2.0**63, 1e300, 5e-324)
_LEARNED_AFTER = 1500  # waits: enough for a model that tries one alternative at a time

History = list[tuple[Shape, float, bool]]  # shape, wait in seconds, and whether the job was withdrawn then


class WaitContract:
    """Tests for a wait model; subclass it and implement `make`.

    Predictions are finite times, quantiles never fall, asking changes nothing, a saved state restores every answer,
    and a constant wait is learned.
    """

    def make(self) -> WaitModel:
        """A fresh model."""
        raise NotImplementedError

    def test_quantiles_never_fall_and_are_times(self) -> None:
        for seed in range(5):
            self.check_answers(_history(seed, 40 * seed))

    def test_the_same_question_gets_the_same_answer(self) -> None:
        for seed in range(5):
            model = told(self.make(), _history(seed, 60))
            before = answers(model)
            assert answers(model) == before, "asking changes nothing"
            assert answers(told(self.make(), _history(seed, 60))) == before, "there is no other source of chance"

    def test_state_survives_json(self) -> None:
        for seed in range(5):
            self.check_round_trip(_history(seed, 90), _history(seed + 100, 20))

    def test_garbage_is_not_learned(self) -> None:
        model = told(self.make(), _history(1, 60))
        before = answers(model)
        for waited_s in GARBAGE:
            model.observe(SHAPES[0], model.predict(SHAPES[0]).ticket, waited_s)
        assert answers(model) == before

    def test_lies_are_survived(self) -> None:
        for waited_s in LIES:
            model = told(self.make(), _history(1, 60))
            for number in (0, 1, 2**31, 2**63):
                for seconds in (*LIES, *GARBAGE):
                    shape = Shape(number, seconds, seconds)
                    model.observe(shape, {}, waited_s)
                    model.observe(shape, {}, waited_s, censored=True)
                    model.observe(SHAPES[0], model.predict(SHAPES[0]).ticket, waited_s)
            check(model)
            json.loads(json.dumps(model.state(), allow_nan=False))

    def test_a_job_that_it_was_not_asked_about_does_no_harm(self) -> None:
        model = told(self.make(), _history(2, 60))
        for shape in SHAPES:
            model.observe(shape, {}, 100.0)
            model.observe(shape, {}, 100.0, censored=True)
        check(model)

    def test_only_withdrawn_jobs_do_no_harm(self) -> None:
        self.check_answers([(shape, waited_s, True) for shape, waited_s, _ in _history(3, 80)])

    def test_a_wait_that_never_changes_is_learned(self) -> None:
        for shape in (Shape(4, 3_600.0), Shape(4, 3_600.0, 1_800.0), Shape(4, 3_600.0, 0.0)):
            model = self.make()
            if not model.learns:
                continue
            for number in range(_LEARNED_AFTER):
                model.observe(shape, model.predict(shape, (0, model.name, "job", number)).ticket, 600.0)
            assert abs(model.quantiles(shape, [0.5])[0] - 600.0) < 1e-6

    # --- laws, for any history ---

    def check_answers(self, history: History) -> None:
        """Check that predictions after this history are finite, not negative and sorted."""
        check(told(self.make(), history))

    def check_round_trip(self, history: History, after: History) -> None:
        """Check that a model restored from another's state gives the same answers, now and after more waits."""
        first, second = told(self.make(), history), told(self.make(), after)
        state = json.loads(json.dumps(first.state()))
        assert state["version"] >= 1
        second.restore(state)
        assert answers(second) == answers(first)
        assert answers(told(second, after)) == answers(told(first, after))


def told(model: WaitModel, history: History) -> WaitModel:
    """The model, after it predicted these jobs and observed their waits."""
    for number, (shape, waited_s, censored) in enumerate(history):
        ticket = model.predict(shape, (0, model.name, "job", number)).ticket
        model.observe(shape, json.loads(json.dumps(ticket)), waited_s, censored=censored)
    return model


def answers(model: WaitModel) -> list[object]:
    """The model's predictions and quantiles for several shapes."""
    return [
        (model.predict(shape, (7, model.name, "asked", number)), model.quantiles(shape, SHARES))
        for number, shape in enumerate(SHAPES)
    ]


def check(model: WaitModel) -> None:
    """Check predictions and quantiles: finite, not negative, sorted by share; shares may come in any sequence."""
    for number, shape in enumerate(SHAPES):
        wait = model.predict(shape, (0, model.name, "job", number))
        assert math.isfinite(wait.wait_s) and wait.wait_s >= 0
        found = model.quantiles(shape, SHARES)
        assert len(found) == len(SHARES)
        assert all(math.isfinite(each) and each >= 0 for each in found)
        assert found == sorted(found)
        assert model.quantiles(shape, SHARES[::-1]) == found[::-1]
        assert model.quantiles(shape, []) == []


def _history(seed: int, jobs: int) -> History:
    draw = random.Random(seed)
    return [
        (
            draw.choice(SHAPES),
            draw.choice((0.0, 1.0, draw.uniform(0, 100), draw.lognormvariate(8, 3))),
            draw.random() < 0.1,
        )
        for _ in range(jobs)
    ]
