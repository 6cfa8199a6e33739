"""`Levels`: what remains, how wide it is and how long it takes, against a slow list scheduler."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.grouping.base import Group, Levels, soonest
from headway.model.task import Task
from tests.grouping.flows import barriers, by_nodes, four_levels, listed


@st.composite
def flows(draw: st.DrawFn) -> tuple[list[Task], dict[str, float]]:
    """Up to a dozen tasks, parents first, and whole run times, of which many are equal and some are nothing."""
    tasks: list[Task] = []
    for number in range(draw(st.integers(1, 12))):
        known = [task.id for task in tasks]
        parents = draw(st.lists(st.sampled_from(known), unique=True, max_size=3)) if known else []
        tasks.append(Task(f"t{number}", "c", "true", parents=tuple(parents)))
    return tasks, {task.id: float(draw(st.integers(0, 6))) for task in tasks}


def depth(task: Task, among: dict[str, Task]) -> int:
    """The length of the longest path from an entry to the task."""
    return max((1 + depth(among[parent], among) for parent in task.parents if parent in among), default=0)


def slow_makespan(tasks: list[Task], run_s: dict[str, float], nodes: int) -> float:
    """Second by second: the shortest ready task takes a free node; of equals the first listed."""
    ids = {task.id for task in tasks}
    ends_s: dict[str, float] = {}
    waiting = sorted(tasks, key=lambda task: run_s[task.id])
    now_s = 0.0
    while waiting:
        while True:  # tasks that take no time make room, and others ready, at once
            over = {task_id for task_id, end_s in ends_s.items() if end_s <= now_s}
            ready = [task for task in waiting if all(parent in over or parent not in ids for parent in task.parents)]
            free = nodes - (len(ends_s) - len(over))
            if not ready or not free:
                break
            for task in ready[:free]:
                ends_s[task.id] = now_s + run_s[task.id]
                waiting.remove(task)
        now_s += 1
    return max(ends_s.values())


@given(flow=flows())
def test_levels_are_depths(flow: tuple[list[Task], dict[str, float]]) -> None:
    tasks, run_s = flow
    levels = Levels(tasks, lambda task: run_s[task.id], 100)
    among = {task.id: task for task in tasks}
    assert levels.last == len(levels) - 1 == max(depth(task, among) for task in tasks)
    for level in range(len(levels)):
        assert {task.id for task in levels.tasks(level, level)} == {
            task.id for task in tasks if depth(task, among) == level
        }


@given(flow=flows(), data=st.data())
def test_levels_of_what_remains(flow: tuple[list[Task], dict[str, float]], data: st.DataObject) -> None:
    tasks, run_s = flow
    among = {task.id: task for task in tasks}
    done: set[str] = set()
    for task in tasks[:-1]:  # whoever has ended, what it waited for has
        if all(parent in done for parent in task.parents) and data.draw(st.booleans()):
            done.add(task.id)
    remaining = [task for task in tasks if task.id not in done]
    left = {task.id: among[task.id] for task in remaining}
    levels = Levels(remaining, lambda task: run_s[task.id], 100)
    for level in range(len(levels)):
        assert {task.id for task in levels.tasks(level, level)} == {
            task.id for task in remaining if depth(task, left) == level
        }


def test_a_child_moves_up_when_its_parent_has_ended() -> None:
    tasks = barriers([1, 2, 1])
    assert len(Levels(tasks, lambda _task: 1.0, 5)) == 3
    levels = Levels([task for task in tasks if task.id not in {"0.0", "1.0"}], lambda _task: 1.0, 5)
    assert [[task.id for task in levels.tasks(level, level)] for level in range(len(levels))] == [["1.1"], ["2.0"]]


def test_nothing_remains() -> None:
    assert len(Levels([], lambda _task: 1.0, 5)) == 0


@given(flow=flows(), most_nodes=st.integers(1, 5))
def test_width_is_that_of_the_widest_level_or_the_machine(
    flow: tuple[list[Task], dict[str, float]], most_nodes: int
) -> None:
    tasks, run_s = flow
    levels = Levels(tasks, lambda task: run_s[task.id], most_nodes)
    for first in range(len(levels)):
        for last in range(first, len(levels)):
            widest = max(len(levels.tasks(level, level)) for level in range(first, last + 1))
            assert levels.width(first, last) == len(levels.run_s(first, last)) == min(widest, most_nodes)


@settings(deadline=None)  # the first example waits for a compiler
@given(flow=flows(), data=st.data())
def test_run_times_are_those_of_a_slow_list_scheduler(
    flow: tuple[list[Task], dict[str, float]], data: st.DataObject
) -> None:
    tasks, run_s = flow
    levels = Levels(tasks, lambda task: run_s[task.id], 100)
    first = data.draw(st.integers(0, levels.last))
    last = data.draw(st.integers(first, levels.last))
    group = [task for level in range(first, last + 1) for task in levels.tasks(level, level)]
    expected = [slow_makespan(group, run_s, nodes) for nodes in range(1, levels.width(first, last) + 1)]
    assert levels.run_s(first, last).tolist() == expected


def test_run_times_by_hand() -> None:
    levels = four_levels()
    assert levels.run_s(0, 0).tolist() == [1000]
    assert levels.run_s(0, 1).tolist() == [5000, 3000, 3000, 2000]
    assert levels.run_s(0, 2).tolist() == [7000, 4000, 4000, 3000]
    assert levels.run_s(0, 3).tolist() == [8000, 5000, 5000, 4000]
    assert levels.run_s(1, 3).tolist() == [7000, 4000, 4000, 3000]
    assert levels.run_s(2, 3).tolist() == [3000, 2000]
    assert levels.run_s(3, 3).tolist() == [1000]


def test_the_shortest_ready_task_goes_first() -> None:
    # On two nodes: 1 and 2 at once, 3 after 1 s, 4 after 2 s: done after 6. Longest first: 5.
    # On three: 4 after 1 s: done after 5. Longest first: 4.
    run_s = {"0.0": 4.0, "0.1": 3.0, "0.2": 2.0, "0.3": 1.0}
    levels = Levels(barriers([4]), lambda task: run_s[task.id], 10)
    assert [task.id for task in levels.tasks(0, 0)] == ["0.3", "0.2", "0.1", "0.0"]
    assert levels.run_s(0, 0).tolist() == [10, 6, 5, 4]


def test_the_soonest_of_equals() -> None:
    # All on 1 to 4 nodes: 8000 + 1000, 5000 + 2000, 5000 + 2000, 4000 + 3000.
    waits = by_nodes({1: [(9000, 1000)], 2: [(9000, 2000)], 3: [(9000, 2000)], 4: [(9000, 3000)]})
    levels = four_levels()
    assert soonest(levels, waits, 0, 3) == Group(0, 3, 2, 5000.0, wait_s=2000.0)
    assert soonest(levels, waits, 0, 3, more=True) == Group(0, 3, 4, 4000.0, wait_s=3000.0)


def test_the_soonest_after_a_delay() -> None:
    waits = by_nodes({1: [(9000, 1000)], 2: [(9000, 2000)], 3: [(9000, 2000)], 4: [(9000, 3001)]})
    levels = four_levels()
    assert soonest(levels, waits, 0, 3).nodes == 2  # 9000, 7000, 7000, 7001
    assert soonest(levels, waits, 0, 3, 3000.0).nodes == 4  # 11000, 8000, 8000, 7001
    # Levels from the middle: 2-3 on 1 and 2 nodes, 3000 + 1000 and 2000 + 2000.
    assert soonest(levels, waits, 2, 3) == Group(2, 3, 1, 3000.0, wait_s=1000.0)
    assert soonest(levels, waits, 2, 3, 1500.0) == Group(2, 3, 2, 2000.0, wait_s=2000.0)


def test_all_shapes_are_asked_for_at_once() -> None:
    asked: list[tuple[list[int], list[float]]] = []
    waits = listed({(1, 5000.0): 0.0, (2, 3000.0): 0.0, (3, 3000.0): 0.0, (4, 2000.0): 0.0})

    def noting(nodes, run_s):  # type: ignore[no-untyped-def]
        asked.append((list(nodes), run_s.tolist()))
        return waits(nodes, run_s)

    assert soonest(four_levels(), noting, 0, 1).nodes == 4
    assert asked == [([1, 2, 3, 4], [5000.0, 3000.0, 3000.0, 2000.0])]


def test_a_task_that_spans_nodes_makes_its_level_wider() -> None:
    """Two share a node; one has two nodes, and no job for its level may have fewer."""
    wide = Task("wide", "c", "true", hints={"nodes": 2})
    levels = Levels([Task("a", "c", "true"), Task("b", "c", "true"), wide], lambda task: 5.0, 8, tasks_per_node=2)
    assert levels.width(0, 0) == 3
    assert levels.least_nodes(0, 0) == 2
    assert levels.run_s(0, 0).tolist() == [15.0, 10.0, 5.0]
