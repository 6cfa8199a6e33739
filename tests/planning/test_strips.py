"""An anchor in strips: what it is made of, when its side jobs are admitted, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.grouping.base import Levels
from headway.kernels.batch.queue import BatchQueue
from headway.model import records
from headway.model.records import QueueRead
from headway.model.task import Task
from headway.planning.anchors import Anchor, best_anchor
from headway.planning.strips import EARLY, MOST_TASKS, NOTICED_S, SPARE, in_strips
from headway.waiting.twin import QueueTwin
from tests.planning.test_headway import narrowing, of, roles, through

MACHINE = 16.0


def levels_of(widths: Sequence[int], run_s: Sequence[float], nodes: int = 1) -> Levels:
    """Levels of so many tasks, each of which waits for the whole level before; the first task spans so many nodes."""
    tasks: list[Task] = []
    above: tuple[str, ...] = ()
    for level, width in enumerate(widths):
        names = tuple(f"l{level}t{number}" for number in range(width))
        spans = {"l0t0": {"nodes": nodes}} if nodes > 1 else {}
        tasks += [Task(name, str(level), "-", parents=above, hints=spans.get(name, {})) for name in names]
        above = names
    return Levels(tasks, lambda task: run_s[int(task.category)], int(MACHINE))


def busy_until(*ends_s: float) -> QueueTwin:
    """A machine that is full until the first of these times, and has an equal share of its nodes free at each."""
    free = [MACHINE * number / len(ends_s) for number in range(len(ends_s) + 1)]
    return QueueTwin(QueueRead(0.0, [0.0, *sorted(ends_s)], free))


def as_planned(nodes: int, asked_s: float, planned_s: float) -> float:
    return planned_s


def both(levels: Levels, twin: QueueTwin, most: float = 100) -> tuple[Anchor, Anchor]:
    """The anchor of one job, and what is made of it."""
    one = best_anchor(levels, twin, as_planned, 0, 1.02, chains=False)
    return one, in_strips(one, levels, twin, as_planned, 0, most=most)


def test_what_wide_stages_need_beyond_narrow_ones_is_asked_for_beside() -> None:
    one, strips = both(levels_of([1, 4, 2, 4, 1], [600.0] * 5), busy_until(60.0))
    assert [(group.first, group.last, group.nodes) for group in one.groups] == [(0, 4, 4)]
    assert [(group.first, group.last, group.nodes) for group in strips.groups] == [(0, 4, 1)]
    assert [(side.first, side.last, side.nodes) for side in strips.sides] == [
        (0, 0, 1),  # it is short, and may find a gap
        *[(1, 3, 1)],
        *[(1, 1, 1)] * 2,
        *[(3, 3, 1)] * 2,
    ]


@pytest.mark.parametrize(
    ("levels", "twin", "most"),
    [
        (levels_of([1, 4, 1], [600.0] * 3), QueueTwin(QueueRead(0.0, [0.0], [MACHINE])), 100),  # it starts at once
        (levels_of([3, 3, 3], [600.0] * 3), busy_until(60.0), 100),  # nothing is narrow
        (levels_of([1, MOST_TASKS], [600.0] * 2), busy_until(60.0), 100),
        (levels_of([1, 4, 1], [600.0] * 3), busy_until(60.0), 4),  # it takes five jobs
        (levels_of([1, 4, 1], [600.0] * 3, nodes=4), busy_until(60.0), 100),  # a task spans nodes of one job
    ],
)
def test_what_stays_one_job(levels: Levels, twin: QueueTwin, most: int) -> None:
    one, strips = both(levels, twin, most)
    assert strips == one


LEVELS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 900)), min_size=1, max_size=7)
ENDS_S = st.lists(st.integers(1, 3_000), min_size=1, max_size=4, unique=True)


@given(LEVELS, ENDS_S, st.integers(0, 20))
def test_strips_cover_the_width_of_every_level_exactly(
    shape: list[tuple[int, int]], ends_s: list[int], most: int
) -> None:
    levels = levels_of([width for width, _ in shape], [float(run_s) for _, run_s in shape])
    one, strips = both(levels, busy_until(*map(float, ends_s)), most)
    if strips == one:
        return
    assert 1 + len(strips.sides) <= most
    [spine] = strips.groups
    begins = next(level for level, (width, _) in enumerate(shape) if width > spine.nodes)
    head, sides = (strips.sides[:1], strips.sides[1:]) if begins else ((), strips.sides)
    assert [(job.first, job.last, job.nodes, job.wait_s) for job in head] == [(0, begins - 1, spine.nodes, 0.0)] * len(
        head
    )
    for level, (width, _) in enumerate(shape):
        assert spine.nodes + sum(side.first <= level <= side.last for side in sides) == width
    for side in sides:
        assert NOTICED_S <= side.wait_s <= NOTICED_S + EARLY * side.run_s
    assert spine.run_s >= sum(run_s for _, run_s in shape), "it lasts until the last level, and waits for side jobs"


def test_side_jobs_are_admitted_shortly_before_their_tasks_are_ready_and_hold_no_node_for_longer() -> None:
    # Half of the machine is taken until 700, all of it is wanted until then, and half of it after that.
    background = {"submit": [0, 0], "nodes": [8, 8], "req": [700, 3_000], "run": [700, 3_000]}
    run = through(BatchQueue(16, **background), narrowing(1, 4, 1, 4))
    submits = of(run, records.Submit)
    assert roles(run) == [("anchor", 1), *[("side", 1)] * 7]
    spine, head, *sides = submits
    assert (head.after, head.meant_for) == (None, ("l0t0",))
    assert {side.after for side in sides} == {spine.tag}
    assert (spine.request.per_node.walltime_s or 0.0) > SPARE * 4 * 600.0
    ready_at = {"l1": 700 + 600.0, "l3": 700 + 1_800.0}
    for admit in of(run, records.Admit):
        side = next(side for side in sides if side.tag == admit.tag)
        level = side.meant_for[0][:2]
        assert admit.at == pytest.approx(ready_at[level] - (side.expected_wait_s or 0.0), abs=2.0)
    assert len(of(run, records.Admit)) == len(sides)
    assert run.ended_at() == 700 + 4 * 600
    held_s = sum(job.core_s(run.ended_at()) for job in run.engine.jobs.values())
    early_s = sum(side.expected_wait_s or 0.0 for side in sides)
    assert held_s == pytest.approx((1 + 4 + 1 + 4) * 600 + early_s, abs=20.0)


def test_tasks_of_narrow_stages_do_not_keep_side_jobs_that_could_be_given_back() -> None:
    background = {"submit": [0], "nodes": [8], "req": [700], "run": [700]}
    run = through(BatchQueue(8, **background), narrowing(1, 4, 1, 4, 1, run_s=60.0))
    [spine] = [submit.tag for submit in of(run, records.Submit) if submit.role == "anchor"]
    narrow = [launch for launch in of(run, records.Launch) if launch.task[:2] in ("l0", "l2", "l4")]
    assert {launch.tag for launch in narrow} == {spine}


def test_side_jobs_for_which_no_task_is_left_are_cancelled() -> None:
    # One node is free at first; when the rest come free, the narrow job has done half of the wide stage.
    background = {"submit": [0, 0], "nodes": [1, 3], "req": [100, 2_000], "run": [100, 2_000]}
    run = through(BatchQueue(4, **background), narrowing(1, 2, run_s=300.0))
    sides = [submit.tag for submit in of(run, records.Submit) if submit.role == "side"]
    rules = {record.tag: record.why.rule for record in of(run, records.Release)}
    assert {tag: rules[tag] for tag in sides} == dict.fromkeys(sides, "for-nobody")
    assert run.ended_at() == 100 + 3 * 300
