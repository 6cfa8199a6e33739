"""Algorithm 1 of Souza et al. 2020, rule by rule, on figures worked out by hand."""

from __future__ import annotations

from math import e

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.kernels.asa_rounds import charge
from headway.waiting.asa import ALTERNATIVES_S, Asa, Policy
from headway.waiting.base import Shape

JOB = Shape(nodes=4, asked_s=3600.0)
# §3.2's own example: m = 4 alternatives.
FOUR_S = (1.0, 10.0, 100.0, 1000.0)


def four(policy: Policy = "default", **options: float) -> Asa:
    return Asa(policy, alternatives_s=FOUR_S, **options)  # type: ignore[arg-type]


def iterate(model: Asa, waited_s: float, times: int, name: str = "job", shape: Shape = JOB) -> list[bool]:
    """Predict and observe again and again; which predictions were the best possible."""
    hits = []
    for number in range(times):
        wait = model.predict(shape, (0, "asa", name, number))
        hits.append(model.losses(waited_s)[int(wait.ticket["action"] or 0)] == 0)
        model.observe(shape, wait.ticket, waited_s)
    return hits


def test_the_alternatives_are_those_of_section_4_3() -> None:
    assert len(ALTERNATIVES_S) == 53
    assert list(ALTERNATIVES_S) == sorted(set(ALTERNATIVES_S))
    assert ALTERNATIVES_S[0] == 0 and ALTERNATIVES_S[-1] == 100_000
    tens = sum(each < 100 for each in ALTERNATIVES_S)
    hundreds = sum(100 <= each < 1000 for each in ALTERNATIVES_S)
    assert tens + hundreds > 53 / 2 and min(tens, hundreds) > sum(1000 <= each < 10_000 for each in ALTERNATIVES_S)


def test_all_chances_are_equal_at_first() -> None:
    assert four().learned(JOB).chances.tolist() == [0.25] * 4


def test_only_the_sampled_action_is_charged_and_a_round_ends_above_1() -> None:
    """Truth 12 s: the best is 10 s. 100 s is sampled twice and 1 s once in between: after that the round is over."""
    model = four()
    model.observe(JOB, {"action": 2.0}, 12.0)
    model.observe(JOB, {"action": 0.0}, 12.0)
    known = model.learned(JOB)
    assert known.charged.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert known.chances.tolist() == [0.25] * 4, "1 is not more than 1 (line 3): the round goes on"
    model.observe(JOB, {"action": 1.0}, 12.0)
    assert known.charged.tolist() == [1.0, 0.0, 1.0, 0.0], "who was right is charged nothing"
    model.observe(JOB, {"action": 2.0}, 12.0)
    # p = (e^-1, 1, e^-2, 1) / (2 + e^-1 + e^-2)
    total = 2 + 1 / e + 1 / e**2
    assert np.allclose(known.chances, [1 / e / total, 1 / total, 1 / e**2 / total, 1 / total], rtol=1e-12)
    assert known.charged.tolist() == [0.0] * 4
    assert (known.rounds, known.seen) == (1, 4)


def test_the_loss_of_section_4_3() -> None:
    model = four()
    assert model.losses(12.0).tolist() == [1, 0, 1, 1]
    assert model.losses(0.0).tolist() == [0, 1, 1, 1]
    assert model.losses(1e6).tolist() == [1, 1, 1, 0]
    assert model.losses(55.0).tolist() == [1, 0, 1, 1], "of two as near, the shorter"


def test_a_censored_wait_charges_only_shorter_alternatives() -> None:
    assert four().losses(200.0, censored=True).tolist() == [1, 1, 0, 0]
    model = four()
    for _ in range(2):
        model.observe(JOB, {"action": 3.0}, 200.0, censored=True)
    assert model.learned(JOB).chances.tolist() == [0.25] * 4


def test_sampling_follows_the_chances() -> None:
    model = four()
    for _ in range(2):
        model.observe(JOB, {"action": 3.0}, 12.0)
    drawn = [model.predict(JOB, (0, "asa", "job", number)).wait_s for number in range(20_000)]
    chances = model.learned(JOB).chances
    for alternative_s, chance in zip(FOUR_S, chances, strict=True):
        assert abs(drawn.count(alternative_s) / 20_000 - chance) < 0.012  # more than three standard deviations


def test_quantiles_are_those_of_the_chances() -> None:
    model = four()
    assert model.quantiles(JOB, [0.1, 0.25, 0.26, 0.5, 0.75, 0.76, 1.0]) == [1, 1, 10, 10, 100, 1000, 1000]


def test_the_tuned_policy_samples_fifty_times_more() -> None:
    """Rounds of at least two charges each: after one wait the default has none over, the tuned one many."""
    default, tuned = four(), four("tuned")
    for model in (default, tuned):
        model.observe(JOB, {"action": 0.0}, 12.0)
    assert default.learned(JOB).rounds == 0
    assert tuned.learned(JOB).rounds >= 5
    assert tuned.learned(JOB).chances[1] > 0.9


def test_the_greedy_policy_takes_the_least_loss_so_far() -> None:
    model = four("greedy")
    answers = []
    for _ in range(5):
        wait = model.predict(JOB)
        answers.append(wait.wait_s)
        model.observe(JOB, wait.ticket, 90.0)
    assert answers == [1, 10, 100, 100, 100], "up from the shortest, until one is right"
    for expected in (100, 1000, 1):
        wait = model.predict(JOB)
        assert wait.wait_s == expected, "then what is untried, and then from below again"
        model.observe(JOB, wait.ticket, 9.0)


def test_each_geometry_learns_by_itself() -> None:
    model = Asa()
    iterate(model, 600.0, 60)
    assert model.quantiles(Shape(nodes=3, asked_s=1000.0), [0.5]) == [600.0]  # up to 4 nodes, up to an hour
    assert model.learned(Shape(nodes=5, asked_s=3600.0)).seen == 0
    assert model.learned(Shape(nodes=4, asked_s=3601.0)).seen == 0


def test_the_tuned_policy_converges_and_converges_again() -> None:
    """Figure 5: the true wait changes at iterations 0, 200, 400, 600, 800; within 100 the tuned policy is back."""
    model = Asa()
    for number, waited_s in enumerate((420.0, 9_000.0, 35.0, 21_000.0, 150.0)):
        hits = iterate(model, waited_s, 200, name=f"change {number}")
        assert sum(hits[100:]) >= 93, f"after change {number}"


def test_the_default_policy_converges_on_a_wait_that_stays() -> None:
    """Slowly, as the paper says: it is mostly wrong at first."""
    hits = iterate(Asa("default"), 610.0, 3000)
    assert sum(hits[:100]) < 30
    assert sum(hits[-500:]) > 450


@pytest.mark.parametrize(
    ("policy", "times", "holds"), [("tuned", 1000, True), ("default", 5000, True), ("default", 200, False)]
)
def test_regret_beside_the_bound_of_the_appendix(policy: Policy, times: int, holds: bool) -> None:
    """(15): losses of the samples, less those of the best, at most 4 eta + ln m + sqrt(2 t ln(m / delta)).

    Where the wait stays as it is, so that the best loses nothing. It fails while the default policy still explores: a
    round of equal chances charges about nine alternatives, and the bound has room for four of them.
    """
    model = Asa(policy)
    regret = times - sum(iterate(model, 610.0, times))
    m, delta = len(ALTERNATIVES_S), 0.05
    bound = 4 * model.learned(JOB).rounds + np.log(m) + np.sqrt(2 * times * np.log(m / delta))
    assert (regret <= bound) == holds


@given(
    waits=st.lists(st.tuples(st.integers(0, 52), st.floats(0, 2e5)), max_size=60),
    draws=st.lists(st.floats(0, 1, exclude_max=True), max_size=60),
)
def test_probabilities_stay_positive_and_sum_to_one(waits: list[tuple[int, float]], draws: list[float]) -> None:
    model = Asa("default")
    for action, waited_s in waits:
        model.observe(JOB, {"action": float(action)}, waited_s)
    known = model.learned(JOB)
    charge(known.chances, known.charged, model.losses(50.0), -1, np.array(draws), known.rounds)
    assert abs(known.chances.sum() - 1) < 1e-9
    assert (known.chances > 0).all()
    assert (known.charged <= 1).all()


def test_compiled_is_the_same_as_plain() -> None:
    draw = np.random.default_rng(0)
    answers = []
    for function in (charge.plain, charge.compile_now()):
        draw = np.random.default_rng(0)
        chances, charged, rounds = np.full(53, 1 / 53), np.zeros(53), 0
        for _ in range(200):
            rounds = function(chances, charged, draw.random(53), int(draw.integers(53)), draw.random(50), rounds)
        answers.append((chances.tolist(), charged.tolist(), rounds))
    assert answers[0] == answers[1]
