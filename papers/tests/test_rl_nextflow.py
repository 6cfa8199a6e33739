"""Zunker 2021 in a real Nextflow: runs that learn from those before, a study that goes on, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests import nextflow as real

from headway.model.errors import InputError, SiteError
from headway_papers.cli.rl import command
from headway_papers.rl import nextflow, nextflow_report
from headway_papers.rl.courses import DEFAULT, OURS, RunFigures
from headway_papers.rl.nextflow import APPROACHES, Courses, Measured, PipelineRun
from headway_papers.rl.statements import ABSTRACT, NOT_WORSE

SMALL = ["--real", "--nextflow", "--small", "--runs", "2", "--json"]


def run(*words: str) -> Result:
    return CliRunner().invoke(command, words, catch_exceptions=False)


def figures(cpu_hours: float) -> RunFigures:
    return RunFigures(cpu_hours, cpu_hours, 1.0, 0.5, 0.5, 60.0, 9, 1, 8)


def test_learners_remember_from_run_to_run_and_the_study_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if obstacle := real.get():
        pytest.skip(obstacle)
    for name, value in real.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    for module in (nextflow, nextflow_report):
        monkeypatch.setattr(module, "APPROACHES", (DEFAULT, OURS))
    about_both = [claim for claim in NOT_WORSE if claim.other == DEFAULT]
    for claims in ("CLAIMS", "NOT_WORSE"):
        monkeypatch.setattr(nextflow_report, claims, about_both)
    first = run(*SMALL, "--out", str(tmp_path / "out"))
    assert first.exit_code == 0, first.stderr
    courses = json.loads(first.stdout)["courses"]
    assert [(each["unit"]["approach"], each["unit"]["number"]) for each in courses] == [
        (approach, number) for number in (1, 2) for approach in (DEFAULT, OURS)
    ]
    assert all(each["figures"]["tasks"] == 8 for each in courses)
    begun, learned = (each["figures"]["memory_use"] for each in courses if each["unit"]["approach"] == OURS)
    assert learned > 1.5 * begun, "the second run knows what the first one used"
    stated = [each["figures"]["memory_use"] for each in courses if each["unit"]["approach"] == DEFAULT]
    assert stated[0] == pytest.approx(stated[1], rel=0.2)
    monkeypatch.setenv("PATH", "/nowhere")  # all runs are in the ledger: none is started
    assert json.loads(run(*SMALL, "--out", str(tmp_path / "out")).stdout)["courses"] == courses
    with pytest.raises(SiteError, match=r"run 1 of the pipeline under default failed: .* no program 'nextflow'"):
        run(*SMALL)


def test_the_tables_show_the_course_and_what_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        Measured(PipelineRun(approach, number, 0, False), figures(2.0 if approach == DEFAULT and number > 10 else 1.0))
        for number in range(1, 21)
        for approach in APPROACHES
    ]
    report = nextflow_report.nextflow_report(Courses(found, 20, 0, 1.0))
    totals, times, memory, statements = report.sections
    assert totals.title.endswith("runs 11 to 20")
    assert [row[:2] for row in totals.rows][:2] == [[DEFAULT, "72,000.0"], ["gradient-bandit", "36,000.0"]]
    assert [title for group, title in times.heads if group == "CPU seconds"] == ["1-5", "6-10", "11-15", "16-20"]
    assert times.rows[0][1:5] == ["3,600.0", "3,600.0", "7,200.0", "7,200.0"]
    assert memory.rows[0][-1] == "1.0"
    assert statements.rows[0] == ["bandit < default, CPU h", "-42%", "-50 [-50,-50]", "yes"]
    assert len(report.verdicts) == ABSTRACT + len(NOT_WORSE)
    assert str(report.verdicts[0]).endswith("default's in Nextflow: between 0.50 and 0.50; the thesis: 0.58")
    assert all(verdict.passed for verdict in report.verdicts)


def test_mistakes() -> None:
    with pytest.raises(InputError, match="--nextflow, --runs and --small are for --real"):
        run("--nextflow")
