"""The makespan of a list schedule, against a simulation second by second and against known bounds."""

from __future__ import annotations

from functools import partial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.grouping.list_schedule import makespans, places
from headway.kernels.list_schedule import list_makespans
from headway.model.task import Task

ONE_A_NODE = partial(places, tasks_per_node=1)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[int], list[list[int]]]:
    """Draw run times in whole seconds, and for each task parents before it."""
    run_s = draw(st.lists(st.integers(0, 9), max_size=12))
    parents = [sorted(draw(st.sets(st.integers(0, number - 1)))) if number else [] for number in range(len(run_s))]
    return run_s, parents


def second_by_second(run_s: list[int], parents: list[list[int]], nodes: int) -> int:
    """Simulate second by second: tasks end, then free nodes take the first tasks whose parents have ended."""
    left = dict.fromkeys(range(len(run_s)), -1)  # seconds to go; -1: not begun
    done: set[int] = set()
    now = 0
    while len(done) < len(run_s):
        changed = True
        while changed:  # a task of no length makes room, and lets others begin, in the same second
            changed = False
            for task in [task for task, seconds in left.items() if seconds == 0 and task not in done]:
                done.add(task)
                changed = True
            running = sum(seconds > 0 for seconds in left.values())
            for task in range(len(run_s)):
                if running < nodes and left[task] < 0 and done.issuperset(parents[task]):
                    left[task] = run_s[task]
                    running += 1
                    changed = True
        if len(done) < len(run_s):
            now += 1
            left = {task: seconds - 1 if seconds > 0 else seconds for task, seconds in left.items()}
    return now


def lengths(run_s: list[int], parents: list[list[int]], nodes: list[int]) -> list[float]:
    tasks = [
        Task(f"t{number}", "c", "-", parents=tuple(f"t{parent}" for parent in above))
        for number, above in enumerate(parents)
    ]
    return makespans(tasks, lambda task: float(run_s[int(task.id[1:])]), nodes, ONE_A_NODE)


@given(graphs(), st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_equals_a_simulation_second_by_second(graph: tuple[list[int], list[list[int]]], nodes: list[int]) -> None:
    assert lengths(*graph, nodes) == [second_by_second(*graph, number) for number in nodes]


@given(graphs())
def test_within_the_lower_bound_and_grahams_upper_bound(graph: tuple[list[int], list[list[int]]]) -> None:
    run_s, parents = graph
    longest = [0] * len(run_s)  # path that ends with the task
    for task, seconds in enumerate(run_s):
        longest[task] = seconds + max((longest[parent] for parent in parents[task]), default=0)
    path, work = max(longest, default=0), sum(run_s)
    for nodes, span in zip(range(1, 14), lengths(run_s, parents, list(range(1, 14))), strict=True):
        assert max(path, work / nodes) <= span <= (work - path) / nodes + path + 1e-9
        if nodes == 1:
            assert span == work
        if nodes >= len(run_s):
            assert span == path


def test_by_hand() -> None:
    # 0: 4 s; 1: 2 s; 2: 2 s after 1; 3: 1 s after 0 and 2. Two nodes: 0 and 1, then 2, then 3.
    assert lengths([4, 2, 2, 1], [[], [], [1], [0, 2]], [1, 2, 3]) == [9.0, 5.0, 5.0]
    # Another order of preference, another schedule: a free node takes the first that is ready, not the best.
    assert lengths([2, 2, 4], [[], [], []], [2]) == [6.0]
    assert lengths([4, 2, 2], [[], [], []], [2]) == [4.0]
    assert lengths([], [], [1, 5]) == [0.0, 0.0]


def test_a_task_that_spans_nodes() -> None:
    """It waits for all its nodes, and tasks behind it wait as well; with too few nodes it takes longer."""
    wide = Task("w", "c", "-", hints={"nodes": 2})
    tasks = [Task("a", "c", "-"), wide, Task("b", "c", "-")]
    assert makespans(tasks, lambda task: 3.0, [1, 2, 3, 4], ONE_A_NODE) == [12.0, 9.0, 6.0, 3.0]
    two_a_node = partial(places, tasks_per_node=2)
    assert makespans(tasks, lambda task: 3.0, [4, 6], two_a_node) == [9.0, 3.0]  # a and b may share a node


def test_parents_outside_the_group_do_not_count() -> None:
    """A group begins when the groups before it have ended."""
    tasks = [Task("b", "c", "-", parents=("a",)), Task("c", "c", "-", parents=("b", "a"))]
    assert makespans(tasks, lambda task: 3.0, [1, 2], ONE_A_NODE) == [6.0, 6.0]


def test_scratch_space_may_hold_anything() -> None:
    run_s, spans, first_child, children = np.array([3.0, 5.0]), np.array([1, 1]), np.array([0, 1, 1]), np.array([1])
    found = np.full(2, np.nan)
    for dirt in (0.0, -7.0, 1e300):
        keys, work = np.full((2, 2), dirt), np.full((3, 2), 99)
        parents, nodes = np.array([0, 1]), np.array([1, 2])
        list_makespans(run_s, spans, first_child, children, parents, nodes, keys, work, found, np.empty(2))
        assert found.tolist() == [8.0, 8.0]
