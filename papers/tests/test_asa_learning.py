"""Souza et al. 2020: Figure 5 and the appendix's bound, the learner alone."""

from __future__ import annotations

from itertools import pairwise
from math import log, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.waiting.asa import ALTERNATIVES_S
from headway_papers.asa.convergence import (
    CHANGES,
    ITERATIONS,
    POLICIES,
    Step,
    Trial,
    bound,
    nearest,
    recoveries,
    regrets,
    trial,
    waits_s,
)
from headway_papers.asa.study import convergence


@given(st.integers(0, 1000))
def test_the_signal_has_five_waits_each_with_another_alternative(seed: int) -> None:
    signal = waits_s(seed)
    assert len(signal) == ITERATIONS
    assert all(0 < wait <= ALTERNATIVES_S[-1] for wait in signal)
    changed = [at for at, (before, after) in enumerate(pairwise(signal), start=1) if before != after]
    assert changed == list(CHANGES[1:])
    assert all(nearest(signal[at - 1]) != nearest(signal[at]) for at in CHANGES[1:])


def step(right: bool, chance: float, rounds: int = 0, best: int = 0) -> Step:
    return Step(wait_s=10.0, said_s=10.0 if right else 0.0, best=best, right=right, chance=chance, rounds=rounds)


def test_recovery_is_counted_from_the_change() -> None:
    steps = [step(False, 0.1), step(False, 0.4), step(True, 0.6), step(False, 0.2), step(False, 0.5), step(True, 0.5)]
    first, second = recoveries(Trial("tuned", 0, steps, 53), changes=(0, 3))
    assert (first.at, first.iterations, first.right) == (0, 3, pytest.approx(1 / 3))
    assert (second.at, second.iterations) == (3, None)


def test_regret_by_hand() -> None:
    # Alternative 0 is right twice, then 1 three times: the best single one has lost 0, 0, 1, 2, 2.
    steps = [step(right, 0.5, rounds, best) for right, rounds, best in
             ((False, 0, 0), (True, 0, 0), (False, 1, 1), (False, 1, 1), (True, 2, 1))]  # fmt: skip
    found = regrets(Trial("default", 0, steps, 53))
    assert [it.lost for it in found] == [1, 1, 2, 3, 3]
    assert [it.best_lost for it in found] == [0, 0, 1, 2, 2]
    assert [it.regret for it in found] == [1, 1, 1, 1, 1]
    assert found[-1].bound == pytest.approx(8 + log(53) + sqrt(2 * 5 * log(53 / 0.05)))
    later = regrets(Trial("default", 0, steps, 53), first=2)
    assert [it.best_lost for it in later] == [0, 0, 0]
    assert [it.rounds for it in later] == [1, 1, 2]


@given(st.integers(0, 300), st.integers(1, 5000), st.integers(2, 2000))
def test_the_bound_grows_with_everything(rounds: int, iterations: int, alternatives: int) -> None:
    least = bound(rounds, iterations, alternatives)
    assert bound(rounds + 1, iterations, alternatives) == pytest.approx(least + 4)
    assert bound(rounds, iterations + 1, alternatives) > least
    assert bound(rounds, iterations, alternatives + 1) > least


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10_000))
def test_tuned_asa_is_back_within_a_hundred_iterations(seed: int) -> None:
    found = recoveries(trial("tuned", waits_s(seed), seed))
    assert [it.at for it in found] == list(CHANGES)
    assert all(it.iterations is not None and it.iterations <= 100 for it in found)


def test_default_is_slower_than_tuned_and_greedy_sees_every_alternative_at_most_once() -> None:
    for seed in range(3):
        by_policy = {policy: recoveries(trial(policy, waits_s(seed), seed)) for policy in POLICIES}
        default, tuned, greedy = (by_policy[policy] for policy in ("default", "tuned", "greedy"))
        for slow, quick in zip(default, tuned, strict=True):
            assert (slow.iterations or ITERATIONS) > (quick.iterations or ITERATIONS)
        assert all(it.iterations is not None and it.iterations <= len(ALTERNATIVES_S) for it in greedy)


def test_the_bound_fails_while_the_default_policy_learns_and_holds_for_the_tuned_one() -> None:
    default = regrets(trial("default", [3000.0] * 200, 1))
    assert not default[150].holds
    assert all(it.holds for it in regrets(trial("tuned", [3000.0] * 200, 1)))


def test_figure_5_as_a_whole() -> None:
    found = convergence([7, 8])
    assert {it.policy for it in found.shown} == set(POLICIES)
    assert {it.seed for it in found.shown} == {7}
    assert len(found.recoveries) == 2 * len(CHANGES) * len(POLICIES)
    broken = {it.policy for it in found.bounds if it.broken}
    assert "default" in broken
    assert "tuned" not in broken
    assert all((it.broken > 0) == (not it.worst.holds) for it in found.bounds)
