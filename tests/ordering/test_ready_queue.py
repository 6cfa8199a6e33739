"""The queue of ready tasks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.engine.queue import ReadyQueue


def taken(queue: ReadyQueue) -> list[str]:
    with queue.walk() as walk:
        return [task_id for _, task_id in walk]


def test_a_task_pushed_again_is_sorted_by_its_new_key() -> None:
    queue = ReadyQueue(lambda task_id: True, lambda category: ())
    for key, task_id in enumerate("abc"):
        queue.push(("c", False, "", ""), (0, key), task_id)
    queue.push(("c", False, "", ""), (0, 7), "a")
    assert taken(queue) == ["b", "c", "a"]
    queue.push(("c", False, "", ""), (0, -1), "c")
    assert taken(queue) == taken(queue) == ["c", "b", "a"]


def test_priority_then_category_key_then_task_key() -> None:
    rank = {"x": (1,), "y": (0,)}
    queue = ReadyQueue(lambda task_id: True, rank.__getitem__)
    queue.push(("x", False, "", ""), (0, 0), "x0")
    queue.push(("y", False, "", ""), (0, 5), "y5")
    queue.push(("x", True, "", ""), (-1, 9), "urgent")
    assert taken(queue) == ["urgent", "y5", "x0"]
    rank["x"] = (-1,)
    assert taken(queue) == ["urgent", "x0", "y5"]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("xy"), st.booleans(), st.integers(0, 9))))
def test_each_task_is_popped_once_by_its_last_key(pushes: list[tuple[str, str, bool, int]]) -> None:
    queue = ReadyQueue(lambda task_id: True, lambda category: ())
    last: dict[str, tuple[int, str]] = {}
    for number, (task_id, category, troubled, key) in enumerate(pushes):
        queue.push((category, troubled, "", ""), (0, key, number), task_id)
        last[task_id] = (key, f"{number:09}")
    assert taken(queue) == sorted(last, key=last.__getitem__)


def test_a_walk_costs_as_much_as_the_tasks_that_it_meets_however_many_lanes_there_are() -> None:
    looks = 0

    def is_current(task_id: str) -> bool:
        nonlocal looks
        looks += 1
        return True

    queue = ReadyQueue(is_current)
    for number in range(5000):
        queue.push((f"category{number}", False, "", ""), (0, number), f"t{number}")
    for _ in range(100):
        with queue.walk() as walk:
            assert [task_id for _, (_, task_id) in zip(range(3), walk, strict=False)] == ["t0", "t1", "t2"]
    assert looks < 1000


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("xyz"), st.integers(0, 4)), max_size=30), st.data()
)
def test_walks_that_stop_or_skip_lanes_leave_the_queue_as_it_was(
    pushes: list[tuple[str, str, int]], data: st.DataObject
) -> None:
    gone: set[str] = set()
    queue = ReadyQueue(lambda task_id: task_id not in gone)
    last: dict[str, tuple[int, int]] = {}
    for number, (task_id, category, key) in enumerate(pushes):
        gone.discard(task_id)
        queue.push((category, False, "", ""), (0, key, number), task_id)
        last[task_id] = (key, number)
        with queue.walk() as walk:
            for met, (lane, _) in enumerate(walk):
                if data.draw(st.booleans(), label="skip"):
                    walk.skip(lane)
                if met >= 2:
                    break
        gone |= data.draw(st.sets(st.sampled_from(sorted(last)), max_size=2), label="tasks that start")
        assert taken(queue) == sorted(last.keys() - gone, key=last.__getitem__)
