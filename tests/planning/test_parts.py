"""An anchor in parts: what is cut, and what never is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.grouping.base import Group, Levels
from headway.kernels.batch.queue import BatchQueue
from headway.model import records
from headway.model.records import QueueRead
from headway.model.task import Task
from headway.planning.anchors import Anchor, best_anchor
from headway.planning.parts import CHEAPER, LATER, LONGEST_WAIT, MOST_LEVELS, MOST_TASKS, in_parts, unit_s
from headway.waiting.twin import QueueTwin
from tests.planning.test_headway import narrowing, of, roles, through

NEARLY = 1.02
MACHINE = 16.0


def levels_of(widths: Sequence[int], run_s: Sequence[float]) -> Levels:
    """Levels of so many tasks, each of which waits for the whole level before."""
    tasks: list[Task] = []
    above: tuple[str, ...] = ()
    for level, width in enumerate(widths):
        names = tuple(f"l{level}t{number}" for number in range(width))
        tasks += [Task(name, str(level), "-", parents=above) for name in names]
        above = names
    return Levels(tasks, lambda task: run_s[int(task.category)], int(MACHINE))


def busy_until(*ends_s: float) -> QueueTwin:
    """A machine that is full until the first of these times, and has an equal share of its nodes free at each."""
    free = [MACHINE * number / len(ends_s) for number in range(len(ends_s) + 1)]
    return QueueTwin(QueueRead(0.0, [0.0, *sorted(ends_s)], free))


def as_planned(nodes: int, asked_s: float, planned_s: float) -> float:
    return planned_s


def both(levels: Levels, twin: QueueTwin, most: int = 16, nearly: float = NEARLY) -> tuple[Anchor, Anchor]:
    """The anchor of one job, and what is made of it."""
    one = best_anchor(levels, twin, as_planned, 0, nearly, chains=False)
    return one, in_parts(one, levels, twin, as_planned, 0, nearly, most=most)


def bounds(anchor: Anchor) -> list[tuple[int, int, int]]:
    return [(group.first, group.last, group.nodes) for group in anchor.groups]


def test_narrow_stages_hold_no_nodes_for_the_wide_ones() -> None:
    levels = levels_of([1, 4, 1, 4, 1], [600.0] * 5)
    one, cut = both(levels, busy_until(60.0))
    assert bounds(one) == [(0, 4, 4)]
    assert bounds(cut) == [(0, 0, 1), (1, 2, 4), (3, 4, 4)]  # a part gives back what its last level does not need
    assert (unit_s(one, levels), unit_s(cut, levels)) == (600 * 17, 600 * 11)


@pytest.mark.parametrize(
    ("widths", "twin"),
    [
        ([1, 4, 1, 4, 1], QueueTwin(QueueRead(0.0, [0.0], [MACHINE]))),  # it can start at once
        ([1, 4, 1, 4, 1], busy_until(LONGEST_WAIT * 5 * 600.0 + 1.0)),  # the queue is too long to be foreseen
        ([4, 4, 4, 1], busy_until(60.0)),  # nothing is held in vain
        ([1, MOST_TASKS], busy_until(60.0)),
        ([1, 2] * MOST_LEVELS, busy_until(60.0)),
    ],
)
def test_what_is_not_cut(widths: list[int], twin: QueueTwin) -> None:
    one, cut = both(levels_of(widths, [600.0] * len(widths)), twin)
    assert cut == one


def test_a_later_part_is_not_promised_the_gap_that_is_open_now() -> None:
    # All 16 nodes are free for 1,500 s from 100 on, then taken until 9,000. The first level would fit, the others not.
    gap = QueueTwin(QueueRead(0.0, [0.0, 100.0, 1_600.0, 9_000.0], [0.0, MACHINE, 0.0, MACHINE]))
    levels = levels_of([1, 4, 1, 4], [250.0, 250.0, 250.0, 250.0])
    one, cut = both(levels, gap)
    assert one.through_s == 1_100.0
    assert cut == one


LEVELS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 900)), min_size=1, max_size=MOST_LEVELS + 1)
ENDS_S = st.lists(st.integers(1, 3_000), min_size=1, max_size=4, unique=True)


@given(LEVELS, ENDS_S, st.integers(0, 8), st.floats(1.0, 1.2))
def test_parts_are_cheaper_in_time_and_cover_every_level_once(
    shape: list[tuple[int, int]], ends_s: list[int], most: int, nearly: float
) -> None:
    levels = levels_of([width for width, _ in shape], [float(run_s) for _, run_s in shape])
    one, cut = both(levels, busy_until(*map(float, ends_s)), most, nearly)
    if cut == one:
        return
    assert 2 <= len(cut.groups) <= most
    assert [level for group in cut.groups for level in range(group.first, group.last + 1)] == list(range(len(levels)))
    assert unit_s(cut, levels) <= CHEAPER * unit_s(one, levels)
    assert cut.through_s <= (1.0 + LATER * (nearly - 1.0)) * one.through_s
    for before, after in zip(cut.groups, cut.groups[1:], strict=False):
        assert after.wait_s >= before.wait_s + before.run_s


@given(LEVELS, st.integers(1, 5))
def test_what_an_anchor_holds_is_between_the_work_and_its_rectangle(shape: list[tuple[int, int]], nodes: int) -> None:
    levels = levels_of([width for width, _ in shape], [float(run_s) for _, run_s in shape])
    run_s = sum(float(levels.run_s(n, n)[min(nodes, len(levels.run_s(n, n))) - 1]) for n in range(len(levels)))
    work_s = sum(width * each_s for width, each_s in shape)
    assert work_s <= unit_s(Anchor((Group(0, levels.last, nodes, run_s),), run_s), levels) <= nodes * run_s + 1e-6


def test_parts_run_one_after_the_other_where_dependent_jobs_have_no_reservation() -> None:
    # All is taken until 700. One job of 4 nodes would hold 3 of them for nothing while the second level runs.
    background = {"submit": [0], "nodes": [8], "req": [700], "run": [700]}
    run = through(BatchQueue(8, **background), narrowing(4, 1, 4))
    submits = of(run, records.Submit)
    assert roles(run) == [("anchor", 4), ("anchor", 4)]
    assert [submit.after for submit in submits] == [None, submits[0].tag]
    assert [len(submit.tasks) for submit in submits] == [5, 4]
    assert run.ended_at() == 700 + 3 * 600
    assert sum(job.core_s(run.ended_at()) for job in run.engine.jobs.values()) == (4 + 1 + 4) * 600
