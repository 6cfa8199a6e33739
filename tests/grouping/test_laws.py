"""Properties of every grouper, with any queue."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.grouping import GROUPERS
from headway.grouping.base import Floats, Group, Grouper, Levels, Waits
from headway.grouping.glume import Glume
from headway.grouping.leeway import coarse, halving, smallest
from headway.grouping.zhang import Zhang
from headway.model.task import Task

VARIANTS: dict[str, Callable[[], Grouper]] = {
    **GROUPERS,
    "zhang, enhanced": lambda: Zhang(everywhere=True, leeway=smallest),
    "zhang, plain": lambda: Zhang(best_nodes=False),
    "zhang, skipping": lambda: Zhang(skip_waits=True),
    "zhang, as coded": Zhang.as_coded,
    "zhang, as coded, enhanced": lambda: Zhang.as_coded(everywhere=True, binary_search=True),
    "zhang, as coded, plain": lambda: Zhang.as_coded(best_nodes=False),
    "glume, eager": lambda: Glume(beat=0.0),
    "glume, halving": lambda: Glume(leeway=halving),
    "glume, coarse": lambda: Glume(leeway=coarse),
    "glume, as coded": Glume.as_coded,
}
PATIENT = ("zhang", "zhang, enhanced", "zhang, plain", "zhang, skipping", "glume", "glume, eager")
# The first example waits for a compiler; there are sixteen groupers.
PACE = settings(deadline=None, max_examples=40)
every_grouper = pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)


class Queue:
    """A made-up queue that fails the test after too many questions."""

    def __init__(self, name: str, wait_s: Waits) -> None:
        self.name = name
        self._wait_s = wait_s
        self._questions = 0

    def __repr__(self) -> str:
        return self.name

    def __call__(self, nodes: Sequence[int], run_s: Floats) -> Floats:
        self._questions += 1
        assert self._questions < 3000, "it never ends"
        assert len(nodes) == len(run_s)
        return self._wait_s(nodes, run_s)


def constant(wait_s: float) -> Queue:
    return Queue(f"constant({wait_s})", lambda nodes, run_s: np.full(len(nodes), wait_s))


def growing(a_node_s: float, a_second_s: float) -> Queue:
    """Waits grow with nodes and with the time asked for."""
    return Queue(
        f"growing({a_node_s}, {a_second_s})", lambda nodes, run_s: np.array(nodes) * a_node_s + run_s * a_second_s
    )


def limited(most_s: float) -> Queue:
    """No job waits, and no job may be longer than a limit."""
    return Queue(f"limited({most_s})", lambda nodes, run_s: np.where(run_s > most_s, math.inf, 0.0))


def erratic(salt: int, endless: int) -> Queue:
    """Waits jump up and down from one shape to the next; one in `endless` never starts."""

    def waits(nodes: Sequence[int], run_s: Floats) -> Floats:
        mixed = (np.array(nodes) * 7919 + (run_s // 50).astype(np.int64) * 104729 + salt) % 1009
        return np.where(mixed % endless == 0, math.inf, mixed * 37.5)

    return Queue(f"erratic({salt}, {endless})", waits)


QUEUES = st.one_of(
    st.sampled_from([0.0, 1.0, 1e6, math.inf]).map(constant),
    st.builds(growing, st.floats(0, 1000), st.floats(0, 5)),
    st.floats(0, 20000).map(limited),
    st.builds(erratic, st.integers(0, 1008), st.integers(1, 9)),
)
GROWING = st.one_of(
    st.sampled_from([0.0, 1.0, 1e6]).map(constant), st.builds(growing, st.floats(0, 1000), st.floats(0, 5))
)


@st.composite
def flows(draw: st.DrawFn) -> tuple[list[Task], dict[str, float]]:
    """One to five levels of tasks; each waits for some of the level above."""
    tasks: list[Task] = []
    above: list[str] = []
    for level in range(draw(st.integers(1, 5))):
        here = [f"{level}.{number}" for number in range(draw(st.integers(1, 5)))]
        for task_id in here:
            parents = draw(st.lists(st.sampled_from(above), min_size=1, unique=True)) if above else []
            tasks.append(Task(task_id, "c", "true", parents=tuple(parents)))
        above = here
    return tasks, {task.id: draw(st.floats(0, 5000)) for task in tasks}


FLOWS = flows()
DELAYS = st.just(0.0) | st.floats(0, 100000)


@every_grouper
@PACE
@given(flow=FLOWS, most_nodes=st.integers(1, 6), queue=QUEUES, delay_s=DELAYS)
def test_a_group_has_the_run_time_and_wait_that_it_states(
    make: Callable[[], Grouper],
    flow: tuple[list[Task], dict[str, float]],
    most_nodes: int,
    queue: Queue,
    delay_s: float,
) -> None:
    tasks, run_s = flow
    levels = Levels(tasks, lambda task: run_s[task.id], most_nodes)
    group = make().next_group(levels, queue, delay_s)
    if group is None:
        return
    assert group.first == 0 <= group.last <= levels.last
    assert 1 <= group.nodes <= levels.width(0, group.last)
    assert group.run_s == levels.run_s(0, group.last)[group.nodes - 1]
    assert 0 <= group.leeway_s < math.inf
    assert group.wait_s == queue([group.nodes], np.array([group.run_s + group.leeway_s]))[0]
    assert make().next_group(levels, queue, delay_s) == group, "it keeps nothing in mind"


@every_grouper
@PACE
@given(flow=FLOWS, queue=GROWING, delay_s=DELAYS)
def test_no_leeway_exceeds_the_delay(
    make: Callable[[], Grouper], flow: tuple[list[Task], dict[str, float]], queue: Queue, delay_s: float
) -> None:
    tasks, run_s = flow
    group = make().next_group(Levels(tasks, lambda task: run_s[task.id], 4), queue, delay_s)
    assert group is None or group.leeway_s <= delay_s


@pytest.mark.parametrize("name", PATIENT)
@PACE
@given(flow=FLOWS, queue=QUEUES, delay_s=DELAYS)
def test_with_the_searches_of_the_text_no_job_expires_before_its_tasks_can_run(
    name: str, flow: tuple[list[Task], dict[str, float]], queue: Queue, delay_s: float
) -> None:
    tasks, run_s = flow
    group = VARIANTS[name]().next_group(Levels(tasks, lambda task: run_s[task.id], 4), queue, delay_s)
    assert group is None or group.leeway_s >= delay_s - group.wait_s


@every_grouper
@PACE
@given(flow=FLOWS, queue=QUEUES)
def test_the_groups_together_cover_all_tasks(
    make: Callable[[], Grouper], flow: tuple[list[Task], dict[str, float]], queue: Queue
) -> None:
    tasks, run_s = flow
    turns: list[Group] = []
    delay_s = 0.0
    n_levels = len(Levels(tasks, lambda task: run_s[task.id], 3))
    while tasks:
        levels = Levels(tasks, lambda task: run_s[task.id], 3)
        group = make().next_group(levels, queue, delay_s)
        if group is None:
            break
        done = {task.id for task in levels.tasks(0, group.last)}
        tasks = [task for task in tasks if task.id not in done]
        delay_s = group.leeway_s + group.run_s
        turns.append(group)
    assert len(turns) <= n_levels
    assert sum(group.last + 1 for group in turns) == n_levels or tasks


@PACE
@given(flow=FLOWS, queue=GROWING, beat=st.floats(0, 1))
def test_glume_expects_to_beat_one_job(flow: tuple[list[Task], dict[str, float]], queue: Queue, beat: float) -> None:
    tasks, run_s = flow
    levels = Levels(tasks, lambda task: run_s[task.id], 4)
    whole = GROUPERS["one-job"]().next_group(levels, queue, 0.0)
    chosen = Glume(beat=beat).next_group(levels, queue, 0.0)
    assert whole is not None
    if chosen.last == levels.last:
        assert chosen == whole
    else:  # the rest comes on top
        assert chosen.wait_s + chosen.run_s <= (whole.wait_s + whole.run_s) * (1 - beat) + 1e-6
