"""Mass studies: the same rows whoever carries them out, nothing run twice, and figures that follow from rows."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from math import exp, log
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.drivers.assemble import plans as all_plans
from headway.drivers.simulated import simulate
from headway.drivers.through_queue import Through, run_through
from headway.model.errors import InputError
from headway.model.records import SeenWait
from headway.planning import PLANS, Plan
from headway.planning.base import Estimate
from headway.planning.without_queue import OneJobPerTask
from headway.report.queue.through_queue import passage_of
from headway.simulation.batch import seen_waits
from headway.studies.ledger import Ledger
from headway.studies.paired import interval, pairs_of, places_of, ratio
from headway.studies.queues import Queue, named
from headway.studies.runs import Row, Run, instance_of
from headway.studies.starts import bounds, every, spread
from headway.studies.study import Progress, blocks_of, study
from headway.studies.summary import standings, summary_of
from headway.studies.tables import verdict
from tests.studies.small_study import DAY_S, row, small_runs, write_trace


def without_time(rows: list[Row]) -> list[Row]:
    return [msgspec.structs.replace(each, cpu_s=0.0) for each in rows]


# --- carrying out ---


def test_results_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    """One process or two, all at once or each run from a queue of its own."""
    runs = small_runs(tmp_path)
    alone = study(runs, Ledger(None), processes=1)
    assert [each.key for each in alone] == [run.key for run in runs]
    assert all(each.through for each in alone)
    assert without_time(study(runs, Ledger(None), processes=2)) == without_time(alone)
    for run, found in list(zip(runs, alone, strict=True))[::5]:
        queue = run.queue.fresh()
        queue.advance(run.start_s)
        seen = seen_waits(queue, run.queue.jobs())
        through = Through(all_plans()[run.plan], run.start_s, seen_waits=seen)
        simulated = run_through(instance_of(run.workflow), through)
        simulate(queue, [simulated])
        passage = passage_of(run.plan, simulated.journal)
        assert (found.makespan_s, found.jobs, found.node_hours) == (
            passage.makespan_s,
            passage.jobs,
            passage.node_hours,
        )


class _Listening(OneJobPerTask):
    """Keeps what it is told of others' waits."""

    def __init__(self, estimate: Estimate, heard: list[list[SeenWait]]) -> None:
        super().__init__(estimate)
        self._heard = heard

    def learn(self, waits: Sequence[SeenWait]) -> None:
        self._heard.append(list(waits))


def test_a_plan_hears_of_the_waits_that_are_known_at_its_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those who have started by then, and nobody else, whatever ran before it from the same queue."""
    heard: list[list[SeenWait]] = []
    monkeypatch.setitem(PLANS, "listening", Plan("listening", "", lambda estimate: _Listening(estimate, heard)))
    runs = small_runs(tmp_path, ("listening",))[:6]
    assert len({run.queue for run in runs}) == 1
    study(runs, Ledger(None), processes=1)
    jobs, queue = runs[0].queue.jobs(), runs[0].queue.fresh()
    queue.run()
    waits = queue.starts - jobs.submit_s
    starts = sorted(run.start_s for run in runs)
    assert len(heard) == len(starts)
    for start_s, found in zip(starts, heard, strict=True):
        known = sorted(np.flatnonzero(queue.starts <= start_s).tolist(), key=lambda job: queue.starts[job])
        assert 50 < len(known) < len(jobs)
        assert [it.waited_s for it in found] == [waits[job] for job in known]
        assert [it.nodes for it in found] == [jobs.nodes[job] for job in known]


def test_blocks_are_of_one_queue_and_starts_do_not_go_back(tmp_path: Path) -> None:
    runs = small_runs(tmp_path)[::-1]
    blocks = blocks_of(runs, processes=3)
    assert sorted(run.key for block in blocks for run in block) == sorted(run.key for run in runs)
    assert len(blocks) >= 3
    for block in blocks:
        assert {run.queue for run in block} == {block[0].queue}
        assert [run.start_s for run in block] == sorted(run.start_s for run in block)
    assert blocks_of([], 2) == []


class _StoppedError(Exception):
    pass


@pytest.mark.parametrize("processes", [1, 2])
def test_an_interrupted_study_continues(tmp_path: Path, processes: int) -> None:
    runs = small_runs(tmp_path)
    path = tmp_path / "runs.csv"

    def stop(progress: Progress) -> None:
        if progress.done == 5:
            raise _StoppedError

    ledger = Ledger(path)
    with pytest.raises(_StoppedError):
        study(runs, ledger, processes, stop)
    ledger.close()
    assert multiprocessing.active_children() == []
    assert len(path.read_text().splitlines()) == 1 + 5

    told: list[Progress] = []
    ledger = Ledger(path)
    rows = study(runs, ledger, processes, told.append)
    ledger.close()
    assert [(it.done, it.total) for it in told] == [(done, len(runs) - 5) for done in range(1, len(runs) - 4)]
    assert told[-1].left_s == 0
    assert without_time(rows) == without_time(study(runs, Ledger(None), processes=1))
    again: list[Progress] = []
    assert study(runs, Ledger(path), processes, again.append) == rows
    assert again == []


def test_a_failing_run_is_reported(tmp_path: Path) -> None:
    runs = small_runs(tmp_path)
    bad = [msgspec.structs.replace(run, plan="no-such") for run in runs[:1]]
    with pytest.raises((RuntimeError, KeyError), match="no-such"):
        study([*runs[:4], *bad], Ledger(None), processes=2)
    assert multiprocessing.active_children() == []


# --- the ledger ---


def test_a_row_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    rows = [row("one-job", 1 / 3, 'odd, "name"', 0.1 + 0.2), row("glume", 5.0, whole_minutes=True)]
    ledger = Ledger(path)
    for each in rows:
        ledger.add(each)
    ledger.close()
    assert list(Ledger(path).rows.values()) == rows


def test_a_line_that_was_cut_off_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    ledger = Ledger(path)
    ledger.add(row("one-job", 1.0))
    ledger.add(row("glume", 2.0))
    ledger.close()
    whole = path.read_text()
    path.write_text(whole[:-7])
    ledger = Ledger(path)
    assert [it.plan for it in ledger.rows.values()] == ["one-job"]
    ledger.add(row("glume", 2.0))
    ledger.close()
    assert path.read_text() == whole


def test_plans_to_be_run_again_are_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    ledger = Ledger(path)
    ledger.add(row("one-job", 1.0))
    ledger.add(row("glume", 2.0))
    ledger.close()
    Ledger(path, again=["glume"]).close()
    assert [it.plan for it in Ledger(path).rows.values()] == ["one-job"]


def test_files_of_another_kind_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="another kind"):
        Ledger(path)
    assert path.read_text() == "a,b\n1,2\n"
    ledger = Ledger(tmp_path / "good.csv")
    ledger.add(row("one-job", 1.0))
    ledger.close()
    text = (tmp_path / "good.csv").read_text()
    (tmp_path / "good.csv").write_text(text.replace("succeeded,1.0", "succeeded,long"))
    with pytest.raises(InputError, match=r"good\.csv:2"):
        Ledger(tmp_path / "good.csv")


def test_another_setting_is_another_run(tmp_path: Path) -> None:
    run = small_runs(tmp_path)[0]
    changed = [
        msgspec.structs.replace(run, **{name: value}) for name, value in (("seed", 1), ("start_s", 5.0), ("plan", "x"))
    ]
    others: dict[str, object] = {
        "requests": "accurate", "cancelled": "one-second", "whole_minutes": True, "machine": 32, "skip_bad": True,
        "backfill": "easy", "nodes": "ids", "rules": "batsched", "dependency": "reserved", "most_jobs": 5,
        "begins_s": 60.0, "node_cores": 8, "node_memory_bytes": 10**9,
    }  # fmt: skip
    assert {"trace", *others} == set(Queue.__struct_fields__)
    for name, value in others.items():
        changed.append(msgspec.structs.replace(run, queue=msgspec.structs.replace(run.queue, **{name: value})))
    keys = {it.key for it in [run, *changed]}
    assert len(keys) == 1 + len(changed)


# --- queues and starts ---


def test_requests_in_whole_minutes(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "log.swf")
    plain, minutes = (Queue(trace, "accurate", whole_minutes=on).jobs() for on in (False, True))
    assert (minutes.req_s == np.maximum(60, plain.run_s // 60 * 60)).all()
    assert (minutes.run_s == np.minimum(plain.run_s, minutes.req_s)).all()
    assert (minutes.run_s < plain.run_s).any()


def test_a_queue_that_begins_later_is_empty_then(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "log.swf")
    whole, later = Queue(trace), Queue(trace, begins_s=DAY_S)
    assert later.jobs().submit_s[0] >= DAY_S
    assert len(later.jobs()) < len(whole.jobs())
    queue = later.fresh()
    queue.advance(DAY_S - 1)
    assert (queue.waiting, queue.running) == (0, 0)


def test_names_of_files_lose_their_suffixes() -> None:
    assert named("/a/b/KTH-SP2-1996-2.1-cln.swf.gz") == "KTH-SP2-1996-2.1-cln"
    assert named("MONTAGE_50.dax.gz") == "MONTAGE_50"


@given(st.integers(1, 60), st.integers(0, 5), st.floats(0, 1e6), st.floats(2e6, 1e8))
def test_more_starts_are_the_same_and_more(count: int, seed: int, first_s: float, last_s: float) -> None:
    starts = spread("log", first_s, last_s, count, seed)
    assert starts == spread("log", first_s, last_s, count + 7, seed)[: len(starts)]
    assert all(first_s - 30 <= start_s <= last_s + 30 and start_s % 60 == 0 for start_s in starts)
    assert spread("other", first_s, last_s, 1, seed) != starts[:1]


def test_starts_at_fixed_intervals() -> None:
    assert every(600.0, 1800.0, 600.0) == [600.0, 1200.0]
    assert bounds("log", 10 * DAY_S, 2 * DAY_S) == (2 * DAY_S, 8 * DAY_S)
    with pytest.raises(InputError, match="too little"):
        bounds("log", 10 * DAY_S, 5 * DAY_S)


# --- figures ---


def test_pairs_share_all_but_the_plan_and_both_completed() -> None:
    rows = [
        row("a", 90.0),
        row("b", 100.0),
        row("a", 50.0, start_s=DAY_S),
        row("b", 100.0, start_s=DAY_S),
        row("a", 1.0, start_s=5.0),  # without a partner
        row("a", 1.0, start_s=9.0, status="failed"),
        row("b", 1.0, start_s=9.0),
        row("b", 7.0, most_jobs=8),
    ]
    pairs = pairs_of(places_of(rows), "a", "b")
    assert [(pair.row.makespan_s, pair.other.makespan_s) for pair in pairs] == [(90, 100), (50, 100)]
    found = ratio(pairs)
    assert found.mean == pytest.approx((0.9 * 0.5) ** 0.5)
    assert (found.low, found.high) == (pytest.approx(0.5), pytest.approx(0.9))


def test_starts_of_one_day_say_nothing_about_the_spread() -> None:
    assert interval([1.0, 2.0], ["monday", "monday"]).low is None
    many = interval([1.0, 3.0] * 10, list(range(20)))
    assert many.low is not None
    assert many.high is not None
    assert 1.2 < many.low < 2.0 < many.high < 2.8


@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 6)), min_size=1, max_size=30))
def test_a_mean_lies_in_its_interval_and_the_interval_in_the_data(values: list[tuple[float, int]]) -> None:
    found = interval([value for value, _ in values], [day for _, day in values])
    least, most = min(value for value, _ in values), max(value for value, _ in values)
    assert found.mean == pytest.approx(np.mean([value for value, _ in values]))
    if found.low is not None and found.high is not None:
        assert least - 1e-9 <= found.low <= found.high <= most + 1e-9


def test_wins_ties_and_losses_at_five_percent() -> None:
    spans = {"ref": [100.0] * 5, "best": [95.0, 96.0, 50.0, 104.0, 106.0], "broken": [10.0] * 5}
    rows = [
        row(plan, span, start_s=start * DAY_S, status="failed" if plan == "broken" else "succeeded")
        for plan, each in spans.items()
        for start, span in enumerate(each)
    ]
    best, ref, broken = standings(rows, "ref")
    assert (best.plan, best.wins, best.ties, best.losses) == ("best", 2, 2, 1)
    assert best.mean_log_ratio == pytest.approx(np.mean([log(span / 100) for span in spans["best"]]))
    assert best.ratio is not None
    assert best.ratio.mean == pytest.approx(exp(best.mean_log_ratio or 0))
    assert (ref.wins, ref.ties, ref.losses) == (0, 5, 0)
    assert (broken.through, broken.ratio, broken.makespan_s) == (0, None, None)
    words = verdict(summary_of(rows, "ref"))
    assert words == "best takes 13% less time than ref on average: 5% or more in 2 of 5 runs, the other way round in 1"


def test_run_keys_are_rows_keys(tmp_path: Path) -> None:
    run = small_runs(tmp_path)[0]
    (found,) = study([run], Ledger(None), processes=1)
    assert isinstance(run, Run)
    assert found.key == run.key
    assert found.place == run.key[:-1]
