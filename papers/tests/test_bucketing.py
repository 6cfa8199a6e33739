"""Phung and Thain 2024 in small: what is replayed, that figures add up, and the report."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from headway.model.errors import InputError
from headway.report.words import NOTHING
from headway.sizing.base import Sizer
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators.base import Attempt, Query, Start
from headway.testing import SizerContract
from headway_papers.bucketing.allocators import ENTRANTS, RIVALS, ExhaustiveByTaskNumber, MaxSeenOrMachine
from headway_papers.bucketing.cells import NEAREST, PLAIN, Cell, Job, Setting, _replay, run_cells
from headway_papers.bucketing.own_runs import own_run
from headway_papers.bucketing.published import Figure5, read_figure_5
from headway_papers.bucketing.report import document, report
from headway_papers.bucketing.study import Results, run_study
from headway_papers.bucketing.times import RECORDS, TIMED, Timing
from headway_papers.bucketing.workflows import GENERATED, LOGS, Found, Workflow, find_workflows
from headway_papers.frame.page import page
from headway_papers.frame.text import lines_of
from headway_papers.synthetic_logs import synthetic_log
from paper_cells import all_cells, generated_cells

ROWS = ["Normal", "Uniform"]
FIGURE = {
    "columns": ["whole", "greedy"],
    "rows": ROWS,
    "mem": [[0.1, 0.6], [0.2, 0.7]],
    "disk": [[0.1, 0.5], [0.2, 0.4]],
    "cores": [[0.3, 0.6], [0.2, 0.7]],
}


def few(tasks: int = 40, seeds: tuple[int, ...] = (0,)) -> list[Workflow]:
    return [
        Workflow(name, GENERATED, {seed: synthetic_log(name, seed, tasks) for seed in seeds}, name) for name in ROWS
    ]


@pytest.fixture
def results() -> Results:
    times = [Timing(name, records, 12.5, None) for name in TIMED for records in RECORDS]
    cells = [*all_cells(), *generated_cells()]
    return Results([0], False, 0.03, ["<nothing> is missing"], cells, [], times, 1.0)


def test_every_allocator_of_the_paper_is_in_it() -> None:
    assert len(RIVALS) == 7
    assert len({ENTRANTS[name].column for name in RIVALS}) == 7
    for name, entrant in ENTRANTS.items():
        sizer = entrant.make("memory_bytes")
        assert sizer.name == name or name in ("max-seen, exact", "ladder, any failures")


def test_a_cell_is_what_the_replay_says(tmp_path: Path) -> None:
    figure = msgspec.convert(FIGURE, Figure5)
    workflows = few()
    cells = run_cells([(workflow, [PLAIN]) for workflow in workflows], [0], figure, processes=1)
    assert len(cells) == len(ENTRANTS) * len(workflows)
    for cell in cells:
        job = Job(f"{cell.workflow} (generated)", cell.allocator, PLAIN, 0, 40)
        log = next(workflow for workflow in workflows if workflow.name == cell.workflow).logs[0]
        replayed = _replay(log, job)
        memory = cell.resources["memory"]
        assert memory.awe == pytest.approx(replayed.costs["memory_bytes"].awe)
        assert memory.fragmentation * 3600e9 == pytest.approx(replayed.costs["memory_bytes"].fragmentation)
        assert memory.failed * 3600e9 == pytest.approx(replayed.costs["memory_bytes"].failed)
        assert cell.attempts_per_task == replayed.attempts / 40
        assert cell.impossible == 0
    published = {(it.workflow, it.allocator): it.resources["disk"].published for it in cells}
    assert published["Uniform", "greedy-bucketing"] == 0.4
    assert published["Uniform", "ladder"] is None


def test_failures_are_bounded_for_ours_only() -> None:
    plan = [(workflow, [PLAIN]) for workflow in few()]
    free, bounded = (run_cells(plan, [0], None, processes=1, failures=share) for share in (1.0, 0.0))
    for one, other in zip(free, bounded, strict=True):
        assert one == other or one.allocator == "ladder"
    cells = {(it.workflow, it.allocator): it for it in free}
    assert all(cells[name, "ladder"].resources == cells[name, "ladder, any failures"].resources for name, _ in cells), (
        "with --failures any they are the same"
    )
    assert free != bounded


def test_several_seeds_are_averaged_and_processes_change_nothing() -> None:
    """Drawn logs differ with the seed, so all allocators are replayed on each; on a measured one those that draw."""
    workflows = [*few(seeds=(0, 1)), Workflow("same", "log", dict.fromkeys((0, 1), synthetic_log("Normal", 7, 40)))]
    plan = [(workflow, [Setting(5, "observed")]) for workflow in workflows]
    cells = run_cells(plan, [0, 1], None, processes=1)
    assert run_cells(plan, [0, 1], None, processes=2) == cells
    for cell in cells:
        by_seed = cell.resources["memory"].awe_by_seed
        assert cell.resources["memory"].awe == pytest.approx(sum(by_seed.values()) / len(by_seed))
        once = cell.workflow == "same" and "bucketing" not in cell.allocator.replace("quantized-bucketing", "")
        assert list(by_seed) == ([0] if once else [0, 1]), cell.allocator


def test_a_workflow_without_observed_failures_is_replayed_at_full_cost_only() -> None:
    log = synthetic_log("Normal", 0, 20)
    log.failed_after_s = {}
    found = Found([Workflow("coffea", "stand-in", {0: log})], None, None, [])
    cells = run_study(found, [0], full=True, processes=1).cells
    assert {cell.setting.ttf for cell in cells} == {"end"}
    assert {cell.setting.lag for cell in cells} == {0, 20, 100}


def test_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADWAY_DATA", raising=False)
    found = find_workflows([0], tasks=12)
    assert "HEADWAY_DATA is not set" in found.missing[0]
    quick = run_study(found, [0], full=False, processes=1)
    assert quick.settings(GENERATED) == [PLAIN, NEAREST]
    full = run_study(found, [0], full=True, processes=1)
    lags = {(setting.lag, setting.ttf) for setting in full.settings(GENERATED)}
    assert lags == {(lag, ttf) for lag in (0, 20, 100) for ttf in ("end", "observed")} | {(60, "observed")}
    assert document(quick)["verdicts"] == document(full)["verdicts"] == []


def test_a_folder_without_the_papers_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_DATA", str(tmp_path))
    found = find_workflows([0], tasks=12)
    assert {workflow.kind for workflow in found.workflows} == {GENERATED}
    assert f"there is no folder ipdps2024-bucketing in {tmp_path}" in found.missing[0]


@pytest.mark.parametrize(
    "text", ["[]", "{", json.dumps(FIGURE | {"mem": [[0.1]]}), json.dumps(FIGURE | {"disk": "much"})]
)
def test_a_file_without_the_published_figures_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "figure.json"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(str(path))):
        read_figure_5(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_figure_5(tmp_path / "none.json")


# --- what is made of the figures ---


def test_the_document_has_every_cell_and_verdict(results: Results) -> None:
    found = json.loads(json.dumps(document(results)))
    assert len(found["cells"]) == len(results.cells)
    first = found["cells"][0]
    assert (first["workflow"], first["allocator"], first["lag"], first["ttf"]) == ("Normal", "whole-machine", 0, "end")
    assert first["resources"]["memory"]["awe"] == 0.4
    assert first["resources"]["memory"]["awe_by_seed"] == {"0": 0.4}
    assert [verdict["passed"] for verdict in found["verdicts"]] == [True] * 18
    assert found["nearest"] == {"lag": 60, "ttf": "observed"}


def test_the_page_stands_alone_and_holds_the_figures(results: Results) -> None:
    text = page(report(results))
    assert not re.search(r"https?:|src=|href=|@import|url\(|<script|<link", text)
    assert "&lt;nothing&gt; is missing" in text
    assert text.count('class="pass"') == 18
    charts = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(charts) == 12, "three resources in four figures"
    for chart in charts:
        ElementTree.fromstring(chart)
    first = ElementTree.fromstring(charts[0])
    bars = first.findall(".//rect")
    assert len(bars) == len(LOGS) * len(ENTRANTS)
    heights = {float(bar.attrib["height"]) for bar in bars}
    assert heights == {80.0, 100.0, 140.0}, "0.4, 0.5 and 0.7 of 200 pixels"
    assert len(first.findall("g/line")) == len(LOGS) * len(RIVALS), "what the paper published"
    split = ElementTree.fromstring(charts[3])
    heights = {sum(float(rect.attrib["height"]) for rect in bar.findall("rect")) for bar in split.findall("g")}
    assert all(abs(height - 200.0) < 0.2 for height in heights)


def test_a_failed_verdict_is_seen(results: Results) -> None:
    cells = [*all_cells(ours=0.3), *generated_cells()]
    worse = report(msgspec.structs.replace(results, cells=cells))
    text = "\n".join(str(line) for line, _ in lines_of(worse, 100))
    assert "FAIL  -0.2 ≥ 0.08" in text
    assert "pass  0.05 ≤ 0.1" in text
    assert 'class="fail"' in page(worse)


@pytest.mark.parametrize("width", [60, 100, 160])
def test_tables_fit_their_screen(results: Results, width: int) -> None:
    lines = [str(line) for line, laid_out in lines_of(report(results), width) if laid_out]
    assert len(lines) > 50
    assert max(map(len, lines)) <= width
    ladder = next(line for line in lines if line.startswith("ladder"))
    assert "0.70" in ladder
    if width >= 100:
        assert ladder.split().count(NOTHING) == 7, "the paper does not have it"


# --- the paper's own logs ---

ATTEMPTS = """\
task_id,category,attempt,result,t_run_us,t_end_us,alloc_cores,alloc_memory_mb,alloc_disk_mb,used_cores,used_memory_mb,used_disk_mb,wall_time_s
1,default,1,RESOURCE_EXHAUSTION,0,36000000,1,1000,1000,1,1100,5,36
1,default,2,SUCCESS,40000000,400000000,2,2000,1000,1,1500,500,360
2,default,1,SUCCESS,10000000,370000000,2,4000,1000,2,1000,500,360
3,default,1,LOST,20000000,30000000,2,4000,1000,,,,
"""


def test_what_a_log_says_of_its_run(tmp_path: Path) -> None:
    path = tmp_path / "synthetic_normal_greedy.csv"
    path.write_text(ATTEMPTS)
    run = own_run(path, "Normal", "greedy-bucketing", msgspec.convert(FIGURE, Figure5))
    given = 1000 * 36 + 2000 * 360 + 4000 * 360
    assert run.awe["memory"] == pytest.approx((1500 + 1000) * 360 / given)
    assert run.failed["memory"] == pytest.approx(1000 * 36 / 3600e3)
    assert run.fragmentation["memory"] == pytest.approx((500 + 3000) * 360 / 3600e3)
    assert run.published == {"memory": 0.6, "disk": 0.5, "cores": 0.6}
    assert (run.tasks, run.attempts_per_task) == (3, 1.0)
    assert run.in_flight == 1, "0, 1, 2 and 1 were running when attempts started"
    assert run.cores_used == 1.5


def test_lowered_first_amounts_are_counted(tmp_path: Path) -> None:
    """Two that explore do not count; after them memory rises and falls, disk rises, cores stay as they are."""
    head, first = ATTEMPTS.splitlines()[0], "default,1,SUCCESS"
    rows = [
        f"1,{first},1,10000000,1,1000,1000,1,900,900,10",
        f"2,{first},2,20000000,1,1000,1000,1,500,900,10",
        f"3,{first},30000000,40000000,1,900,900,1,900,900,10",
        f"4,{first},31000000,40000000,1,950,910,1,500,900,10",
        f"5,{first},32000000,40000000,1,500,920,1,500,900,10",
    ]
    path = tmp_path / "log.csv"
    path.write_text("\n".join([head, *rows]))
    run = own_run(path, "Normal", "greedy-bucketing", msgspec.convert(FIGURE, Figure5))
    assert (run.lowered, run.first_amounts) == (1, 6)


@pytest.fixture
def real() -> Found:
    if not os.environ.get("HEADWAY_DATA"):
        pytest.skip("the paper's logs are where HEADWAY_DATA says, and it is not set")
    found = find_workflows([0], tasks=10)
    if found.figure_5 is None:
        pytest.skip("there is no ipdps2024-bucketing where HEADWAY_DATA says")
    return found


def test_the_papers_own_logs_give_the_published_figures(real: Found) -> None:
    assert real.folder and real.figure_5
    for workflow, stem, allocator, column in (
        ("Bimodal", "synthetic_bimodal", "greedy-bucketing", "greedy"),
        ("ColmenaXTB", "colmena-xtb", "max-seen", "max-seen"),
    ):
        run = own_run(real.folder / f"{stem}_{column}.csv.gz", workflow, allocator, real.figure_5)
        assert run.awe == pytest.approx(run.published, abs=1e-4)


def test_a_whole_machine_each_is_what_the_paper_measured(real: Found) -> None:
    """The one allocator that leaves no room for interpretation: the replay must give the figures of the paper."""
    chosen = [it for it in real.workflows if it.name in ("Normal", "ColmenaXTB") and it.kind == "log"]
    cells: list[Cell] = run_cells([(workflow, [PLAIN]) for workflow in chosen], [0], real.figure_5, processes=1)
    for cell in cells:
        if cell.allocator == "whole-machine":
            for share in cell.resources.values():
                assert share.awe == pytest.approx(share.published, abs=0.002)


class TestTaskNumbers(SizerContract):
    def make(self, resource: str) -> Sizer:
        return EstimatedSizer(ExhaustiveByTaskNumber(), resource)


class TestMaxSeenOrMachine(SizerContract):
    def make(self, resource: str) -> Sizer:
        return EstimatedSizer(MaxSeenOrMachine(), resource)


def test_task_numbers_as_significance() -> None:
    estimator = ExhaustiveByTaskNumber()
    for name, peak in [("sim[7]", 1.0), ("sim_0", 1.0), ("plain", 1.0), ("run2/part-12", 2.0), ("20261115061500", 1.0)]:
        estimator.learn(Attempt(peak, task=name))
    assert estimator.state()["significances"] == [7, 1, 3, 5, 12], "a name without a task's number counts in its turn"


def test_max_seen_gives_the_whole_machine_first_and_after_a_failure() -> None:
    estimator = MaxSeenOrMachine()
    assert estimator.estimate(Query(hint=3e9)).value is Start.WHOLE_MACHINE  # type: ignore[union-attr]
    estimator.learn(Attempt(306e6))
    assert estimator.estimate(Query()).value == 306e6  # type: ignore[union-attr]
    assert estimator.estimate(Query(failures=[250e6])).value is Start.WHOLE_MACHINE  # type: ignore[union-attr]
