"""The trees learn what the queue shows, and no array of equal jobs crowds out the rest."""

from __future__ import annotations

import numpy as np
import pytest

from headway.testing.wait_contract import WaitContract
from headway.waiting.base import Shape, WaitModel
from headway.waiting.mixture import Mixture
from headway.waiting.queue_trees import ALIKE, QueueTrees


class TestContract(WaitContract):
    def make(self) -> WaitModel:
        return QueueTrees()


def history(seed: int, jobs: int) -> list[tuple[Shape, float]]:
    """Jobs whose wait follows from the work ahead and the hour only, within a tenth."""
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(jobs):
        ahead_s, hour = float(draw.lognormal(8, 2)), float(draw.integers(24))
        seen = {"work ahead": ahead_s, "hour": hour, "noise": float(draw.random())}
        waited_s = ahead_s * (0.2 if hour < 12 else 1.0) * float(draw.uniform(0.9, 1.1))
        found.append((Shape(int(draw.integers(1, 64)), float(draw.choice([600, 3600, 86_400])), seen=seen), waited_s))
    return found


def within_a_factor_2(model: WaitModel) -> float:
    for shape, waited_s in history(1, 1000):
        model.observe(shape, {}, waited_s)
    ratios = [model.predict(shape).wait_s / waited_s for shape, waited_s in history(2, 300)]
    return float(np.mean([0.5 <= ratio <= 2.0 for ratio in ratios]))


def test_it_learns_what_the_queue_shows() -> None:
    assert within_a_factor_2(QueueTrees()) > 0.6


def test_the_mixture_trusts_it_where_more_is_known_and_does_not_ask_it_elsewhere() -> None:
    model = Mixture()
    for shape, waited_s in history(1, 120):
        model.observe(shape, model.predict(shape).ticket, waited_s)
    lost_s = model.state()["judged"]["unknown seen 0.5"]["lost_s"]
    assert min(lost_s, key=lost_s.__getitem__) == "queue-trees"
    assert "queue-trees 0.5" not in model.predict(Shape(4, 3600.0)).ticket
    again = Mixture()
    again.restore(model.state())
    assert again.predict(shape) == model.predict(shape)


def test_an_older_state_of_the_mixture_can_be_restored() -> None:
    state = Mixture().state()
    state["models"]["queue-forest"] = state["models"].pop("queue-trees")
    del state["models"]["typical-wait"]
    model = Mixture()
    model.restore(state)
    assert "queue-trees 0.5" in model.predict(Shape(4, 3600.0, seen={"hour": 3.0})).ticket


def test_of_equal_requests_only_the_last_few_are_kept() -> None:
    model = QueueTrees()
    for number in range(500):
        model.observe(Shape(1, 3600.0, seen={"waiting": float(number), "account": "a"}), {}, 9e5)
    for number in range(30):
        model.observe(Shape(2 + number, 3600.0, seen={"hour": 5.0, "account": "b"}), {}, 60.0)
    assert len(model.state()["records"]) == ALIKE + 30
    median_s = model.quantiles(Shape(20, 3600.0, seen={"hour": 5.0, "account": "c"}), [0.5])[0]
    assert median_s == pytest.approx(60.0, rel=0.1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "a word"])
def test_a_value_that_is_no_number_counts_as_unknown(value: float | str) -> None:
    model = QueueTrees()
    for shape, waited_s in history(3, 60):
        model.observe(shape, {}, waited_s)
    known = {"hour": 3.0}
    assert model.predict(Shape(4, 600.0, seen=known | {"work ahead": value})) == model.predict(
        Shape(4, 600.0, seen=known)
    )
