"""Zunker 2021: worlds, courses, figures and statements, on small worlds, and on the traces where they are."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs

from headway.drivers.assemble import allocator_of
from headway.drivers.run_settings import DEFAULT_SIZER
from headway.model.errors import InputError
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.records import Launch, TaskEnded
from headway.model.resources import Resources
from headway.sizing.agents.ladder_malleable import LadderMalleable
from headway.studies.paired import Interval
from headway_papers.cli.rl import command
from headway_papers.frame.ledger import Ledger
from headway_papers.frame.page import page
from headway_papers.frame.text import lines_of
from headway_papers.rl import courses, pipelines, units
from headway_papers.rl.courses import APPROACHES, DEFAULT, LOOP, OURS, STATED, Approach, course, figures_of
from headway_papers.rl.figures import added, ratio, totals
from headway_papers.rl.pipelines import NAMES, find_pipelines, generated
from headway_papers.rl.report import document, report
from headway_papers.rl.statements import ABSTRACT, CLAIMS, CPU, GOALS, NOT_WORSE, Claim, Statement, statements
from headway_papers.rl.study import MAIN, Asked, Results, run_study
from headway_papers.rl.units import AS_THESIS, Done, Unit, carry_out
from headway_papers.rl.worlds import AMDAHL, BEYOND_AMDAHL, LAWS, MACHINE, World, world_of

SPREAD = "evenly spread"


@pytest.fixture(autouse=True)
def no_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pipelines are generated, whatever traces there are."""
    monkeypatch.delenv("HEADWAY_DATA", raising=False)
    units._pipelines.cache_clear()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes a pipeline, and short courses."""
    monkeypatch.setattr(pipelines, "_GENERATED", 2)
    monkeypatch.setattr(units, "COUNTED", 2)
    for name, approach in APPROACHES.items():
        monkeypatch.setitem(APPROACHES, name, Approach(name, 3, approach.allocator))


def world(seed: int = 0, requests: float = 1.0) -> World:
    return world_of(generated("eager"), SPREAD, seed, requests)


def test_without_traces_pipelines_are_generated_and_a_sentence_says_so() -> None:
    found = find_pipelines()
    assert [pipeline.name for pipeline in found.pipelines] == list(NAMES)
    assert not any(pipeline.measured for pipeline in found.pipelines)
    assert "HEADWAY_DATA is not set" in found.missing[0]
    for process in found.pipelines[0].processes:
        assert all(peak <= process.memory_bytes for _, peak in process.runs)


@pytest.mark.skipif("HEADWAY_DATA" not in os.environ, reason="HEADWAY_DATA names no folder of logs")
def test_the_traces_are_the_pipelines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_DATA", DATA)
    found = find_pipelines()
    assert not found.missing and all(pipeline.measured for pipeline in found.pipelines)
    sizes = {pipeline.name: len(pipeline.processes) for pipeline in found.pipelines}
    assert sizes == {"eager": 19, "chipseq": 48, "rnaseq": 54, "methylseq": 13, "sarek": 27}
    bwa = next(process for process in found.pipelines[0].processes if process.name == "bwa")
    assert (bwa.cores, bwa.memory_bytes, bwa.tasks) == (8, 16 * 2**30, 137)


DATA = os.environ.get("HEADWAY_DATA", "")


def test_a_world_is_drawn_once_and_its_runs_differ_a_little() -> None:
    one, again, other = world(), world(), world(1)
    assert one == again != other
    first, second = one.works_of_run(0), one.works_of_run(1)
    assert first == one.works_of_run(0) != second
    for task, work in first.items():
        assert work.one_core_s == pytest.approx(one.works[task].one_core_s, rel=0.4)
        assert work.parallel == one.works[task].parallel
    held = sum(task.hints["cores"] * one.works[task.id].run_s(task.hints["cores"]) for task in one.tasks)
    assert held == pytest.approx(600 * 32)


def test_requests_are_multiplied_as_far_as_the_machine_goes() -> None:
    for before, after in zip(world().tasks, world(requests=4.0).tasks, strict=True):
        assert after.hints["memory_bytes"] == pytest.approx(min(4 * before.hints["memory_bytes"], 125e9), rel=1e-6)


def test_fractions_are_shares() -> None:
    for law in LAWS:
        works = world_of(generated("sarek"), law, 3).works.values()
        assert all(0 <= work.parallel < 1 for work in works)


def test_programs_that_do_not_obey_the_law() -> None:
    capped, waiting, bound = (list(world_of(generated("sarek"), law, 0).works.values()) for law in BEYOND_AMDAHL)
    assert all(2 <= work.most_threads <= 8 for work in capped + bound)
    assert all(work.run_s(8) == work.run_s(32) for work in capped + bound)
    assert all(work.busy_cores(32) == 32 for work in waiting + bound)
    assert all(work.busy_cores(32) < 9 for work in capped)


@pytest.mark.parametrize("law", sorted(BEYOND_AMDAHL))
def test_ours_is_not_misled_by_them(law: str) -> None:
    own = world_of(generated("chipseq"), law, 0, 4.0)
    ours, default = (course(own, Approach(name, 12, APPROACHES[name].allocator))[-1] for name in (OURS, DEFAULT))
    assert ours.cpu_hours < 1.05 * default.cpu_hours


def test_figures_by_hand() -> None:
    given = Resources(cores=4, memory_bytes=8 * 10**9)
    used = Usage(memory_bytes=Measured(2e9, Quality.EXACT), cores_average=Measured(3.0, Quality.EXACT))
    journal = [
        Launch(10.0, "t", 1, "n", "j", given, "", {}),
        TaskEnded(1810.0, Outcome("t", 1, Ending.MEMORY, 10.0, 1810.0, used)),
        Launch(1810.0, "t", 2, "n", "j", given, "", {}),
        TaskEnded(5410.0, Outcome("t", 2, Ending.SUCCESS, 1810.0, 5410.0, used)),
    ]
    found = figures_of(journal)
    assert (found.cpu_hours, found.effective_cpu_hours, found.memory_gb_hours) == (6.0, 4.5, 12.0)
    assert (found.used_gb_hours, found.memory_use, found.run_s) == (2.0, 0.25, 5400.0)
    assert (found.attempts, found.killed, found.tasks) == (2, 1, 1)


@pytest.mark.parametrize("name", sorted(APPROACHES))
def test_every_approach_gets_through_and_the_same_course_is_the_same(small: None, name: str) -> None:
    one = course(world(), APPROACHES[name])
    assert one == course(world(), APPROACHES[name])
    assert len(one) == 3
    assert all(run.tasks == len(world().tasks) for run in one)
    assert all(0 < run.effective_cpu_hours <= run.cpu_hours for run in one)


def test_the_loop_trains_with_everything_and_then_gives_less(small: None) -> None:
    approach = Approach(LOOP, 11, courses.APPROACHES[LOOP].allocator)
    runs = course(world(requests=4.0), approach)
    assert runs[0].memory_gb_hours == pytest.approx(runs[0].run_s * MACHINE.memory_bytes / 3600e9, rel=1e-6)
    assert runs[10].memory_gb_hours < 0.5 * runs[0].memory_gb_hours


def test_ratios_and_statements_by_hand() -> None:
    base = figures_of([])
    one = {(0, "a"): structs.replace(base, cpu_hours=2.0), (0, "b"): structs.replace(base, cpu_hours=4.0)}
    two = {cell: structs.replace(each, cpu_hours=8.0) for cell, each in one.items()}
    found = ratio(CPU, one, two)
    assert found.mean == 6.0 / 16.0
    assert found.low is not None and found.high is not None and 0.25 <= found.low <= 0.375 <= found.high <= 0.5
    less, more = Claim("x", "y", CPU, True), Claim("x", "y", CPU, False)
    ratios = {"u": Interval(0.9, None, None), "v": Interval(1.1, None, None)}
    assert Statement(less, ratios).holds == [True, False]
    assert Statement(more, ratios).holds == [False, True]
    assert not Statement(less, ratios).held and Statement(less, {"u": ratios["u"]}).held
    assert added([structs.replace(base, memory_use=0.5, tasks=1), structs.replace(base, memory_use=0.2, tasks=2)]) == (
        structs.replace(base, memory_use=0.3, tasks=3)
    )


@pytest.fixture
def results(small: None, tmp_path: Path) -> Results:
    path = tmp_path / "courses.jsonl"
    found = run_study(Asked(1), path, processes=1)
    text = path.read_text()
    path.write_text(text + '{"unit": {"cut off')
    again: Ledger[Done] = Ledger(Done, path)
    assert again.found == {done.unit: done for done in found.done}
    assert path.read_text() == text
    return found


def test_the_whole_experiment_in_small(results: Results) -> None:
    assert len(results.done) == (len(LAWS) + len(AMDAHL)) * len(NAMES) * len(MAIN)
    found = totals(results.done, AS_THESIS, SPREAD)
    assert list(found) and set(found) == set(MAIN)
    tables = "\n".join(str(line) for line, _ in lines_of(report(results), 150))
    for words in (
        "Figures 5.1 and 5.2",
        "Figure 5.3",
        "Figure 5.4",
        "Not by Amdahl's law: busy-waiting",
        "Under every law",
        "ladder < ",
        "loop, memory",
    ):
        assert words in tables
    told = json.loads(json.dumps(document(results)))
    assert len(told["statements"]) == 2 * len(CLAIMS) and len(told["bar"]) == 2 * len(GOALS)
    assert all(statement["held"] == all(statement["holds"].values()) for statement in told["statements"])
    assert len(statements(results.done, AS_THESIS)) == len(CLAIMS)
    assert len(told["verdicts"]) == ABSTRACT + 2 * len(GOALS) + len(NOT_WORSE)
    shown = page(report(results))
    assert shown.count("<svg") == 2 * (3 + 3 * len(AMDAHL)) + 3 * len(BEYOND_AMDAHL) and "<script" not in shown


def test_a_unit_is_the_same_wherever_it_is_carried_out(small: None) -> None:
    unit = Unit(AS_THESIS, SPREAD, "eager", 0, DEFAULT)
    done = carry_out(unit)
    assert structs.replace(done, cpu_s=0.0) == structs.replace(carry_out(unit), cpu_s=0.0)
    assert unit != Unit(AS_THESIS, SPREAD, "eager", 0, DEFAULT, measured=False), "results are not mixed up"
    assert isinstance(done, Done) and len(done.counted) == 2 and len(done.training) == 1


class _AllMalleable(LadderMalleable):
    name = OURS  # by which it draws


def test_ours_is_what_a_run_with_our_default_does(small: None) -> None:
    assert type(APPROACHES[OURS].allocator(world())) is type(allocator_of(DEFAULT_SIZER, 0))
    assert all(task.malleable for task in world().tasks)
    chosen, stated = (course(world(), APPROACHES[name])[-1] for name in (OURS, STATED))
    as_malleable = course(world(), Approach("", 3, lambda world: _AllMalleable(world.seed)))[-1]
    assert chosen == as_malleable != stated, "where all tasks are malleable, the two are the same"


def test_ours_needs_less_memory_than_the_request(small: None) -> None:
    runs = {name: course(world(requests=4.0), APPROACHES[name])[-1] for name in (DEFAULT, OURS)}
    assert runs[OURS].memory_gb_hours < runs[DEFAULT].memory_gb_hours


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--full", "--worlds", "3"], "--full has its own number"),
        (["--small"], "are for --real"),
        (["--runs", "3"], "are for --real"),
    ],
)
def test_options_that_do_not_go_together(
    words: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # no examples there, nor are they needed
    with pytest.raises(InputError, match=complaint):
        CliRunner().invoke(command, words, standalone_mode=False, catch_exceptions=False)


def test_real_runs_need_the_examples(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no example match here"):
        CliRunner().invoke(
            command, ["--real", "--examples", str(tmp_path)], standalone_mode=False, catch_exceptions=False
        )
