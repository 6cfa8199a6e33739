"""The GLUME thesis: verdicts from rows made by hand, starts from the seed, and small studies."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.studies.small_study import row, write_trace, write_workflow

from headway.drivers.assemble import plans as all_plans
from headway.model.errors import InputError
from headway.planning import PLANS
from headway.studies.ledger import Ledger
from headway.studies.runs import Row
from headway_papers.frame.page import page
from headway_papers.frame.text import lines_of
from headway_papers.glume.chapter_5 import PLAIN_ZHANG, enhancements, fallbacks, pictures
from headway_papers.glume.chapter_7 import table_7_1
from headway_papers.glume.goal import CELLS, OURS, RIVALS, Goal, goal_of, verdicts_of
from headway_papers.glume.modes import (
    AS_PUBLISHED,
    CLEAN,
    MODES,
    Asked,
    Size,
    clean_runs,
    enhancement_runs,
    published_runs,
)
from headway_papers.glume.plans import VARIANTS
from headway_papers.glume.published import TABLE_7_1
from headway_papers.glume.report import document, report
from headway_papers.glume.starts import DAY_S, SLOTS, THESIS_WEEK, WARM_UP_S, seeded_weeks, starts_of
from headway_papers.glume.study import run_study
from headway_papers.glume.workflows import DURATIONS, LOGS, Found, Workflow, find

TRACES = {"kth": "KTH", "sdsc": "SDSC"}
WORKFLOWS = {f"w-{it}": Workflow("", f"w-{it}", "MONTAGE", 250, it) for it in DURATIONS.values()}


def goal_rows(spans: dict[str, float], worse: dict[tuple[str, str, str, str], float] | None = None) -> list[Row]:
    """Two starts in each of the twelve cells."""
    found = []
    for trace in TRACES:
        for requests in ("accurate", "real"):
            for duration in DURATIONS.values():
                for plan, span in spans.items():
                    factor = (worse or {}).get((trace, requests, duration, plan), 1.0)
                    for start in (0.0, DAY_S):
                        place = {"trace": trace, "requests": requests, "start_s": start}
                        found.append(row(plan, span * factor, f"w-{duration}", **place))  # type: ignore[arg-type]
    return found


def judged(spans: dict[str, float], worse: dict[tuple[str, str, str, str], float] | None = None) -> Goal:
    return goal_of(goal_rows(spans, worse), TRACES, WORKFLOWS)


def test_ahead_everywhere() -> None:
    goal = judged(dict.fromkeys(RIVALS, 100.0) | {OURS: 90.0})
    assert goal.passed
    assert goal.complete
    assert [standing.rival for standing in goal.standings] == list(RIVALS)
    assert {standing.pairs for standing in goal.standings} == {24}
    assert set(goal.standings[0].cells) == set(CELLS)
    told = list(verdicts_of(goal))
    assert len(told) == 2 * len(RIVALS) and all(verdict.passed for verdict in told)
    assert told[0].value == pytest.approx(-0.1)


def test_one_cell_may_be_five_percent_behind_and_no_more() -> None:
    spans = dict.fromkeys(RIVALS, 100.0) | {OURS: 90.0}
    cell = ("sdsc", "real", "long", OURS)
    assert judged(spans, {cell: 1.049 / 0.9}).passed
    goal = judged(spans, {cell: 1.051 / 0.9})
    assert not goal.passed
    assert str(goal.standings[0].worst) == "SDSC, real requests, long"
    assert [verdict.passed for verdict in verdicts_of(goal)][:2] == [True, False]


def test_ours_must_be_ahead_of_each_rival_over_all_cells() -> None:
    """Nowhere behind by 5% is not enough."""
    goal = judged(dict.fromkeys(RIVALS, 100.0) | {OURS: 101.0})
    assert not goal.passed
    goal = judged(dict.fromkeys(RIVALS, 100.0) | {OURS: 90.0, "glume": 89.0})
    assert [standing.rival for standing in goal.standings if not standing.passed] == ["glume"]


def test_what_was_not_run_is_skipped_and_not_passed() -> None:
    goal = judged({OURS: 90.0, "one-job": 100.0})
    assert [standing.rival for standing in goal.standings] == ["one-job"]
    assert goal.skipped == [rival for rival in RIVALS if rival != "one-job"]
    assert not goal.complete
    assert not judged({"one-job": 100.0}).passed


def test_cells_count_the_same_however_many_pairs_they_have() -> None:
    rows = goal_rows({OURS: 100.0, "one-job": 100.0}, {("kth", "real", "long", OURS): 0.5})
    extra = [
        row(plan, 100.0, "w-short", DAY_S * number, trace="kth", requests="real")
        for number in range(2, 50)
        for plan in (OURS, "one-job")
    ]
    for each in (rows, [*rows, *extra]):
        assert goal_of(each, TRACES, WORKFLOWS).standings[0].overall.mean == pytest.approx(-0.6931 / 12, abs=1e-4)


# --- the thesis's tables ---


def test_table_7_1_counts_configurations_that_are_won_by_five_percent() -> None:
    workflows = {name: Workflow("", name, "MONTAGE", 50, "short") for name in ("won", "lost", "even", "mixed")}
    gains = {"won": (0.95, 0.95), "lost": (1.06, 1.05), "even": (0.96, 0.96), "mixed": (0.8, 1.09)}
    rows = [
        row(plan, 100.0 * (factor if plan == "g" else 1.0), name, start * DAY_S, trace="kth", requests="real")
        for name, factors in gains.items()
        for start, factor in enumerate(factors)
        for plan in ("g", "z")
    ]
    ((cell, wins),) = table_7_1(rows, TRACES, workflows, "g", "z").items()
    assert (cell.log, cell.requests, cell.duration) == ("KTH", "real", "short")
    assert (wins.glume, wins.zhang, wins.of, wins.published) == (2, 1, 4, (5, 2))
    assert wins.agrees
    assert wins.gain.mean == pytest.approx((0.05 + 0.05 - 0.06 - 0.05 + 0.04 + 0.04 + 0.2 - 0.09) / 8)


def test_the_published_table_has_twelve_cells() -> None:
    assert set(TABLE_7_1) == set(CELLS)
    assert all(sum(wins) <= 12 for wins in TABLE_7_1.values())


def test_fallbacks_and_pictures() -> None:
    place = {"trace": "kth", "requests": "accurate", "most_jobs": 128}
    ways = ["one-job-per-task", "in-parts", "in-parts-then-per-task", "one-job"]
    rows = []
    for number, way in enumerate(ways):
        start = number * DAY_S
        rows.append(row("zhang-as-coded", 100.0, "w-short", start, way=way, **place))
        rows.append(row("one-job-per-task", 100.0 if number == 0 else 80.0 + 15 * number, "w-short", start, **place))
        rows.append(row("one-job", 100.0 if number == 3 else 110.0, "w-short", start, **place))
    per_task, one_job = fallbacks(rows, TRACES)
    assert (per_task.to, per_task.share.mean, per_task.published) == ("one-job-per-task", 0.25, 0.2379)
    assert per_task.sometime == 0.5
    assert per_task.better == pytest.approx(1 / 2)
    assert (one_job.to, one_job.share.mean, one_job.published, one_job.better) == ("one-job", 0.25, None, 1.0)
    (picture,) = pictures(rows, TRACES, WORKFLOWS)
    assert (picture.log, picture.cap) == ("KTH", 128)
    assert picture.gains["M-250-short"]["one-job"].mean == pytest.approx(-0.075)


def test_enhancements_are_counted() -> None:
    spans = {PLAIN_ZHANG: (100.0, 100.0, 100.0), "zhang-as-coded": (90.0, 100.01, 102.0)}
    rows = [
        row(plan, span, "w-long", start * DAY_S, trace="sdsc")
        for plan, each in spans.items()
        for start, span in enumerate(each)
    ]
    (found,) = enhancements(rows, TRACES, WORKFLOWS)
    assert (found.log, found.duration, found.runs, found.better, found.worse) == ("SDSC", "long", 3, 1, 1)
    assert found.mean_gain == pytest.approx(0.1)


def test_zhangs_variants_are_plans_of_headway() -> None:
    """The entry points of this distribution make them known."""
    assert len({plan.name for plan in VARIANTS}) == 8
    assert {"glume-as-coded", *(plan.name for plan in VARIANTS)} <= set(all_plans())
    assert all_plans()["zhang-enhanced-1+2+3"].name == "zhang-enhanced-1+2+3"
    assert "zhang-as-coded" not in PLANS


# --- starts ---


def test_the_thesis_has_289_half_hours() -> None:
    starts = starts_of([THESIS_WEEK], "KTH", "w", SLOTS, seed=0)
    times = sorted(start_s for _, start_s in starts)
    assert times == [DAY_S + 1800 * slot for slot in range(289)]
    assert times[-1] == 7 * DAY_S


@given(st.integers(0, 9), st.integers(1, 60))
def test_starts_are_nested_and_in_turn_in_each_week(seed: int, count: int) -> None:
    weeks = seeded_weeks("KTH", 300 * DAY_S, seed)
    starts = starts_of(weeks, "KTH", "w", count, seed)
    assert starts == starts_of(weeks, "KTH", "w", count + 5, seed)[:count]
    assert len(set(starts)) == count
    by_week = Counter(week for week, _ in starts)
    assert max(by_week.values()) - min(by_week.get(week, 0) for week in weeks) <= 1
    for week, start_s in starts:
        assert week.first_s - week.begins_s == WARM_UP_S
        assert week.begins_s >= 0
        assert week.first_s <= start_s <= week.first_s + 6 * DAY_S <= 300 * DAY_S - 14 * DAY_S


def test_another_seed_other_weeks() -> None:
    assert seeded_weeks("KTH", 300 * DAY_S, 0) != seeded_weeks("KTH", 300 * DAY_S, 1)
    assert seeded_weeks("KTH", 300 * DAY_S, 0) != seeded_weeks("SDSC", 300 * DAY_S, 0)


# --- the whole study, on logs and workflows that are generated ---


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Found:
    folder = tmp_path_factory.mktemp("glume")
    logs = {name: write_trace(folder / f"{name}.swf", 2500, seed) for seed, name in enumerate(LOGS)}
    workflows = [
        Workflow(write_workflow(folder / f"w{number}.json", tasks=11), f"w{number}", "MONTAGE", 250, duration)
        for number, duration in enumerate(DURATIONS.values())
    ]
    return Found(logs, workflows, [])


def test_the_runs_of_each_mode(generated: Found) -> None:
    asked = Asked(generated, Size(1, 4, 1))
    clean = list(clean_runs(asked))
    assert len(clean) == 2 * 2 * 3 * 4 * (1 + len(RIVALS))
    assert {run.queue.cancelled for run in clean} == {"drop"}
    assert len({run.queue.begins_s for run in clean if run.queue.name == "KTH"}) == 4
    published = list(published_runs(asked))
    assert {(run.queue.nodes, run.queue.rules, run.queue.cancelled) for run in published} == {
        ("contiguous", "batsched", "full-request")
    }
    assert {(run.queue.requests, run.queue.whole_minutes) for run in published} == {("accurate", True), ("real", False)}
    assert len(list(enhancement_runs(asked))) == 2 * 8 * 2 * 3


def test_a_whole_small_study(generated: Found) -> None:
    asked = Asked(generated, Size(1, 1, 1), plans=("one-job", "zhang", "glume", "zhang-as-coded", "glume-as-coded"))
    results = run_study(asked, MODES, Ledger(None), processes=1)
    assert set(results.modes) == {AS_PUBLISHED, CLEAN}
    assert results.full_runs > 289 * 10
    assert results.full_s > 0
    answer = document(results)
    assert len(answer["modes"][AS_PUBLISHED]["table_7_1"]) == 2 * 12
    assert answer["modes"][CLEAN]["bar"]["skipped"] == list(RIVALS)
    assert all(run["status"] == "succeeded" for mode in answer["modes"].values() for run in mode["runs"])
    text = "\n".join(str(line) for line, _ in lines_of(report(results), 100))
    shown = ("Table 7.1, after the simulator's code", "Figure 5.2, KTH", "Figure A.1, SDSC", "skip  big-job")
    for words in (*shown, "claim of the GLUME thesis"):
        assert words in text
    html = page(report(results))
    assert html.startswith("<!DOCTYPE html>")
    assert "http" not in html


# --- the real data ---

DATA = os.environ.get("HEADWAY_DATA")


def test_without_data_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HEADWAY_DATA", raising=False)
    with pytest.raises(InputError, match="HEADWAY_DATA is not set"):
        find()
    monkeypatch.setenv("HEADWAY_DATA", str(tmp_path))
    with pytest.raises(InputError, match="missing"):
        find()
    with pytest.raises(InputError, match="no log 'CTC'"):
        find(only_logs=["CTC"])


@pytest.mark.skipif(not DATA, reason="HEADWAY_DATA does not say where the real logs are")
def test_a_small_study_on_the_real_logs() -> None:
    assert len(find().workflows) == 33
    assert {it.name for it in find(["M-50-*"]).workflows} == {f"MONTAGE_50_{it}" for it in DURATIONS}
    with pytest.raises(InputError, match="no workflow"):
        find(["NOPE*"])
    found = find(["c-50-short"], ["KTH"])
    asked = Asked(found, Size(1, 1, 1), plans=("headway", "one-job", "glume"))
    results = run_study(asked, [CLEAN], Ledger(None), processes=1)
    goal = results.modes[CLEAN].goal
    assert goal is not None
    assert [standing.rival for standing in goal.standings] == ["one-job", "glume"]
    assert all(row.through for row in results.modes[CLEAN].rows)
    assert len(results.modes[CLEAN].rows) == 2 * 3
