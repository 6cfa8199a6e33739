"""Witt et al. 2019: estimates, predictors, figures and verdicts on scenarios made by hand, and a small study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from headway.model.errors import InputError
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import Context
from headway_papers.cli.feedback import command
from headway_papers.feedback import verdicts
from headway_papers.feedback.entrants import EVERY_PAIR, EXACT, FIFO, LFF, OUR_EXACT, TTFS, is_published
from headway_papers.feedback.figures import (
    MAKESPAN,
    MAQ,
    Case,
    cases_of,
    dominators,
    group_means,
    in_use,
    order_wins,
    pair_wins,
)
from headway_papers.feedback.statements import statements
from headway_papers.feedback.study import run_study
from headway_papers.feedback.units import Done, Row, Unit, carry_out
from headway_papers.feedback.workflows import estimated, with_estimates, workflow
from headway_papers.fixed_pool.runs import recorded_in_pool
from headway_papers.frame.ledger import Ledger
from paper_rule import as_published

GB = 10**9


@pytest.mark.parametrize(
    ("estimate", "peak_gb", "said_gb"),
    [
        ("power-2", 1.2, 1),  # the paper's example
        ("power-2", 0.3, 1),
        ("power-2", 700, 512),
        ("power-2", 800, 1024),
        ("power-10", 300, 100),
        ("power-10", 700, 1000),
        ("max+20%", 100, 120),  # the paper's example: 1.2 times
        ("max+50%", 100, 150),
    ],
)
def test_users_estimates(estimate: str, peak_gb: float, said_gb: float) -> None:
    assert estimated(round(peak_gb * GB), estimate) == said_gb * GB


def test_every_task_of_a_category_has_the_same_estimate_and_none_is_beyond_the_pool() -> None:
    made = with_estimates(workflow("sipht", 0, tasks=100), "max+50%")
    by_category: dict[str, set[float]] = {}
    for task in made.workflow:
        by_category.setdefault(task.category, set()).add(task.hints["memory_bytes"])
        assert task.hints["memory_bytes"] >= min(1_952 * GB, made.recorded[task.id].memory_bytes or 0)
    assert all(len(amounts) == 1 for amounts in by_category.values())
    assert max(max(amounts) for amounts in by_category.values()) <= 1_952 * GB


def test_a_guess_that_failed_is_followed_by_the_prediction_and_a_prediction_by_its_double() -> None:
    """Witt et al. 2019, section III-B."""
    sizer = as_published("percentile-95")("memory_bytes")
    context = Context(Resources(cores=8, memory_bytes=100 * GB))
    task = Task("t", "c", "true", hints={"memory_bytes": 4 * GB})
    assert sizer.predict(task, [4 * GB], context).value == 8 * GB  # nothing is learned yet
    usage = Usage(memory_bytes=Measured(5 * GB, Quality.EXACT))
    sizer.observe(Task("s", "c", "true"), Outcome("s", 1, Ending.SUCCESS, 0.0, 1.0, usage))
    assert sizer.predict(task, [4 * GB], context).value == 5 * GB
    assert sizer.predict(task, [5 * GB], context).value == 10 * GB
    assert sizer.predict(task, [4 * GB, 8 * GB], context).value == 16 * GB  # the prediction would be no more


def case(rows: dict[tuple[str, str], tuple[float, float]], number: int = 0, ttf: float = 0.5) -> Case:
    found = {pair: Row(ttf, *pair, quality, length * 86400.0, 1000) for pair, (quality, length) in rows.items()}
    return Case("montage", number, ttf, found)


def test_wins_count_ties_for_each_and_an_order_once() -> None:
    rows = {
        (FIFO, "PC 50"): (0.5, 7.0),
        (FIFO, "PC 95"): (0.7, 6.0),
        (LFF, "PC 95"): (0.7, 6.0),
        (LFF, "LR"): (0.6, 8.0),
    }
    assert pair_wins([case(rows)], MAKESPAN) == {(FIFO, "PC 95"): 1, (LFF, "PC 95"): 1}
    assert order_wins([case(rows), case(rows, 1)], MAQ) == {FIFO: 2, LFF: 2}
    assert pair_wins([case(rows)], MAKESPAN, worst=True) == {(LFF, "LR"): 1}
    assert pair_wins([case(rows)], MAQ, worst=True) == {(FIFO, "PC 50"): 1}


def test_our_combinations_do_not_count_among_the_papers_winners() -> None:
    rows = {(FIFO, "PC 50"): (0.5, 7.0), (FIFO, "ladder"): (0.9, 4.0), ("learning-rank", "PC 95"): (0.8, 5.0)}
    assert pair_wins([case(rows)], MAKESPAN) == {(FIFO, "PC 50"): 1}
    assert is_published((FIFO, "PC 50")) and not is_published((FIFO, "ladder"))


def test_to_dominate_is_to_be_better_on_both_by_group_means() -> None:
    ours = ("learning-rank", "ladder")
    first = case({ours: (0.8, 5.0), (FIFO, "PC 95"): (0.9, 4.0), (LFF, "PC 95"): (0.85, 6.0)})
    second = case({ours: (0.8, 5.0), (FIFO, "PC 95"): (0.6, 4.0), (LFF, "PC 95"): (0.85, 6.0)}, 1)
    assert dominators(group_means([first])["montage", 0.5], ours, is_published) == [(FIFO, "PC 95")]
    assert dominators(group_means([first, second])["montage", 0.5], ours, is_published) == []


def test_the_verdict_names_who_dominates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "OURS", ("learning-rank", "ladder"))
    rows = {("learning-rank", "ladder"): (0.8, 5.0), (FIFO, "PC 95"): (0.9, 4.0), ("rank", "ladder"): (0.7, 4.0)}
    published, with_our_sizer = verdicts.verdicts_on([case(rows)])
    assert not published.passed and published.value == 1 and "FIFO + PC 95" in published.detail
    assert with_our_sizer.passed


def test_users_who_know_all_peaks_are_not_among_the_papers_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = ("learning-rank", "ladder")
    monkeypatch.setattr(verdicts, "OURS", ours)
    rows = {ours: (0.8, 5.0), (FIFO, EXACT): (0.85, 4.5), (ours[0], OUR_EXACT): (0.9, 4.0), (FIFO, "PC 95"): (0.5, 9.0)}
    published, _ = verdicts.verdicts_on([case(rows)])
    assert published.passed
    sentence = verdicts.lead([case(rows)])[1]
    assert "dominate it in 1 of 1 groups" in sentence and sentence.endswith("with the same knowledge, in 0.")


def test_a_unit_has_every_scenario_and_the_pool_is_never_more_than_full() -> None:
    done = carry_out(Unit("sipht", 1, tasks=60))
    assert {row.pair for row in done.rows} == set(EVERY_PAIR)
    assert len(done.rows) == len(TTFS) * len(EVERY_PAIR)
    assert all(0 < in_use(row) <= 1 + 1e-9 and 0 < row.maq <= 1 and row.attempts >= 60 for row in done.rows)
    again = carry_out(Unit("sipht", 1, tasks=60))
    assert again.rows == done.rows
    row = next(row for row in done.rows if row.pair == ("learning-rank", "ladder") and row.ttf == 0.9)
    made = with_estimates(workflow("sipht", 1, tasks=60), "power-2")
    said = recorded_in_pool(made, "learning-rank", "ladder", 0.9)
    assert (said.attempts, said.makespan_s) == (row.attempts, pytest.approx(row.makespan_s))


def test_what_is_known_is_not_simulated_again_and_a_cut_line_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headway_papers.feedback import study

    made: list[Unit] = []

    def small(unit: Unit) -> Done:
        made.append(unit)
        return Done(unit, [Row(0.5, FIFO, "PC 50", 0.5, 1.0, 1)], 0.1)

    monkeypatch.setattr(study, "carry_out", small)
    path = tmp_path / "workflows.jsonl"
    first = run_study(2, 0, path, processes=1)
    assert len(made) == 10 and len(first.done) == 10
    path.write_text(path.read_text()[:-20])
    made.clear()
    again = run_study(2, 0, path, processes=1)
    assert len(made) == 1 and again.done == first.done
    path.write_text("{}\n")
    with pytest.raises(InputError, match="no result"):
        Ledger(Done, path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of workflows of 60 tasks, as if they were of 1,000."""
    path = tmp_path_factory.mktemp("feedback") / "workflows.jsonl"
    ledger: Ledger[Done] = Ledger(Done, path)
    for number in range(2):
        for family in ("cybershake", "epigenomics", "ligo", "montage", "sipht"):
            done = carry_out(Unit(family, number, tasks=60))
            ledger.add(Done(Unit(family, number), done.rows, done.cpu_s))
    return path.parent


def test_the_command_prints_and_writes_everything(folder: Path) -> None:
    run = CliRunner().invoke(command, ["--workflows", "2", "--out", str(folder), "--json"], catch_exceptions=False)
    said = json.loads(run.stdout)
    assert len(said["groups"]) == 15 and len(said["scenarios"]) == 10
    abouts = [it["about"] for it in said["verdicts"]]
    assert sum("claim of Witt et al. 2019" in about for about in abouts) == 2
    assert sum(about.startswith("groups of 15 in which") for about in abouts) == 2
    page = (folder / "feedback.html").read_text()
    assert all(f"Figure {number}" in page for number in range(3, 8)) and "http" not in page.replace("http-equiv", "")
    shown = CliRunner().invoke(command, ["--workflows", "2", "--out", str(folder)], catch_exceptions=False)
    assert "What the paper says, and what is found here" in shown.stdout and "would take about" in shown.stdout


def test_every_statement_has_what_was_found(folder: Path) -> None:
    known: Ledger[Done] = Ledger(Done, folder / "workflows.jsonl")
    cases = cases_of(list(known.found.values()))
    found = list(statements(cases))
    assert any("persevere" in it.paper for it in found) and any("PC 50 with postpone" in it.paper for it in found)
    assert all(it.ours for it in found)


def test_full_and_a_number_of_workflows_exclude_each_other() -> None:
    with pytest.raises(InputError, match="own number"):
        CliRunner().invoke(command, ["--full", "--workflows", "3"], catch_exceptions=False)
