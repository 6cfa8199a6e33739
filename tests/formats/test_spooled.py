"""Logs of any size: tasks that are packed, and sorted in parts."""

from __future__ import annotations

import random
import re
import tempfile

import pytest

from headway.formats import nextflow_trace, sacct_tasks, spooled
from headway.formats.read_task_log import categorise, joined
from headway.formats.spooled import Sorting, Spool, kept
from headway.model.errors import SiteError
from headway.model.task_log import LoggedTask

HEADER = "task_id\tprocess\ttag\tname\tstatus\tcpus\tmemory\tstart\tcomplete\trealtime\t%cpu\tpeak_rss\twchar\n"


@pytest.fixture
def few_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooled, "IN_MEMORY", 50)
    monkeypatch.setattr(spooled, "_BLOCK", 7)
    monkeypatch.setattr(spooled, "_FILE_FROM", 1000)


def tasks(count: int) -> list[LoggedTask]:
    draw = random.Random(4)
    return [
        LoggedTask(
            f"t{number}",
            f"step {number % 3}",
            draw.uniform(1, 100),
            {"memory_bytes": draw.uniform(1e6, 1e9), "cores": 1.5},
            {"memory_bytes": 2e9} if number % 2 else {},
            number if number % 5 else None,
            float(draw.randrange(20)),
            (1.0, 2.0) if number % 4 == 0 else (),
            f"é {number}",
        )
        for number in range(count)
    ]


def trace_lines(rows: int) -> list[str]:
    """A trace in no order; a third of the tasks has no tag, some have one that no other task has."""
    draw = random.Random(5)
    lines = []
    for row in range(rows):
        tag = ["-", f"sample {row % 4}", f"sample {row % 4}", f"only {row}"][draw.randrange(4)]
        start, run_ms = 1000 * draw.randrange(1, 60), 1000 * draw.randrange(1, 9)
        name = "STEP" if tag == "-" else f"STEP ({tag})"
        cells = row, "STEP", tag, name, "COMPLETED", 2, "4 GB", start, start + run_ms, run_ms, "95%", "1.5 GB", "3 MB"
        lines.append("\t".join(map(str, cells)) + "\n")
    return [HEADER, *lines]


def as_they_were(found: object) -> list[tuple[object, ...]]:
    """The fields of tasks; a packed profile is a list."""
    return [
        (each.id, each.category, each.run_s, each.used, each.asked, each.input_bytes, each.started_at, *each.profile)
        for each in found  # type: ignore[attr-defined]
    ]


@pytest.mark.usefixtures("few_fit")
def test_packed_tasks_are_as_they_were_however_often_they_are_read() -> None:
    many = tasks(230)
    spool = kept(iter(many))
    assert isinstance(spool, Spool)
    assert len(spool) == 230
    assert as_they_were(spool) == as_they_were(many)
    pairs = zip(spool, spool, strict=True)  # two readers at once
    assert all(one.id == other.id for one, other in pairs)
    assert next(iter(spool)) in spool
    assert tasks(231)[-1] not in spool


@pytest.mark.usefixtures("few_fit")
def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/dev/full")
    with pytest.raises(SiteError, match=r"temporary file .*set TMPDIR"):
        kept(iter(tasks(230)))


@pytest.mark.usefixtures("few_fit")
def test_few_tasks_stay_a_list() -> None:
    assert kept(iter(tasks(49))) == tasks(49)


@pytest.mark.usefixtures("few_fit")
@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 333])
def test_sorting_in_parts_is_sorting(count: int) -> None:
    draw = random.Random(count)
    pairs = [(draw.randrange(30), number) for number in range(count)]
    sorting: Sorting[tuple[int, int]] = Sorting(tuple[int, int])
    for pair in pairs:
        sorting.add(pair)
    assert list(sorting) == sorted(pairs)


def jobs_of_slurm(count: int) -> list[str]:
    """What sacct -P prints, in which every tenth job is printed twice, far apart."""
    draw = random.Random(6)
    lines = ["JobID|JobName|State|ElapsedRaw|Start|ReqMem|MaxRSS|NTasks|NNodes|NCPUS\n"]
    for number in [*range(count), *range(0, count, 10)]:
        start = f"2026-01-01T00:00:{draw.randrange(60):02}"
        lines += [
            f"{number}|step{number % 3}|COMPLETED|{draw.randrange(1, 99)}|{start}|4Gn|||1|2\n",
            f"{number}.batch|batch|COMPLETED|9|{start}||{draw.randrange(1000, 9000)}K|1|1|2\n",
        ]
    return lines


def test_a_large_dump_of_slurm_is_read_as_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sacct_tasks.read(jobs_of_slurm(200), "jobs.txt", "jobs")
    monkeypatch.setattr(spooled, "IN_MEMORY", 30)
    parts = sacct_tasks.read(jobs_of_slurm(200), "jobs.txt", "jobs")
    assert isinstance(parts.tasks, Spool)
    assert len(whole.tasks) == len(parts.tasks) == 200
    assert as_they_were(parts.tasks) == as_they_were(whole.tasks)
    assert parts.left_out == whole.left_out == 0


def test_a_large_trace_is_read_as_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = nextflow_trace.read(trace_lines(400), "trace.txt", "trace")
    monkeypatch.setattr(spooled, "IN_MEMORY", 30)
    parts = nextflow_trace.read(trace_lines(400), "trace.txt", "trace")
    assert isinstance(parts.tasks, Spool)
    assert as_they_were(parts.tasks) == as_they_were(whole.tasks)
    assert (parts.machine, parts.left_out) == (whole.machine, whole.left_out)
    assert any(task.input_bytes for task in whole.tasks)


@pytest.mark.usefixtures("few_fit")
def test_large_logs_are_joined_and_categorised() -> None:
    log = nextflow_trace.read(trace_lines(100), "trace.txt", "trace")
    both = joined([log, log])
    assert len(both.tasks) == 200
    categorise(both, re.compile("^S(T)EP"))
    assert {task.category for task in both.tasks} == {"T"}
