"""What a log leaves open and a simulation has to choose; and the jobs that reference schedules were made of."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.formats.read_batch_log import read_batch_log
from headway.model.batch_log import BatchJobs, BatchLog
from headway.model.errors import InputError
from headway.simulation.batch_jobs import Choices, jobs_of

Row = tuple[float, float, int, int, float]  # submit, run, allocated, requested, asked for


def log_of(*rows: Row, processors: int = 100, started_at: float | None = None) -> BatchLog:
    size = len(rows)
    submit, run, allocated, requested, asked = zip(*rows, strict=True) if rows else ((),) * 5
    return BatchLog(
        name="log",
        processors=processors,
        number=np.arange(1, size + 1),
        submit_s=np.array(submit, float),
        run_s=np.array(run, float),
        allocated=np.array(allocated, np.int64),
        requested=np.array(requested, np.int64),
        requested_s=np.array(asked, float),
        line=np.arange(size) + 11,
        started_at=started_at,
    )


def times(jobs: BatchJobs) -> list[tuple[float, float]]:
    return list(zip(jobs.run_s.tolist(), jobs.req_s.tolist(), strict=True))


# --- one choice at a time ---


@pytest.mark.parametrize(
    ("choice", "nodes"), [("requested", [8, 4, 4, 8]), ("allocated", [4, 4, 4, 8])], ids=["requested", "allocated"]
)
def test_processors(choice: str, nodes: list[int]) -> None:
    """Each stands for the other; who has neither is left out."""
    widths = [(4, 8), (4, -1), (4, 0), (-1, -1), (0, 8), (0, 0), (-1, 0)]
    log = log_of(*((at, 10, allocated, requested, 20) for at, (allocated, requested) in enumerate(widths)))
    jobs = jobs_of(log, Choices(processors=choice))  # type: ignore[arg-type]
    assert jobs.nodes.tolist() == nodes
    assert jobs.submit_s.tolist() == [0, 1, 2, 4]
    assert jobs.left_out == {"no processors": 3}
    assert jobs.nodes.dtype == np.int64


def test_requests() -> None:
    log = log_of((0, 10, 1, 1, 30), (0, 50, 1, 1, 30), (0, 10, 1, 1, -1), (0, 10, 1, 1, 0))
    assert times(jobs_of(log, Choices())) == [(10, 30), (50, 50), (10, 10), (10, 10)]
    assert times(jobs_of(log, Choices(requests="accurate"))) == [(10, 10), (50, 50), (10, 10), (10, 10)]


def test_overrun() -> None:
    log = log_of((0, 50, 1, 1, 30), (0, 10, 1, 1, 30), (0, 50, 1, 1, -1), (0, 5, 1, 1, 0.5))
    assert times(jobs_of(log, Choices(overrun="extend"))) == [(50, 50), (10, 30), (50, 50), (5, 5)]
    assert times(jobs_of(log, Choices(overrun="kill"))) == [(30, 30), (10, 30), (50, 50), (1, 1)]
    assert times(jobs_of(log, Choices(overrun="kill", requests="accurate"))) == [(30, 30), (10, 10), (50, 50), (1, 1)]


def test_cancelled() -> None:
    log = log_of((5, 0, 1, 1, 30), (6, -1, 1, 1, 30), (7, -1, 1, 1, -1), (8, 0.25, 1, 1, 30), (9, 3, 1, 1, 30))
    dropped = jobs_of(log, Choices(cancelled="drop"))
    assert times(dropped) == times(jobs_of(log)) == [(1, 30), (3, 30)]
    assert dropped.left_out == {"never ran": 3}
    assert dropped.submit_s.tolist() == [0, 1]
    full = jobs_of(log, Choices(cancelled="full-request"))
    assert times(full) == [(30, 30), (30, 30), (1, 1), (1, 30), (3, 30)]
    second = jobs_of(log, Choices(cancelled="one-second"))
    assert times(second) == [(1, 30), (1, 30), (1, 1), (1, 30), (3, 30)]
    assert full.left_out == second.left_out == {}


def test_machine() -> None:
    log = log_of((0, 10, 1, 64, 30), (1, 10, 1, 128, 30), (2, 0, 1, 500, 30), (3, 10, 1, 100, 30))
    sentence = (
        r"^a\.swf:12: job 2 wants 128 processors, and the machine has 100; say how many it has with --machine, or"
    )
    with pytest.raises(InputError, match=sentence):
        jobs_of(log, Choices(), "a.swf")
    with pytest.raises(InputError, match=r"^log:12: job 2 wants 128"):
        jobs_of(log)
    skipped = jobs_of(log, Choices(skip_bad=True))
    assert skipped.nodes.tolist() == [64, 100]
    assert skipped.left_out == {"never ran": 1, "wider than the machine": 1}
    assert skipped.machine == 100
    larger = jobs_of(log, Choices(machine=128))  # the widest never ran
    assert (larger.machine, larger.nodes.tolist()) == (128, [64, 128, 100])
    with pytest.raises(InputError, match=r"^log:13: job 3 wants 500"):
        jobs_of(log, Choices(machine=128, cancelled="one-second"))
    assert jobs_of(log, Choices(processors="allocated", machine=1)).nodes.tolist() == [1, 1, 1]
    for size in (0, -4):
        with pytest.raises(InputError, match=f"a machine cannot have {size} processors"):
            jobs_of(log, Choices(machine=size))


def test_time_begins_with_the_first_that_remains() -> None:
    log = log_of((100, 0, 1, 1, 30), (150.5, 5, 1, 1, 30), (200, 5, 1, 1, 30), started_at=1e9)
    jobs = jobs_of(log)
    assert (jobs.submit_s.tolist(), jobs.started_at) == ([0, 49.5], 1e9 + 150.5)
    assert jobs_of(log, Choices(cancelled="one-second")).started_at == 1e9 + 100
    assert jobs_of(log_of((100, 5, 1, 1, 30))).started_at is None


def test_what_the_reader_left_out_is_counted_too() -> None:
    log = log_of((0, 0, 1, 1, 30), (0, 5, 1, 1, 30))
    log.left_out = {"out of order": 2, "never ran": 1}
    assert jobs_of(log).left_out == {"out of order": 2, "never ran": 2}
    assert log.left_out == {"out of order": 2, "never ran": 1}


def test_the_log_stays_as_it_was() -> None:
    log = log_of((7, 50, -1, 1, 30), (8, 0.5, 1, 0, 30))
    for choices in every_choice():
        jobs = jobs_of(log, choices)
        jobs.submit_s[:] = jobs.run_s[:] = jobs.req_s[:] = 99
        jobs.nodes[:] = 99
        assert jobs.left_out == {}
    assert log.submit_s.tolist() == [7, 8]
    assert log.run_s.tolist() == [50, 0.5]
    assert log.requested_s.tolist() == [30, 30]
    assert (log.allocated.tolist(), log.requested.tolist()) == ([-1, 1], [1, 0])


def test_run_and_request_are_two_tables() -> None:
    jobs = jobs_of(log_of((0, 50, 1, 1, 30)), Choices(requests="accurate"))
    jobs.req_s[0] = 99
    assert jobs.run_s[0] == 50


def test_a_log_without_usable_jobs_is_an_error() -> None:
    with pytest.raises(
        InputError, match=r"^a\.swf: no job of this log can be simulated: 2 never ran; choose otherwise"
    ):
        jobs_of(log_of((0, 0, 1, 1, 30), (1, -1, 1, 1, 30)), where="a.swf")
    with pytest.raises(InputError, match=r"^log: no job of this log can be simulated: 1 no processors$"):
        jobs_of(log_of((0, 5, -1, 0, 30)))
    with pytest.raises(InputError, match=r"simulated: 1 wider than the machine$"):
        jobs_of(log_of((0, 5, 1, 200, 30)), Choices(skip_bad=True))
    with pytest.raises(InputError, match=r"^log: no job of this log can be simulated$"):
        jobs_of(log_of())


def test_load() -> None:
    jobs = jobs_of(log_of((0, 50, 1, 10, 60), (20, 30, 1, 50, 60), processors=50))
    assert jobs.load() == (10 * 50 + 50 * 30) / (50 * 20)


# --- what holds for every choice ---


def every_choice(**more: object) -> list[Choices]:
    return [
        Choices(*which, **more)  # type: ignore[arg-type]
        for which in product(
            ("requested", "allocated"), ("real", "accurate"), ("drop", "full-request", "one-second"), ("extend", "kill")
        )
    ]


amounts = st.one_of(st.sampled_from([-1.0, 0.0, 0.25, 1.0]), st.floats(0, 1e6), st.integers(0, 10**6).map(float))
widths = st.integers(-1, 12)
rows = st.lists(st.tuples(st.floats(0, 1e6), amounts, widths, widths, amounts), min_size=1, max_size=15)


@given(rows.map(sorted), st.sampled_from(every_choice(machine=8, skip_bad=True)))
def test_invariants_of_simulated_jobs(rows: list[Row], choices: Choices) -> None:
    log = log_of(*rows, started_at=5.0)
    try:
        jobs = jobs_of(log, choices)
    except InputError as problem:
        assert "no job of this log can be simulated" in str(problem)
        return
    assert len(jobs) + sum(jobs.left_out.values()) == len(log)
    assert jobs.submit_s[0] == 0
    assert (np.diff(jobs.submit_s) >= 0).all()
    assert (jobs.run_s >= 1).all()
    assert (jobs.req_s >= jobs.run_s).all()
    assert ((jobs.nodes >= 1) & (jobs.nodes <= jobs.machine)).all()
    if choices.requests == "accurate":
        assert (jobs.req_s == jobs.run_s).all()
    if choices.cancelled != "drop":
        assert "never ran" not in jobs.left_out
    if choices.overrun == "kill":
        assert set(jobs.run_s) <= {1.0} | {row[1] for row in rows} | {row[4] for row in rows}


@given(rows.map(sorted), st.sampled_from(every_choice(machine=12)))
def test_each_job_by_the_rules_in_words(rows: list[Row], choices: Choices) -> None:
    """The same again, for one job after the other."""
    expected = []
    for submit, run, allocated, requested, asked in rows:
        first, second = (requested, allocated) if choices.processors == "requested" else (allocated, requested)
        nodes = first if first > 0 else second
        if nodes <= 0 or (run <= 0 and choices.cancelled == "drop"):
            continue
        length = run
        if run <= 0:
            length = asked if choices.cancelled == "full-request" and asked > 0 else 1.0
        length = max(1.0, length)
        request = max(1.0, asked) if asked > 0 else length
        if length > request:
            if choices.overrun == "kill":
                length = request
            else:
                request = length
        if choices.requests == "accurate":
            request = length
        expected.append((submit, nodes, length, request))
    if not expected:
        with pytest.raises(InputError, match="no job of this log"):
            jobs_of(log_of(*rows), choices)
        return
    jobs = jobs_of(log_of(*rows), choices)
    found = zip(jobs.submit_s + expected[0][0], jobs.nodes, jobs.run_s, jobs.req_s, strict=True)
    for job, wanted in zip(found, expected, strict=True):
        assert job[0] == pytest.approx(wanted[0])
        assert job[1:] == wanted[1:]


# --- what others simulated ---

DATA = os.environ.get("HEADWAY_DATA")
SCHEDULERS = [
    *(f"pyss_{name}" for name in ("easy", "cons", "fcfs")),
    *(f"batsched_{name}" for name in ("easy_bf_basic", "conservative_bf_basic", "conservative_bf_contiguous")),
]


@pytest.mark.skipif(not DATA, reason="HEADWAY_DATA does not say where the real logs are")
@pytest.mark.parametrize(("file", "requests"), [("real", "real"), ("acc", "accurate")])
def test_the_jobs_of_reference_schedules(file: str, requests: str) -> None:
    folder = Path(DATA or "")
    log = read_batch_log(folder / "pwa-swf/KTH-SP2-1996-2.1-cln.swf.gz")
    jobs = jobs_of(log, Choices(requests=requests, cancelled="one-second"))  # type: ignore[arg-type]
    assert (len(jobs), jobs.machine, jobs.left_out) == (28_475, 100, {"no processors": 1})
    ours = np.column_stack([np.arange(len(jobs)) + 1, jobs.submit_s, jobs.nodes, jobs.req_s, jobs.run_s])
    for scheduler in SCHEDULERS:
        path = folder / "reference-schedules" / f"kth_{file}_{scheduler}.csv.gz"
        theirs = np.loadtxt(path, delimiter=",", skiprows=1, usecols=range(5))
        assert np.array_equal(ours, theirs), path.name


@pytest.mark.skipif(not DATA, reason="HEADWAY_DATA does not say where the real logs are")
@pytest.mark.parametrize(
    ("name", "jobs", "left_out"),
    [
        ("KTH-SP2-1996-2.1-cln", 28_467, {"no processors": 1, "never ran": 8}),
        ("SDSC-SP2-1998-4.2-cln", 54_034, {"never ran": 5681}),
        ("CTC-SP2-1996-3.1-cln", 77_205, {"never ran": 17}),
        ("SDSC-DS-2004-2.1-cln", 84_893, {"never ran": 11_176}),
        ("CEA-Curie-2011-2.1-cln", 295_540, {"no processors": 19, "never ran": 17_267}),
    ],
)
def test_every_real_log_can_be_simulated(name: str, jobs: int, left_out: dict[str, int]) -> None:
    """Counted apart, with awk: lines without processors, and those with some that ran for 0 s or less."""
    found = jobs_of(read_batch_log(Path(DATA or "", "pwa-swf", f"{name}.swf.gz")))
    assert (len(found), found.left_out) == (jobs, left_out)
