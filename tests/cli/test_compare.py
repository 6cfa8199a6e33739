"""`headway compare` as users meet it: results that grow, a table, JSON, a page, and one sentence for every mistake."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from headway.api.compare import CompareSettings
from headway.api.workflow_in_queue import USUAL_MOST_JOBS, PlanSettings
from tests.cli.bench import Bench, interrupt
from tests.studies.small_study import write_trace, write_workflow

PLANS = ("--plans", "one-job,one-job-per-task", "level-by-level")


@pytest.fixture
def study(bench: Bench) -> Bench:
    write_trace(bench.directory / "made.swf", 2000)
    write_workflow(bench.directory / "m.json")
    write_workflow(bench.directory / "c.json", "cybershake", 9)
    return bench


def compare(bench: Bench, *more: str) -> str:
    asked = ("compare", "--traces", "made.swf", "--workflows", "m.json", "c.json", *PLANS, "--warm-up", "1d")
    return bench.succeeds(*asked, "--out", "out", "--processes", "1", *more)


def rows(bench: Bench) -> list[dict[str, str]]:
    with (bench.directory / "out" / "runs.csv").open() as file:
        return list(csv.DictReader(file))


def test_table_and_files(study: Bench) -> None:
    text = compare(study, "--starts", "3", "--most-jobs", "4")
    lines = text.splitlines()
    assert "18 runs: 2 workflows, 1 log; conservative backfilling" in lines[0]
    assert "at most 4 jobs at a time" in text
    assert "makespans against one-job-per-task's, by workflow" in text
    assert "by log" not in text  # there is only one
    found = rows(study)
    assert len(found) == 18
    assert {row["plan"] for row in found} == {"one-job", "one-job-per-task", "level-by-level"}
    assert {row["status"] for row in found} == {"succeeded"}
    assert len({row["start_s"] for row in found}) == 3
    page = (study.directory / "out" / "compare.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "http" not in page
    summary = json.loads((study.directory / "out" / "summary.json").read_text())
    assert summary["reference"] == "one-job-per-task"
    assert [it["plan"] for it in summary["overall"]] == [
        it["plan"] for it in sorted(summary["overall"], key=lambda it: it["mean_log_ratio"])
    ]
    reference = next(it for it in summary["overall"] if it["plan"] == "one-job-per-task")
    assert (reference["mean_log_ratio"], reference["ties"], reference["runs"]) == (0.0, 6, 6)


def test_finished_runs_are_not_simulated_again(study: Bench) -> None:
    compare(study, "--starts", "2")
    first = (study.directory / "out" / "runs.csv").read_text()
    compare(study, "--starts", "2")
    assert (study.directory / "out" / "runs.csv").read_text() == first
    compare(study, "--starts", "3")
    more = (study.directory / "out" / "runs.csv").read_text()
    assert more.startswith(first)
    assert len(rows(study)) == 18
    compare(study, "--starts", "3", "--again", "one-job")
    again = (study.directory / "out" / "runs.csv").read_text().splitlines()
    timeless = {line.rpartition(",")[0] for line in again}
    assert timeless == {line.rpartition(",")[0] for line in more.splitlines()}
    assert dict(zip(again[0].split(","), again[-1].split(","), strict=True))["plan"] == "one-job"
    compare(study, "--starts", "3", "--backfill", "easy")
    assert len(rows(study)) == 36


def test_after_ctrl_c_the_same_command_continues(study: Bench) -> None:
    asked = ("compare", "--traces", "made.swf", "--workflows", "m.json", *PLANS, "--warm-up", "1d", "--out", "out")
    process = study.start(*asked, "--every", "1h", "--processes", "2")
    study.wait_for_file("out/runs.csv")
    study.wait_for(lambda: len(rows(study)) > 2, "some runs")
    interrupt(process)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "the same command goes on from there" in said
    assert "Traceback" not in said
    before = rows(study)
    study.succeeds(*asked, "--starts", "2", "--processes", "1")
    assert rows(study)[: len(before)] == before


def test_every_and_both_requests_and_json(study: Bench) -> None:
    answer = json.loads(compare(study, "--every", "2d", "--requests", "both", "--reference", "one-job", "--json"))
    assert answer["reference"] == "one-job"
    assert answer["asked"]["every"] == 2 * 86400
    assert set(answer["by_trace"]) == {"made, real requests", "made, accurate requests"}
    starts = sorted({float(row["start_s"]) for row in rows(study)})
    assert [start - starts[0] for start in starts] == [2 * 86400 * number for number in range(len(starts))]
    assert starts[0] == 86400
    assert len(starts) > 2
    assert answer["runs"] == len(starts) * 2 * 2 * 3


def test_the_reference_takes_part(study: Bench) -> None:
    compare(study, "--starts", "1", "--reference", "big-job")
    assert {row["plan"] for row in rows(study)} == {"one-job", "one-job-per-task", "level-by-level", "big-job"}


def test_mistakes(study: Bench, tmp_path: Path) -> None:
    asked = ("compare", "--traces", "made.swf", "--workflows", "m.json", "--out", "out")
    assert "'one-job'" in study.fails(2, *asked, "--plans", "one-jobb")
    assert "exclude each other" in study.fails(2, *asked, "--starts", "2", "--every", "1d")
    assert "too little" in study.fails(2, *asked, "--warm-up", "9000d")
    assert "--traces" in study.fails(2, "compare", "--workflows", "m.json", "--out", "out")
    assert "none.swf" in study.fails(2, *asked, "--traces", "none.swf")
    assert "no folder is named for the results" in study.fails(2, *asked[:-2])
    assert "add --pool" in study.fails(2, *asked, "--arrivals", "1h")
    write_workflow(tmp_path / "m.json", seed=2)
    assert "same name" in study.fails(2, *asked, "--workflows", str(tmp_path / "m.json"))
    study.write("{}", "bad.json")
    assert "bad.json" in study.fails(2, *asked, "--workflows", "bad.json")
    assert not (study.directory / "out").exists()
    study.write("x,y\n", "out/runs.csv")
    assert "another kind" in study.fails(2, *asked, "--warm-up", "1d")


def test_compare_and_plan_simulate_the_same_queue_by_default() -> None:
    assert (CompareSettings().backfill, CompareSettings().most_jobs) == (PlanSettings().backfill, USUAL_MOST_JOBS)


def test_workflows_that_arrive_in_one_pool_and_apart(study: Bench) -> None:
    asked = ("compare", "--pool", "--traces", "made.swf", "--workflows", "m.json", "c.json", "--warm-up", "1d")
    found = study.json(*asked, "--starts", "2", "--every", "10m")
    assert found["arrivals_s"] == [0.0, 600.0]
    assert len(found["cells"]) == 2
    for cell in found["cells"]:
        alone, apart, pooled = cell["ways"]
        assert [way["way"] for way in cell["ways"]] == ["alone", "apart", "pooled"]
        assert alone["fairness"] == alone["worst"] == 1.0
        assert alone["used_core_hours"] == pytest.approx(apart["used_core_hours"])
        assert alone["used_core_hours"] == pytest.approx(pooled["used_core_hours"])
        assert [each["workflow"] for each in cell["workflows"]] == ["m", "c"]
        assert pooled["mean_s"] == pytest.approx(sum(each["pooled_s"] for each in cell["workflows"]) / 2)
    text = study.succeeds(*asked, "--starts", "1", "--seed", "3")
    assert "pooled, the mean response time is" in text
    assert text == study.succeeds(*asked, "--starts", "1", "--seed", "3"), "arrivals are drawn from the seed"
    for more, words in (
        (("--every", "1h", "--arrivals", "1h"), "exclude each other"),
        (("--plans", "headway,one-job"), "a pool has one plan"),
        (("--out", "o"), "this is for comparisons of plans"),
    ):
        refused = study(*asked, *more)
        assert refused.returncode == 2, refused.stderr
        assert words in refused.stderr
