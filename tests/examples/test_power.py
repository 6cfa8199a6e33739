"""The science of examples/power: each stage on a problem with a known answer, then all stages on a short year."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import zlib
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

EXAMPLE = Path(__file__).parents[2] / "examples" / "power"
sys.path.insert(0, str(EXAMPLE))

from power import (  # noqa: E402
    check,
    clean,
    combine,
    flaws,
    font,
    household,
    meter,
    one_pass,
    profile,
    pump,
    report,
    response,
    scan,
    spectrum,
    switching,
    weather,
)
from power.__main__ import write_json  # noqa: E402
from power.canvas import Canvas  # noqa: E402
from power.describe import Summary, describe  # noqa: E402
from power.explain import Finding, explain, without_fit  # noqa: E402
from power.histogram import BINS, Scale  # noqa: E402
from power.moments import Moments  # noqa: E402
from power.period import CHUNKS, DAY_MINUTES, Array, Period, neighbourhood  # noqa: E402
from power.readings import QUANTITIES, Readings  # noqa: E402
from power.truth import Fault, Fridge, Truth, faults  # noqa: E402

WORKFLOW = yaml.safe_load((EXAMPLE / "workflow.yaml").read_text())
SHORT = Period(days=48)

numbers = st.lists(st.floats(-1e6, 1e6), min_size=0, max_size=40)


class Run:
    """All stages one after the other in memory, so that a test can change the data between them."""

    def __init__(self, period: Period) -> None:
        self.period, self.flaws, self.counts = period, flaws.plan(period), clean.Counts()
        self.values, self.hourly_c = household.simulate(Truth(), period)
        parts = []
        for name in CHUNKS:
            log = meter.log(self.values, period.chunk(name), self.flaws).encode()
            parts.append(clean.clean(log, period.chunk(name), self.counts))
        values, filled = (np.concatenate([getattr(p, n) for p in parts], axis=1) for n in ("values", "filled"))
        self.readings = Readings(0, values, filled)

    def describe(self, cores: int = 1, names: list[str] = CHUNKS) -> list[Summary]:
        summaries = []
        for name in names:
            near = self.readings.cut(self.period.with_neighbours(name))
            summaries.append(describe(self.period.chunk(name), near, self.period, self.hourly_c, cores))
        return summaries

    def explain(
        self, model: dict[str, object], cores: int = 1, names: list[str] = CHUNKS
    ) -> tuple[list[Summary], list[Finding]]:
        sums, found = [], []
        for name in names:
            near = self.readings.cut(self.period.with_neighbours(name))
            summary, findings = explain(self.period.chunk(name), near, self.period, self.hourly_c, model, cores)
            sums.append(summary)
            found += findings
        return sums, report.join(found)


@pytest.fixture(scope="module")
def run() -> Run:
    return Run(SHORT)


@pytest.fixture(scope="module")
def summaries(run: Run) -> list[Summary]:
    return run.describe()


@pytest.fixture(scope="module")
def model(summaries: list[Summary]) -> dict[str, object]:
    return combine.model(summaries, SHORT)


@pytest.fixture(scope="module")
def explained(run: Run, model: dict[str, object]) -> tuple[list[Summary], list[Finding]]:
    return run.explain(model)


def complaints(parts: list[Summary], model: dict[str, object]) -> list[str]:
    whole = combine.merge(parts)
    return check.complaints(check.compare(report.parameters(parts, model, SHORT), Truth(), whole, SHORT), whole)


# The workflow and the period.


def test_the_workflow_names_every_chunk() -> None:
    tasks = WORKFLOW["tasks"]
    for stage in ("meter", "describe", "explain"):
        assert tasks[stage]["each"]["chunk"] == CHUNKS
    assert {f"clean/{name}.npz" for name in CHUNKS} < set(tasks["clean"]["outputs"])


def test_the_neighbourhood_holds_a_day_on_either_side() -> None:
    for name in CHUNKS:
        near = [SHORT.chunk(part) for part in neighbourhood(name)]
        wanted = SHORT.with_neighbours(name)
        assert near[0].start <= wanted.start
        assert near[-1].stop >= wanted.stop
        assert len(wanted) == len(SHORT.chunk(name)) + DAY_MINUTES * (len(near) - 1)


def test_an_invalid_number_of_days_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for days in ("7", "-48", "a year"):
        monkeypatch.setenv("POWER_DAYS", days)
        with pytest.raises(SystemExit, match="whole number of days"):
            Period.from_environment()


@given(st.integers(12, 1500))
def test_chunks_are_whole_days_and_cover_the_period_once(days: int) -> None:
    period = Period(days)
    chunks = [period.chunk(name) for name in CHUNKS]
    assert chunks[0].start == 0
    assert chunks[-1].stop == period.minutes
    assert all(a.stop == b.start for a, b in pairwise(chunks))
    assert all(chunk.start % DAY_MINUTES == 0 and len(chunk) >= DAY_MINUTES for chunk in chunks)


# Merging of partial results.


@settings(max_examples=60, deadline=None)
@given(numbers, numbers, numbers)
def test_moments_merge_in_any_order_to_the_moments_of_one_pass(a: list[float], b: list[float], c: list[float]) -> None:
    def of(values: list[float]) -> Moments:
        return Moments.of(np.array([values, [v * v / 1e6 for v in values]]))

    whole = of(a + b + c)
    for merged in (of(a) + of(b) + of(c), of(a) + (of(b) + of(c)), of(c) + of(a) + of(b)):
        assert merged.count == whole.count
        size = max([1.0, *(abs(v) for v in a + b + c)])
        assert np.allclose(merged.mean, whole.mean, atol=1e-12 * size)
        assert np.allclose(merged.products, whole.products, atol=1e-12 * size**2 * max(whole.count, 1))


def test_moments_keep_a_small_deviation_around_a_huge_mean() -> None:
    noise = np.random.default_rng(1).normal(0, 0.1, 10_000)
    halves = [Moments.of(part[None] + 1e8) for part in (noise[:3000], noise[3000:])]
    assert (halves[0] + halves[1]).covariance[0, 0] == pytest.approx(noise.var(ddof=1), rel=1e-6)


@given(st.lists(st.floats(-50, 5000), min_size=1, max_size=200), st.floats(0, 1), st.integers(0, 200))
def test_a_quantile_of_merged_histograms_is_within_one_bin(values: list[float], share: float, cut: int) -> None:
    scale = Scale(-100.0, 5300 / BINS)
    counts = scale.count(np.array(values[:cut])) + scale.count(np.array(values[cut:]))
    exact = np.quantile(values, share, method="inverted_cdf")
    rank_rounding = np.quantile(values, min(1.0, share + 1e-12), method="inverted_cdf")
    found = scale.quantile(counts, share)
    assert exact - scale.width <= found <= rank_rounding + scale.width


def test_the_valley_lies_half_way_between_two_levels_of_unequal_weight() -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.normal(60, 10, 5000), rng.normal(170, 10, 200)])
    scale = Scale(0.0, 0.1)
    assert scale.valley(scale.count(values)) == pytest.approx(115, abs=1)


# Estimators on known cases.


def test_the_response_is_exact_without_noise_and_within_its_errors_with_noise() -> None:
    rng = np.random.default_rng(3)
    outdoor_c, true = rng.uniform(-8, 28, 60_000), response.Response(150.0, 95.0, 15.5)
    found = response.fit(response.sums(outdoor_c, true.at(outdoor_c)))
    assert np.allclose([found.standby_w, found.slope_w_per_k, found.balance_c], [150, 95, 15.5], rtol=1e-4)
    merged = response.sums(outdoor_c, true.at(outdoor_c) + rng.normal(0, 28, len(outdoor_c)))
    found, error = response.fit(merged), response.errors(merged, true, 28.0)
    assert abs(found.balance_c - 15.5) < 4 * error.balance_c < 0.1
    assert abs(found.slope_w_per_k - 95) < 4 * error.slope_w_per_k < 0.5
    assert response.noise_w(merged, found) == pytest.approx(28, rel=0.02)


def test_fourier_sums_follow_the_definition_and_ignore_gaps() -> None:
    rng = np.random.default_rng(4)
    watts = rng.normal(100, 10, 2 * DAY_MINUTES)
    watts[rng.random(len(watts)) < 0.1] = np.nan
    f = np.array([6.01, 14.8, 33.3])
    sums = spectrum.sums(3 * DAY_MINUTES, watts, f)
    there = np.isfinite(watts)
    waves = np.exp(-2j * np.pi * f[:, None] * (3 + np.flatnonzero(there) / DAY_MINUTES))
    assert np.allclose(sums[0], waves.sum(axis=1), atol=1e-7)
    assert np.allclose(sums[1], waves @ watts[there], atol=1e-5)


def test_a_frequency_between_grid_points_is_found_from_phases() -> None:
    minute = np.arange(48 * DAY_MINUTES)
    wave = np.cos(2 * np.pi * 14.8033 * minute / DAY_MINUTES + 1.0)
    parts = wave.reshape(12, -1)
    grid = 14.8033 + 0.2 / 48
    each = [spectrum.sums(4 * at * DAY_MINUTES, part, np.array([grid]))[1, 0] for at, part in enumerate(parts)]
    found = spectrum.refine(grid, 4 * np.arange(12) + 2.0, np.array(each), np.full(12, 1.0))
    assert found == pytest.approx(14.8033, abs=1e-5)  # the grid's step is 1e-2


def test_the_timer_is_on_for_its_duty_cycle_and_folding_recovers_it() -> None:
    minute = np.arange(200 * DAY_MINUTES)
    on = pump.share_on(minute, 97.3, 0.25, 0.31)
    assert on.min() == 0
    assert on.max() == pytest.approx(1)
    assert on.mean() == pytest.approx(0.25, abs=1e-3)
    folded = pump.fold(minute, 40 + 80 * on, DAY_MINUTES / 97.3)
    found = pump.square_wave(folded["fold_count"], folded["fold_sum"], noise_w=45.0)
    assert found["power_w"] == pytest.approx(80, abs=1e-6)
    assert found["duty"] == pytest.approx(0.25, abs=1e-3)
    assert found["power_error_w"] == pytest.approx(45 * np.sqrt((1 / 0.25 + 1 / 0.75) / len(minute)), rel=0.05)


def test_switching_counts_only_pairs_of_minutes_that_were_both_read() -> None:
    values = np.array([0, 0, 9, 9, np.nan, 0, 9, 0.0])
    counts = switching.transitions(values, np.arange(60, 68), 5.0)
    assert counts[1].tolist() == [[1, 2], [1, 1]]  # 0-0; 0-9 twice; 9-0 once; 9-9 once
    assert counts.sum() == 5
    assert switching.levels(values, 5.0).tolist() == [[4, 0], [3, 27]]


def test_the_fridge_has_the_mean_and_correlation_of_its_markov_chain() -> None:
    fridge, minutes = Fridge(), 300_000
    on = household.fridge_on(fridge, minutes, np.random.default_rng(5)).astype(float)
    share = fridge.on_per_minute / (fridge.on_per_minute + fridge.off_per_minute)
    stays = 1 - fridge.on_per_minute - fridge.off_per_minute
    # The variance of a Markov chain's mean is that of independent draws times (1 + stays) / (1 - stays).
    error = np.sqrt(share * (1 - share) / minutes * (1 + stays) / (1 - stays))
    assert on.mean() == pytest.approx(share, abs=4 * error)
    assert np.corrcoef(on[:-10], on[10:])[0, 1] == pytest.approx(stays**10, abs=0.02)


def test_crossings_of_the_threshold_give_the_chance_to_switch_off() -> None:
    scale, fridge = Scale(0.0, 0.1), Fridge()
    on = household.fridge_on(fridge, 100_000, np.random.default_rng(6))
    chance, falls = switching.off_chance(switching.crossings(60 + 110.0 * on, scale), scale, 115.0)
    assert chance == pytest.approx(fridge.off_per_minute, rel=4 / np.sqrt(falls))


def test_only_runs_longer_than_chance_allows_are_reported() -> None:
    longest = switching.longest_by_chance(1 / 14, 12_000, 0.002)
    assert 12_000 * (1 - 1 / 14) ** longest <= 0.002 < 12_000 * (1 - 1 / 14) ** (longest - 1)
    on = household.fridge_on(Fridge(), 200_000, np.random.default_rng(7))
    assert switching.long_runs(on, longest) == []
    on[5000:5600], on[[4999, 5600]] = True, False
    assert switching.long_runs(on, longest) == [(5000, 600)]


# The scan.


def test_the_scan_is_exhaustive() -> None:
    series = np.random.default_rng(8).standard_normal(60)
    series[7:9] = np.nan
    best = max(
        abs(np.nansum(series[s : s + n])) / np.sqrt(np.isfinite(series[s : s + n]).sum())
        for n in range(scan.SHORTEST_MIN, 60)
        for s in range(60 - n + 1)
    )
    window = scan.best_window(series)
    assert window.score == pytest.approx(best)
    inside = series[window.start : window.start + window.minutes]
    assert abs(np.nansum(inside)) / np.sqrt(np.isfinite(inside).sum()) == pytest.approx(best)


def test_the_scan_finds_a_lamp_below_the_noise_and_raises_no_alarm_without_it() -> None:
    rng = np.random.default_rng(9)
    least = scan.least_score(SHORT.minutes, 0.002)
    assert 6 < least < 7.5

    def centre(series: Array) -> Array:
        return series - np.nanmean(series)

    quiet = rng.standard_normal(6000)
    assert scan.windows(quiet, centre, least) == []
    quiet[2000:2420] += 40 / 45
    (found,) = scan.windows(quiet, centre, least)
    assert abs(found.start - 2000) < 30
    assert abs(found.start + found.minutes - 2420) < 30


def test_a_correction_removes_its_functions_even_if_they_are_nearly_collinear() -> None:
    minute = np.arange(3 * DAY_MINUTES)
    functions = profile.basis(minute, Period(365))  # within three days, a season looks like a constant
    series = np.linspace(-2, 3, len(functions)) @ functions
    series[100:200] = np.nan
    left = without_fit(series, functions)
    assert np.nanmax(np.abs(left)) < 0.01
    assert np.isnan(left[100:200]).all()


# Cleaning.


def test_a_log_looks_like_the_public_data_set_and_reads_back(run: Run) -> None:
    lines = meter.log(run.values, SHORT.chunk("01"), run.flaws).split("\n")
    assert lines[0].startswith("Date;Time;Global_active_power;Global_reactive_power;Voltage;")
    assert lines[1].startswith("01/01/2007;00:00:00;")
    assert all(line.count(";") == 8 for line in lines[:-1])
    read = run.readings.values
    there = np.isfinite(read[0])
    steps = np.array([1.0, 1.0, 0.01, 0.01, 0.6, 0.6, 0.6])  # the value of the last written digit
    assert (np.abs(read - run.values)[:, there].max(axis=1) <= 0.5001 * steps).all()
    gone = run.flaws.missing.copy()
    gone[run.flaws.impossible] = True
    assert np.array_equal(there, ~gone)


def test_dates_count_leap_years() -> None:
    stamps = [b"01/01/2007;00:00:00;1", b"29/02/2008;23:59:00;1", b"01/03/2008;00:00:00;1"]
    assert clean.minute_of(stamps).tolist() == [0, 425 * 1440 - 1, 425 * 1440]


def test_short_gaps_are_bridged_and_long_ones_are_not() -> None:
    values = np.arange(400.0)[None].repeat(len(QUANTITIES), axis=0)
    values[:, 10:20] = values[:, 100:161] = values[:, 395:] = np.nan
    filled, minutes = clean.fill(values)
    assert minutes == 10
    assert np.allclose(filled[:, 10:20], np.arange(10, 20))
    assert np.isnan(filled[:, 100:161]).all()


def test_cleaning_counts_exactly_the_planted_flaws(run: Run) -> None:
    assert check.cleaning_complaints(run.counts, run.flaws, SHORT) == []
    off_by_one = replace(run.counts, repeated=run.counts.repeated + 1)
    assert len(check.cleaning_complaints(off_by_one, run.flaws, SHORT)) == 1


# All stages together.


def test_the_merged_statistics_equal_those_of_one_pass(run: Run, summaries: list[Summary]) -> None:
    apart = one_pass.differences(combine.merge(summaries), run.readings, SHORT)
    assert max(apart.values()) < one_pass.ROUNDING
    twice = combine.merge([summaries[0], *summaries[:-1]])  # one chunk is counted twice and one is missing
    assert min(one_pass.differences(twice, run.readings, SHORT)[name] for name in ("mean", "profile")) > 1e-4


def test_two_cores_give_the_same_result_to_the_last_bit(run: Run, model: dict[str, object]) -> None:
    (one,), (two,) = run.describe(1, ["01"]), run.describe(2, ["01"])
    assert np.array_equal(one.moments.products, two.moments.products)
    assert all(np.array_equal(one.sums[name], two.sums[name]) for name in one.sums)
    assert one.sums["fourier"].shape[1] > 2 * spectrum.BLOCK  # more than one block, so the cores share the work
    ((first,), found_1), ((second,), found_2) = (run.explain(model, cores, ["01"]) for cores in (1, 2))
    assert len(found_1) == 1
    assert found_1 == found_2
    assert all(np.array_equal(first.sums[name], second.sums[name]) for name in first.sums)


def test_the_true_parameters_and_faults_are_found(
    explained: tuple[list[Summary], list[Finding]], model: dict[str, object]
) -> None:
    parts, found = explained
    assert complaints(parts, model) == []
    assert check.fault_complaints(found, faults(SHORT)) == []
    for fault, finding in zip(faults(SHORT), found, strict=True):
        assert abs(fault.start - finding.start) < 90, fault
        assert abs(fault.minutes - finding.minutes) < 90, fault


def test_the_errors_are_neither_too_wide_nor_too_narrow(
    explained: tuple[list[Summary], list[Finding]], model: dict[str, object]
) -> None:
    parts, _ = explained
    found = report.parameters(parts, model, SHORT)
    scores = np.array([c.score for c in check.compare(found, Truth(), combine.merge(parts), SHORT)])
    # The mean square of n standard normal numbers is 1, give or take the root of 2 / n.
    assert np.mean(scores**2) == pytest.approx(1, abs=4 * np.sqrt(2 / len(scores)))


def test_check_fails_if_the_faults_are_left_in(
    run: Run, model: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("power.explain.search", lambda *_: [])
    parts, found = run.explain(model)
    assert any("heat pump" in complaint for complaint in complaints(parts, model))
    assert len(check.fault_complaints(found, faults(SHORT))) == len(faults(SHORT))


def test_check_fails_if_the_fridges_threshold_is_off(run: Run, model: dict[str, object]) -> None:
    thresholds = {"kitchen": 1100.0, "utility": 80.0}  # twice the noise above the standby power
    parts, _ = run.explain(model | {"thresholds_w": thresholds})
    assert {name for name in ("utility, power", "utility, on") if any(name in c for c in complaints(parts, model))}


def test_check_fails_if_a_day_was_left_out(run: Run, explained: tuple[list[Summary], list[Finding]]) -> None:
    parts, found = explained
    whole = combine.merge(parts)
    assert check.coverage_complaints(whole, run.readings, found, SHORT) == []
    assert len(check.coverage_complaints(whole, run.readings, found[:-1], SHORT)) == 1


def test_check_names_a_missed_fault_and_a_false_alarm() -> None:
    planted = [Fault("lamp", "unmetered", 1000, 60, 40.0)]
    assert check.fault_complaints([Finding("unmetered", 990, 70, 9.0)], planted) == []
    assert len(check.fault_complaints([Finding("voltage", 990, 70, 9.0)], planted)) == 2
    assert len(check.fault_complaints([], planted)) == 1


def test_check_refuses_a_parameter_that_is_nan(
    explained: tuple[list[Summary], list[Finding]], model: dict[str, object]
) -> None:
    whole = combine.merge(explained[0])
    found = report.parameters(explained[0], model, SHORT) | {"timer, duty": np.nan}
    assert len(check.complaints(check.compare(found, Truth(), whole, SHORT), whole)) == 1


def test_the_household_is_the_same_at_every_call(run: Run) -> None:
    values, hourly_c = household.simulate(Truth(), SHORT)
    assert np.array_equal(values, run.values)
    assert np.array_equal(hourly_c, run.hourly_c)


# The commands, the files and the picture.


@pytest.fixture(scope="module")
def results(
    run: Run,
    summaries: list[Summary],
    model: dict[str, object],
    explained: tuple[list[Summary], list[Finding]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Write the files of a run up to the second parallel stage."""
    folder = tmp_path_factory.mktemp("results")
    for name in ("clean", "explained"):
        (folder / name).mkdir()
    for name, part in zip(CHUNKS, explained[0], strict=True):
        run.readings.cut(SHORT.chunk(name)).save(folder / "clean" / f"{name}.npz")
        part.save(folder / "explained" / f"{name}.npz")
        mine = [asdict(f) for f in explained[1] if f.start + f.minutes // 2 in SHORT.chunk(name)]
        write_json(str(folder / "explained" / f"{name}.json"), mine)
    write_json(str(folder / "clean.json"), asdict(run.counts))
    write_json(str(folder / "model.json"), model)
    combine.merge(summaries).save(folder / "merged.npz")
    weather.save(folder / "weather.csv", run.hourly_c)
    return folder


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(EXAMPLE), "POWER_DAYS": str(SHORT.days), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", "power", *words], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


REPORT = ["report", "explained", "model.json", "found.npz", "report.json"]
CHECK = ["check", "clean", "clean.json", "merged.npz", "found.npz", "report.json", "check.json"]
PICTURE = ["picture", "clean", "weather.csv", "merged.npz", "model.json", "found.npz", "report.json", "power.png"]


def test_report_check_and_picture_by_their_commands(results: Path) -> None:
    assert command(results, *REPORT).returncode == 0
    done = command(results, *CHECK)
    assert done.returncode == 0, done.stderr
    assert (results / "check.json").exists()
    done = command(results, *PICTURE)
    assert done.returncode == 0, done.stderr
    assert (results / "power.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_check_fails_if_one_chunk_replaces_another(results: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(results, broken)
    (broken / "check.json").unlink(missing_ok=True)
    shutil.copy(broken / "explained" / "02.npz", broken / "explained" / "08.npz")
    assert command(broken, *REPORT).returncode == 0
    done = command(broken, *CHECK)
    assert done.returncode == 1
    assert "on 8 days other readings were used" in done.stderr
    assert not (broken / "check.json").exists()


def test_text_is_drawn_at_the_given_position() -> None:
    canvas = Canvas(40, 12, (0.0, 0.0, 0.0))
    canvas.text(39, 1, "I", (1.0, 1.0, 1.0), scale=1, align=1.0)
    lit = np.argwhere(canvas.pixels[..., 0] == 1)
    assert lit.min(axis=0).tolist() == [1, 35]
    assert lit.max(axis=0).tolist() == [7, 37]
    assert all(glyph.shape == (font.HEIGHT, font.WIDTH) for glyph in font.GLYPHS.values())


def test_png_decodes_to_the_same_pixels(tmp_path: Path) -> None:
    canvas = Canvas(17, 13, (0.1, 0.2, 0.3))
    canvas.line(np.array([1.0, 15.0]), np.array([2.0, 11.0]), (1.0, 0.5, 0.0))
    canvas.save(tmp_path / "picture.png")
    data = (tmp_path / "picture.png").read_bytes()
    start = data.index(b"IDAT") + 4
    (length,) = struct.unpack(">I", data[start - 8 : start - 4])
    rows = np.frombuffer(zlib.decompress(data[start : start + length]), np.uint8).reshape(13, 1 + 17 * 3)
    assert (rows[:, 0] == 0).all()
    assert np.array_equal(rows[:, 1:].reshape(13, 17, 3), np.round(255 * canvas.pixels))
