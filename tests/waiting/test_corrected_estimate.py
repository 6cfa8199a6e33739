"""The correction, on figures worked out by hand; and on real logs, if they are there."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from headway.formats.read_batch_log import read_batch_log
from headway.kernels.batch.queue import Scheduling
from headway.kernels.nearby_quantiles import nearby_quantiles
from headway.model.batch_log import BatchJobs
from headway.simulation.batch_jobs import Choices, jobs_of
from headway.simulation.lublin import lublin
from headway.simulation.wait_scores import waits_of
from headway.waiting.base import Shape
from headway.waiting.corrected_estimate import ALIKE, RECORDS, CorrectedEstimate
from tests.simulation.scoring import scored

DATA = os.environ.get("HEADWAY_DATA")
JOB = Shape(nodes=4, asked_s=3600.0, estimate_s=940.0)  # and a minute: 1000 s


def told(*waits_s: float, shape: Shape = JOB) -> CorrectedEstimate:
    model = CorrectedEstimate()
    for waited_s in waits_s:
        model.observe(shape, {}, waited_s)
    return model


def quantiles(values: list[float], known: list[float], shares: list[float], top: float = 0.0) -> list[float]:
    """All records as near as can be."""
    count = len(values)
    found = np.empty(len(shares))
    nearby_quantiles(
        np.array(values),
        np.array(known),
        np.zeros((1, count)),
        np.zeros(1),
        np.array(shares),
        top,
        np.empty(count),
        found,
    )
    answers: list[float] = found.tolist()
    return answers


def test_before_anything_is_known_the_plan_is_right() -> None:
    assert told().quantiles(JOB, [0.05, 0.5, 0.95]) == [940.0] * 3
    assert told().predict(Shape(nodes=4, asked_s=3600.0)).wait_s == 0.0


def test_four_records_and_the_added_one() -> None:
    """Each is a fifth; the one above all is the plan itself, since none was later."""
    model = told(440.0, 140.0, 240.0, 340.0)
    found = model.quantiles(JOB, [0.2, 0.21, 0.4, 0.6, 0.8, 0.81])
    assert np.allclose(found, [140, 240, 240, 340, 440, 940])


def test_the_added_record_has_the_greatest_ratio() -> None:
    assert np.allclose(told(440.0, 5000.0).quantiles(JOB, [0.3, 0.6, 0.9]), [440, 5000, 5000])


def test_the_correction_is_a_factor() -> None:
    """Records at an estimate of 1000 s with a minute, half of which was waited, speak of 2000 s as well."""
    model = told(*[440.0] * 30)
    assert model.predict(Shape(nodes=4, asked_s=3600.0, estimate_s=1940.0)).wait_s == pytest.approx(940.0)


def test_near_records_count_more() -> None:
    """Short estimates are halved and long ones hold: each is answered by its like."""
    model = CorrectedEstimate()
    long = Shape(nodes=64, asked_s=80_000.0, estimate_s=99_940.0)
    for _ in range(40):
        model.observe(JOB, {}, 440.0)
        model.observe(long, {}, 99_940.0)
    assert model.predict(JOB).wait_s == pytest.approx(440.0)
    assert model.predict(long).wait_s == pytest.approx(99_940.0)


def test_weights_by_hand() -> None:
    """At distances 0, 1 and 3: weights 1, 1/2, 1/10; the one above all 1.26 / 1.6, so all are 2.3875."""
    found = np.empty(4)
    places = np.array([[5.0, 6.0, 2.0]])
    shares = np.array([0.418, 0.42, 0.628, 0.63])
    nearby_quantiles(np.array([1.0, 2.0, 3.0]), np.ones(3), places, np.array([5.0]), shares, 9.0, np.empty(3), found)
    assert found.tolist() == [1.0, 2.0, 2.0, 3.0]


def test_kaplan_meier_by_hand() -> None:
    """1, 2+, 3 and the one above all: 1/4 up to 1; the share of 2+ goes to 3 and above: 3/4 x 1/2 each."""
    assert quantiles([1, 2, 3], [1, 0, 1], [0.25, 0.26, 0.625, 0.63], top=7.0) == [1, 3, 3, 7]


def test_a_censored_wait_raises_the_quantiles() -> None:
    model, other = told(*[440.0] * 20), told(*[440.0] * 20)
    for _ in range(25):
        model.observe(JOB, {}, 600.0, censored=True)
        other.observe(JOB, {}, 100.0, censored=True)
    assert model.predict(JOB).wait_s > 500.0
    assert other.predict(JOB).wait_s == pytest.approx(440.0), "that it was longer than 100 s was known"


def test_an_exact_plan_stays_exact() -> None:
    model = CorrectedEstimate()
    for number in range(300):
        estimate_s = float(number * 7919 % 100_000)
        model.observe(Shape(1 + number % 60, 3600.0, estimate_s), {}, estimate_s)
    for estimate_s in (1.0, 60.0, 5000.0, 123_456.0):
        found = model.quantiles(Shape(3, 3600.0, estimate_s), [0.05, 0.5, 0.95])
        assert found == pytest.approx([estimate_s] * 3, abs=1e-6)


def test_estimates_of_zero_are_learned_apart() -> None:
    model = told(*[440.0] * 50)
    now = Shape(nodes=4, asked_s=3600.0, estimate_s=0.0)
    assert model.predict(now).wait_s == 0.0
    for _ in range(10):
        model.observe(now, {}, 300.0)
    assert model.predict(now).wait_s == pytest.approx(300.0)
    assert model.predict(JOB).wait_s == pytest.approx(440.0)


def test_an_infinite_estimate_counts_as_none() -> None:
    model = told(*[440.0] * 50, shape=Shape(nodes=4, asked_s=3600.0))
    for estimate_s in (float("inf"), float("nan")):
        assert model.predict(Shape(nodes=4, asked_s=3600.0, estimate_s=estimate_s)).wait_s == pytest.approx(440.0)


def test_many_records_of_one_geometry_do_not_crowd_out_the_others() -> None:
    model = CorrectedEstimate()
    other = Shape(nodes=1, asked_s=60.0, estimate_s=940.0)
    for _ in range(20):
        model.observe(other, {}, 840.0)
    for _ in range(RECORDS + 50):
        model.observe(JOB, {}, 440.0)
    records = model.state()["records"]
    assert len(records) == 20 + ALIKE
    assert model.predict(other).wait_s == pytest.approx(840.0)


def test_old_records_are_forgotten() -> None:
    model = told(*[440.0] * 200, *[840.0] * ALIKE)
    assert model.quantiles(JOB, [0.01])[0] == pytest.approx(840.0)


def test_memory_is_bounded() -> None:
    model = CorrectedEstimate()
    draw = np.random.default_rng(0)
    for _ in range(2 * RECORDS):
        nodes, asked_s = 2 ** int(draw.integers(0, 16)), 900.0 * 4 ** int(draw.integers(0, 6))
        model.observe(Shape(nodes, asked_s, 1000.0), {}, float(draw.uniform(0, 1000)))
    assert len(model.state()["records"]) <= RECORDS


@given(
    records=st.lists(st.tuples(st.floats(0.01, 10), st.booleans(), st.floats(-3, 3)), max_size=60),
    shares=st.lists(st.floats(0.01, 0.99), max_size=8).map(sorted),
)
def test_compiled_is_the_same_as_plain(records: list[tuple[float, bool, float]], shares: list[float]) -> None:
    records = sorted(records)
    values, known = np.array([each[0] for each in records]), np.array([float(each[1]) for each in records])
    places = np.array([[each[2] for each in records], [each[0] for each in records]]).reshape(2, len(records))
    found = [np.empty(len(shares)), np.empty(len(shares))]
    for function, answer in zip((nearby_quantiles.plain, nearby_quantiles.compile_now()), found, strict=True):
        weights = np.empty(len(records))
        question = np.array([0.5, 1.0])
        function(values, known, places, question, np.array(shares), 1.0, weights, answer)
    assert found[0].tolist() == found[1].tolist()
    assert (np.diff(found[0]) >= 0).all()


# --- what the model is for ---


def test_on_made_up_jobs() -> None:
    jobs = lublin(machine=64, jobs=3000, load=0.85, seed=3, requests="estimated")
    found = scored(CorrectedEstimate(), waits_of(jobs, Scheduling("conservative")))
    assert found is not None
    assert found.to_plan is not None and found.to_plan < 0.4
    assert 0.85 <= found.covered["0.9"] <= 0.95


def test_on_made_up_jobs_with_an_exact_plan() -> None:
    jobs = lublin(machine=64, jobs=3000, load=0.85, seed=3, requests="accurate")
    found = scored(CorrectedEstimate(), waits_of(jobs, Scheduling("conservative")))
    assert found is not None
    assert found.to_wait is not None and found.to_wait < 1e-9


def first_of(jobs: BatchJobs, count: int) -> BatchJobs:
    columns = {name: getattr(jobs, name)[:count] for name in ("submit_s", "nodes", "req_s", "run_s")}
    return structs.replace(jobs, **columns)


@pytest.mark.skipif(not DATA, reason="HEADWAY_DATA does not say where the logs are")
@pytest.mark.parametrize("name", ["KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln", "CTC-SP2-1996-3.1-cln"])
@pytest.mark.parametrize("requests", ["real", "accurate"])
def test_on_real_logs(name: str, requests: str) -> None:
    log = read_batch_log(Path(DATA or "") / "pwa-swf" / f"{name}.swf.gz", skip_bad=True)
    jobs = first_of(jobs_of(log, Choices(requests=requests, skip_bad=True)), 10_000)  # type: ignore[arg-type]
    found = scored(CorrectedEstimate(), waits_of(jobs, Scheduling("conservative")))
    assert found is not None
    if requests == "real":
        assert found.to_plan is not None and found.to_plan <= 0.55
        assert 0.85 <= found.covered["0.9"] <= 0.95
    else:
        assert found.to_wait is not None and found.to_wait <= 0.01
