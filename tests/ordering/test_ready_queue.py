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
