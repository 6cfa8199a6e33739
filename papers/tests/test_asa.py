"""Souza et al. 2020: Tables 1 and 2 in simulated queues."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from headway.model.errors import InputError
from headway.waiting.asa import ALTERNATIVES_S, Asa
from headway.waiting.base import Shape
from headway_papers.asa import machines
from headway_papers.asa.accuracy import MOMENTS, SUBMISSIONS, accuracy_of
from headway_papers.asa.comparing import Pairs, pairs_of, published_closing, share_closed, standing
from headway_papers.asa.machines import HPC2N, MACHINES, QUEUES, UPPMAX, Calibrated, Calibration, calibrate, fresh
from headway_papers.asa.published import BIG_JOB, BLAST, MONTAGE, PER_STAGE, TABLE_1, TABLE_2, WORKFLOWS
from headway_papers.asa.report import document, report
from headway_papers.asa.shapes import instance, stages
from headway_papers.asa.study import Results, Size, run_study
from headway_papers.asa.units import (
    AT_ONCE,
    NAIVE,
    PRINTED,
    Done,
    Longest,
    Row,
    Unit,
    carry_out,
    covered_s,
    starts_s,
    strategies,
)
from headway_papers.asa.verdicts import JUDGED, verdicts_on
from headway_papers.cli.reproduce import command as reproduce
from headway_papers.frame.ledger import Ledger
from headway_papers.frame.page import page
from headway_papers.frame.text import lines_of

CELLS = [(workflow, cores, it) for workflow in WORKFLOWS for it in MACHINES.values() for cores in it.cores]


# --- the paper ---


def test_the_tables_have_54_runs() -> None:
    assert set(TABLE_1) == set(TABLE_2) == {(workflow, cores) for workflow, cores, _ in CELLS}
    assert sum(len(row) for row in TABLE_1.values()) == 54
    assert TABLE_1[MONTAGE, 640][PER_STAGE].run_s == 1600
    closed, asa, big_job = published_closing()
    assert 0.9 < closed < 1.0
    assert asa == pytest.approx(1.0, abs=0.02)
    assert big_job == pytest.approx(1.43, abs=0.03)  # "a 43% reduction" in §6


@pytest.mark.parametrize(("workflow", "cores", "machine"), CELLS)
def test_stages_take_as_long_as_in_table_1(workflow: str, cores: int, machine: machines.Machine) -> None:
    found = stages(workflow, cores, machine.cores_of_node)
    measured = TABLE_1[workflow, cores][PER_STAGE]
    assert sum(stage.run_s for stage in found) == pytest.approx(measured.run_s, abs=2.5)
    assert max(stage.nodes for stage in found) * machine.cores_of_node == cores
    assert len(found) == (2 if workflow == BLAST else 4)
    assert all(stage.run_s > 0 for stage in found)
    # With one core for what is sequential the core-hours are the paper's, but for Statistics on one node.
    charged = sum(stage.run_s * (cores if (at % 2 == 0) == (workflow != "Statistics") else 1)
                  for at, stage in enumerate(found)) / 3600  # fmt: skip
    if (workflow, cores) != ("Statistics", 28):
        assert charged == pytest.approx(measured.core_hours, rel=0.08)


def test_a_stage_waits_for_all_of_the_one_before() -> None:
    made = instance(MONTAGE, 112, 28)
    assert made.workflow.widths() == [4, 1, 4, 1]
    assert set(made.workflow.tasks["stage-2-1"].parents) == {f"stage-1-{node}" for node in range(1, 5)}
    assert {seen.cores for seen in made.recorded.values()} == {28.0}


def test_the_model_longest_always_predicts_the_longest_wait() -> None:
    model, shape = Longest(), Shape(4, 600.0)
    model.observe(shape, {}, 5.0)
    assert model.predict(shape).wait_s == model.quantiles(shape, [0.5])[0] == ALTERNATIVES_S[-1]


# --- queues and runs ---


@pytest.fixture
def short_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "JOBS", 1200)


@pytest.mark.usefixtures("short_logs")
def test_a_load_is_found_that_makes_jobs_wait_as_long_as_wanted() -> None:
    found = calibrate(Calibration("UPPMAX", 0, "fcfs"))
    assert found == calibrate(Calibration("UPPMAX", 0, "fcfs"))
    assert found.waits_h[640] == pytest.approx(UPPMAX.wanted_h, rel=0.3)
    assert list(found.waits_h) == [160, 320, 640]


def test_rules_for_dependent_jobs_are_tried_only_in_queues_with_reservations() -> None:
    assert ("asa", "slurm") in strategies("conservative")
    assert {rule for _, rule in strategies("fcfs")} == {"reserved"}
    assert {plan for plan, _ in strategies("fcfs")} == {plan for plan, _ in strategies("conservative")}


@pytest.mark.usefixtures("short_logs")
def test_starts_are_the_same_for_all_strategies_and_have_every_cell_each_time_around() -> None:
    begun = starts_s(Unit("HPC2n", 3, "fcfs", 0.4, "asa", "reserved", 2))
    assert begun == starts_s(Unit("HPC2n", 3, "fcfs", 0.4, BIG_JOB, "reserved", 2))
    for repeat in range(2):
        cells = [(workflow, cores) for workflow, cores, turn, _ in begun if turn == repeat]
        assert sorted(cells) == sorted((workflow, cores) for workflow in WORKFLOWS for cores in HPC2N.cores)
    times = [at for *_, at in begun]
    assert times == sorted(set(times))


@pytest.mark.usefixtures("short_logs")
def test_core_hours_and_waits_of_runs() -> None:
    rows = {
        plan: carry_out(Unit("HPC2n", 0, "conservative", 1.1, plan, "reserved", 1)).rows
        for plan in (BIG_JOB, PER_STAGE, AT_ONCE, NAIVE, PRINTED)
    }
    for at, big in enumerate(rows[BIG_JOB]):
        shape = stages(big.workflow, big.cores, HPC2N.cores_of_node)
        needed = sum(stage.nodes * stage.run_s for stage in shape) * HPC2N.cores_of_node / 3600
        whole_s = sum(stage.run_s for stage in shape)
        assert big.core_hours == pytest.approx(big.cores * whole_s / 3600)
        for plan in (PER_STAGE, AT_ONCE, PRINTED):
            one = rows[plan][at]
            assert (one.workflow, one.cores, one.start_s) == (big.workflow, big.cores, big.start_s)
            assert one.core_hours == pytest.approx(needed)
            assert one.idle_core_hours == pytest.approx(0.0, abs=1e-9)
            assert one.perceived_wait_s == pytest.approx(one.makespan_s - whole_s)
            assert one.jobs == len(shape)
            assert one.total_wait_s == pytest.approx(one.perceived_wait_s), "from the predecessor's end"
        assert rows[NAIVE][at].jobs >= len(shape) + rows[NAIVE][at].early


@pytest.mark.usefixtures("short_logs")
def test_sixty_submissions_with_a_shared_state_that_stays_as_it_was() -> None:
    queue = fresh(HPC2N, 0, 1.1, "conservative")
    queue.advance(86400.0 * 4)
    model = Asa()
    before = model.state()
    found = accuracy_of(HPC2N, queue, model, 0)
    assert model.state() == before
    assert len(found) == MOMENTS * len(WORKFLOWS) * len(HPC2N.cores)
    for it in found:
        assert 0 <= it.hit <= 1
        assert it.real_h >= 0
        assert it.perceived_h <= it.real_h + 1e-9
        assert it.overhead_core_hours == pytest.approx(it.cores * (it.said_h - it.real_h + it.perceived_h), abs=1e-6)
        assert it.hit * SUBMISSIONS == pytest.approx(round(it.hit * SUBMISSIONS))


spans = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)).map(lambda it: (it[0], it[0] + it[1])), max_size=8)


@given(spans)
def test_covered_is_the_length_of_the_union(found: list[tuple[int, int]]) -> None:
    assert covered_s(found) == len({second for begin, end in found for second in range(begin, end)})


# --- comparisons ---


def row(makespan_s: float, core_hours: float = 10.0, status: str = "succeeded") -> Row:
    return Row(MONTAGE, 28, 0, 0.0, status, makespan_s, 0.0, 0.0, core_hours, 0.0, 1, 0)


def test_a_standing_by_hand() -> None:
    pairs = Pairs("asa", "reserved", [row(200), row(200)], [row(400), row(400)], [row(100), row(100)], [("a",), ("b",)])
    found = standing(pairs)
    assert found.ratio.mean == pytest.approx(0.5)
    assert found.closes is not None
    assert found.closes.mean == pytest.approx(0.5)
    assert found.name == "asa, reserved"
    unsure = standing(Pairs("asa", "reserved", pairs.rows, [row(400), row(100)], pairs.big_job, pairs.clusters))
    assert unsure.closes is None and unsure.gap.mean > 0, "there is a gap in one of two queues"
    none = standing(Pairs("headway", "reserved", [row(50)], [row(100)], [row(100)], [("a",)]))
    assert none.closes is None
    assert none.ratio.mean == pytest.approx(0.5)


def test_share_closed_needs_a_gap_in_the_sample() -> None:
    found = share_closed([0.5, 0.0, 0.5], [1.0, 0.0, 1.0], ["a", "b", "c"])
    assert (found.mean, found.low, found.high) == (0.5, 0.5, 0.5)


# --- all of it ---


def test_the_command_is_known_and_refuses_what_contradicts_itself() -> None:
    assert "asa" in CliRunner().invoke(reproduce, ["--help"]).output
    refused = CliRunner().invoke(reproduce, ["asa", "--full", "--traces", "2"]).exception
    assert isinstance(refused, InputError)
    assert "--traces" in str(refused)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, Path]:
    file = tmp_path_factory.mktemp("asa") / "units.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machines, "JOBS", 1000)
        return run_study(Size(1, 1, 2), 0, file, processes=1), file


def test_a_whole_small_study(results: tuple[Results, Path]) -> None:
    found, _ = results
    assert len(found.calibrated) == len(QUEUES) * len(MACHINES)
    assert {row.status for done in found.done for row in done.rows} == {"succeeded"}
    told = verdicts_on(found)
    assert sum("claim of Souza et al. 2020" in it.about for it in told) == 2 * (1 + len(QUEUES))
    assert told[0].passed
    assert not any("gap" in it.about for it in told), "its share says nothing where the gap is small"
    assert len(told) == 1 + (len(JUDGED) + 2) * (1 + len(QUEUES))
    for pairs in pairs_of(found.done):
        assert len(pairs.rows) == len(TABLE_1) * (len(QUEUES) if pairs.dependency == "reserved" else 1)


def test_words_page_and_document(results: tuple[Results, Path]) -> None:
    found, _ = results
    text = "\n".join(str(line) for line, _ in lines_of(report(found), 150))
    for words in ("Figure 5", "Theorem 1", "UPPMAX, fcfs", "Table 1, conservative", "Statistics 640", "Table 2, fcfs"):
        assert words in text
    html = page(report(found))
    assert html.startswith("<!DOCTYPE html>")
    assert "http" not in html
    answer = document(found)
    assert len(answer["published"]["table_1"]) == len(answer["stages"]) == 18
    assert len(answer["units"]) == len(found.done)


def test_what_is_known_is_not_run_again(results: tuple[Results, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    found, file = results
    text = file.read_text()
    file.write_text(text + '{"type":"Done","un')  # as a crash leaves it
    monkeypatch.setattr("headway_papers.asa.study.carry_out", None)
    monkeypatch.setattr("headway_papers.asa.study.calibrate", None)
    again = run_study(found.size, 0, file, processes=1)
    assert (again.done, again.calibrated) == (found.done, found.calibrated)
    assert file.read_text() == text


def test_a_ledger_of_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "units.jsonl"
    file.write_text('{"type":"Row"}\n')
    with pytest.raises(InputError, match="no result"):
        Ledger(Calibrated | Done, file)


def test_results_go_into_the_ledger_as_they_come(tmp_path: Path) -> None:
    file = tmp_path / "units.jsonl"
    known = Calibrated("HPC2n", 0, "fcfs", 0.4, {28: 1.0})
    Ledger(Calibrated | Done, file).add(known)
    ledger: Ledger[Calibrated | Done] = Ledger(Calibrated | Done, file)
    assert ledger.found == {Calibration("HPC2n", 0, "fcfs"): known}
