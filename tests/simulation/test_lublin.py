"""The Lublin model against the figures that its authors published, which stand here a second time."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.model.batch_log import BatchJobs
from headway.model.errors import InputError
from headway.simulation.daily_cycle import DailyCycle, gamma_cdf
from headway.simulation.lublin import BATCH, COMBINED, INTERACTIVE, KINDS, Kind, lublin
from headway.simulation.requested_times import ROUND_S, estimated

JOBS = 60_000
SIZES = {  # on 128 nodes: serial, power of two, low, med, high, prob
    "combined": (0.244, 0.576, 0.8, 4.5, 7.0, 0.86),
    "batch": (0.2927, 0.6686, 1.2, 5.0, 7.0, 0.875),
    "interactive": (0.1541, 0.625, 1.0, 3.0, 5.5, 0.705),
}
RUNS = {  # a1, b1, a2, b2, pa, pb
    "combined": (4.2, 0.94, 312.0, 0.03, -0.0054, 0.78),
    "batch": (6.57, 0.823, 639.1, 0.0156, -0.003, 0.6986),
    "interactive": (3.8351, 0.6605, 7.073, 0.6856, -0.0118, 0.9156),
}
HOURS = {"combined": (8.1737, 3.9631), "batch": (6.1271, 5.2740), "interactive": (8.9186, 3.6680)}
GAPS = {
    "combined": (10.2303 * 1.0225, 0.4871),
    "batch": (6.0415 * 1.0519, 0.8531),
    "interactive": (6.5510 * 0.9797, 0.6621),
}
PUBLISHED = pytest.mark.parametrize("kind", ["combined", "batch"])


@cache
def made(kind: Kind, seed: int = 1, load: float = 0.7) -> BatchJobs:
    return lublin(128, JOBS, load, seed, kind)


def gamma_density(x: np.ndarray, a: float, b: float) -> np.ndarray:
    return np.asarray(np.exp((a - 1) * np.log(x) - x / b - math.lgamma(a) - a * math.log(b)))


def two_stage_below(x: float, low: float, med: float, high: float, prob: float) -> float:
    return float(np.interp(x, [low, med, high], [0.0, prob, 1.0]))


def test_the_parameters_are_those_of_the_authors_program() -> None:
    for ours, name in ((COMBINED, "combined"), (BATCH, "batch"), (INTERACTIVE, "interactive")):
        high = 7 - ours.high_below_machine
        sizes = (ours.serial_prob, ours.pow2_prob, ours.low, high - ours.med_below_high, high, ours.prob)
        assert sizes == SIZES[name]
        assert (ours.a1, ours.b1, ours.a2, ours.b2, ours.pa, ours.pb) == RUNS[name]
        assert (ours.aarr * ours.arar, ours.barr) == GAPS[name]
        assert (ours.anum, ours.bnum) == HOURS[name]


@pytest.mark.parametrize(
    ("kind", "machine", "published"),
    [
        ("combined", 128, SIZES["combined"]),
        ("batch", 128, SIZES["batch"]),
        ("combined", 8, (0.244, 0.576, 0.8, 1.5, 3.0, 0.86)),  # what the program's comments advise for 8
    ],
)
def test_every_size_is_as_likely_as_published(kind: Kind, machine: int, published: tuple[float, ...]) -> None:
    serial, power, *stages = published
    share = np.zeros(machine + 1)
    share[1] = serial
    for size in range(2, machine + 1):  # 2^x is rounded
        upper, lower = two_stage_below(math.log2(size + 0.5), *stages), two_stage_below(math.log2(size - 0.5), *stages)
        share[size] += (1 - serial - power) * (upper - lower)
    powers = [2**exponent for exponent in range(1, machine.bit_length())]
    for exponent, size in enumerate(powers, 1):  # x is rounded
        upper, lower = two_stage_below(exponent + 0.5, *stages), two_stage_below(exponent - 0.5, *stages)
        share[size] += power * (upper - lower)
    assert share.sum() == pytest.approx(1)
    nodes = made(kind).nodes if machine == 128 else lublin(machine, JOBS, 0.7, 1, kind).nodes
    found = np.bincount(nodes, minlength=machine + 1) / JOBS
    assert np.all(abs(found - share) < 4.5 * np.sqrt(share * (1 - share) / JOBS) + 1e-9)
    assert np.isin(nodes[nodes > 1], powers).mean() == pytest.approx(share[powers].sum() / (1 - serial), abs=0.01)
    assert nodes.mean() == pytest.approx(share @ np.arange(machine + 1), rel=0.03)


@PUBLISHED
@pytest.mark.parametrize(("least", "most"), [(1, 1), (2, 8), (48, 128)])
def test_run_times_of_small_and_large_jobs_are_hyper_gamma(kind: Kind, least: int, most: int) -> None:
    a1, b1, a2, b2, pa, pb = RUNS[kind]
    x = np.linspace(1e-4, 12, 400_000)  # logarithms above 12 are drawn again
    one, two = gamma_density(x, a1, b1), gamma_density(x, a2, b2)
    jobs = made(kind)
    chosen = (jobs.nodes >= least) & (jobs.nodes <= most)
    sizes, counts = np.unique(jobs.nodes[chosen], return_counts=True)
    expected = np.zeros_like(x)
    for size, count in zip(sizes, counts, strict=True):
        p = min(max(pa * size + pb, 0), 1)
        density = p * one + (1 - p) * two
        expected += count / counts.sum() * density / density.sum()

    run_s = jobs.run_s[chosen]
    logs = np.log(np.floor(np.exp(x)))  # whole seconds
    mean = expected @ logs
    deviation = math.sqrt(expected @ (logs - mean) ** 2)
    assert np.log(run_s).mean() == pytest.approx(mean, abs=4 * deviation / math.sqrt(len(run_s)))
    assert np.log(run_s).std() == pytest.approx(deviation, rel=0.04)
    for most_s in (10, 60, 600, 3600, 4 * 3600, 12 * 3600):
        below = expected[x < math.log(most_s + 1)].sum()
        error = math.sqrt(below * (1 - below) / len(run_s))
        assert (run_s <= most_s).mean() == pytest.approx(below, abs=4.5 * error + 1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_large_jobs_run_longer(kind: Kind) -> None:
    jobs = made(kind)
    assert np.corrcoef(jobs.nodes, np.log(jobs.run_s))[0, 1] > 0.05
    assert np.log(jobs.run_s[jobs.nodes >= 64]).mean() > np.log(jobs.run_s[jobs.nodes == 1]).mean() + 1


def test_a_mix_has_jobs_of_both_classes() -> None:
    interactive, batch = SIZES["interactive"][0], SIZES["batch"][0]
    share = ((made("mixed").nodes == 1).mean() - interactive) / (batch - interactive)
    # By the mean gaps of the two, 631 s and 3492 s, 15 % are batch jobs; gaps have a long tail.
    assert 0.08 < share < 0.25
    assert made("mixed").run_s.mean() < made("batch").run_s.mean() / 3


@pytest.mark.parametrize("hours", HOURS.values(), ids=HOURS)
def test_the_weights_of_half_hours_are_the_gammas(hours: tuple[float, float]) -> None:
    weights = np.zeros(48)
    for i in range(11, 59):  # as in the authors' program: i - 1, counted cyclically, is the half hour
        inside = np.linspace(i - 0.5, i + 0.5, 2001)
        weights[(i - 1) % 48] = np.trapezoid(gamma_density(inside, *hours), inside)
    np.testing.assert_allclose(DailyCycle(*hours).weights, weights / weights.mean(), rtol=1e-6)


def test_the_gamma_distribution_of_shape_one_is_exponential() -> None:
    x = np.array([0.01, 0.5, 1, 7, 60])
    np.testing.assert_allclose(gamma_cdf(x, 1, 2), 1 - np.exp(-x / 2), rtol=1e-12)


@given(gaps=st.lists(st.floats(1, 400_000), min_size=1, max_size=30), hours=st.sampled_from(list(HOURS.values())))
def test_the_real_clock_spends_each_half_hours_weight(gaps: list[float], hours: tuple[float, float]) -> None:
    """The published way, one job after the other: each half hour costs its weight, what is left stays for the next."""
    cycle = DailyCycle(*hours)
    half_hour, left_s = 0, 0.0
    for gap_s, even_s in zip(gaps, np.cumsum(gaps), strict=True):
        left_s += gap_s
        while left_s > (price_s := 1800 * cycle.weights[half_hour % 48]):
            left_s -= price_s
            half_hour += 1
        walked_s = 1800 * (half_hour + left_s / price_s)
        real_s = float(cycle.real_s(np.array([even_s]))[0])
        assert real_s == pytest.approx(walked_s, rel=1e-9, abs=1e-3)
        assert cycle.even_s(real_s) == pytest.approx(even_s, rel=1e-9, abs=1e-3)


@PUBLISHED
@pytest.mark.parametrize("load", [0.2, 0.7, 1.4])
def test_jobs_come_at_the_hours_of_the_daily_cycle_at_any_load(kind: Kind, load: float) -> None:
    submit_s = np.concatenate([made(kind, seed, load).submit_s for seed in (1, 2, 3, 4)])
    found = np.bincount((submit_s // 3600 % 24).astype(int), minlength=24) / len(submit_s)
    share = DailyCycle(*HOURS[kind]).weights.reshape(24, 2).sum(axis=1) / 48
    assert abs(found - share).max() < 0.006
    peak, trough = int(found.argmax()), int(found.argmin())
    assert share[peak] > 0.95 * share.max()  # hours that are as good as the same may change places
    assert share[trough] < 1.15 * share.min()
    shape, scale = HOURS[kind]
    assert share.argmax() == (round((shape - 1) * scale) - 1) // 2 == 13  # the half hour that holds the gamma's mode
    assert share.argmin() in (4, 5)


@PUBLISHED
def test_gaps_without_the_daily_cycle_are_log_gamma(kind: Kind) -> None:
    """But for a factor, which the load sets: a small one, so that whole seconds do not matter."""
    cycle = DailyCycle(*HOURS[kind])
    logs = np.log(np.diff([cycle.even_s(submit_s) for submit_s in made(kind, load=1e-5).submit_s]))
    x = np.linspace(1e-4, 13, 400_000)  # larger logarithms are drawn again
    density = gamma_density(x, *GAPS[kind])
    density /= density.sum()
    mean = density @ x
    deviation = math.sqrt(density @ (x - mean) ** 2)
    assert logs.std() == pytest.approx(deviation, rel=0.01)
    quantiles = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99]
    expected = np.interp(quantiles, np.cumsum(density), x) - mean
    np.testing.assert_allclose(np.quantile(logs, quantiles) - logs.mean(), expected, atol=0.03 * deviation)


@settings(deadline=None)
@given(
    machine=st.integers(2, 5000),
    jobs=st.integers(2, 400),
    load=st.floats(0.1, 1.5),
    seed=st.integers(0, 2**64),
    kind=st.sampled_from(list(KINDS)),
)
def test_the_load_is_as_asked(machine: int, jobs: int, load: float, seed: int, kind: Kind) -> None:
    made_up = lublin(machine, jobs, load, seed, kind)
    span_s = float(made_up.submit_s[-1])
    work_s = float(made_up.nodes @ made_up.run_s) / machine
    off = abs(made_up.load() - load)
    for other_s in (span_s - 1, span_s + 1):  # no whole second would have been nearer
        assert other_s < 1 or off <= abs(work_s / other_s - load) + 1e-12
    assert off <= load / span_s

    assert len(made_up) == jobs
    assert made_up.submit_s[0] == 0
    for column in (made_up.submit_s, made_up.run_s, made_up.req_s):
        assert np.all(column == np.floor(column))
    assert all(a <= b for a, b in pairwise(made_up.submit_s))
    assert np.all((made_up.nodes >= 1) & (made_up.nodes <= machine))
    assert np.all((made_up.run_s >= 1) & (made_up.run_s <= made_up.req_s))


def test_the_load_of_many_jobs_is_exact_to_six_digits() -> None:
    assert made("combined").load() == pytest.approx(0.7, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("machine", "largest_power"), [(2, 2), (3, 2), (5, 4), (100, 64), (1000, 512)])
def test_machines_of_any_size_have_serial_and_large_jobs(kind: Kind, machine: int, largest_power: int) -> None:
    nodes = lublin(machine, 20_000, 0.7, 1, kind).nodes
    sizes, counts = np.unique(nodes, return_counts=True)
    serial = {"combined": 0.244, "batch": 0.2927, "mixed": 0.175}[kind]
    assert sizes[0] == 1 and counts[0] / len(nodes) == pytest.approx(serial, abs=0.03)
    assert sizes[-1] <= machine
    assert largest_power in sizes
    assert counts[sizes == 2][0] > 100
    if kind == "combined" and machine > 3:  # few jobs of the others are large and no power of two
        assert sizes[-1] > 0.9 * machine


def test_a_power_of_two_that_is_too_large_becomes_the_next_smaller_one() -> None:
    nodes = lublin(100, JOBS, 0.7, 1).nodes
    # The second stage, 14 %, goes from 4.14 to 6.64; all powers of two beyond 5.5 are 64 nodes.
    assert (nodes == 64).mean() == pytest.approx(0.576 * 0.14 * (math.log2(100) - 5.5) / 2.5, rel=0.1)
    assert (nodes == 100).mean() < 0.001


def test_a_machine_of_one_node_has_serial_jobs_only() -> None:
    assert np.all(lublin(1, 1000, 0.7, 1).nodes == 1)


def test_a_single_job_comes_at_once_and_has_no_load() -> None:
    for kind in KINDS:
        jobs = lublin(16, 1, 0.7, 1, kind)
        assert list(jobs.submit_s) == [0] and jobs.load() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_same_arguments_same_jobs(kind: Kind) -> None:
    one, same, other = (lublin(64, 500, 0.8, seed, kind) for seed in (7, 7, 8))
    for column in ("submit_s", "nodes", "run_s", "req_s"):
        assert np.array_equal(getattr(one, column), getattr(same, column))
        assert not np.array_equal(getattr(one, column), getattr(other, column))


def test_load_and_requests_change_nothing_else() -> None:
    one = lublin(64, 2000, 0.8, 7)
    busier = lublin(64, 2000, 1.2, 7)
    accurate = lublin(64, 2000, 0.8, 7, requests="accurate")
    assert np.array_equal(one.nodes, busier.nodes) and np.array_equal(one.run_s, busier.run_s)
    assert np.array_equal(one.submit_s, accurate.submit_s) and np.array_equal(one.run_s, accurate.run_s)
    assert np.array_equal(accurate.req_s, accurate.run_s)
    assert busier.submit_s[-1] == pytest.approx(one.submit_s[-1] * 0.8 / 1.2, abs=1)


def test_requests_are_round_or_were_used_up() -> None:
    jobs = made("combined")
    used_up = jobs.req_s == jobs.run_s
    assert np.all(np.isin(jobs.req_s[~used_up], ROUND_S))
    assert not used_up[jobs.run_s < 300].any()
    assert used_up[jobs.run_s >= 300].mean() == pytest.approx(0.16, abs=0.01)
    others = (jobs.run_s / jobs.req_s)[~used_up & (jobs.run_s >= 300)]
    assert 0.3 < np.mean(others) < 0.5  # even shares, rounded up


@given(run_s=st.lists(st.integers(1, 10**7), max_size=50), seed=st.integers(0, 100))
def test_no_request_is_shorter_than_the_run(run_s: list[int], seed: int) -> None:
    runs = np.array(run_s, dtype=np.float64)
    assert np.all(estimated(runs, np.random.default_rng(seed)) >= runs)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"machine": 0}, "machine of 0 nodes"),
        ({"jobs": 0}, "0 jobs"),
        ({"load": 0.0}, "load of 0"),
        ({"load": -0.5}, "load of -0.5"),
        ({"load": math.nan}, "load of nan"),
        ({"load": math.inf}, "load of inf"),
        ({"seed": -1}, "no seed"),
        ({"kind": "interactive"}, "choose from combined, mixed, batch"),
        ({"requests": "guessed"}, "choose from estimated, accurate"),
    ],
)
def test_invalid_arguments_are_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as refused:
        lublin(**({"machine": 16, "jobs": 10, "load": 0.7, "seed": 1} | wrong))
    assert says in str(refused.value)
