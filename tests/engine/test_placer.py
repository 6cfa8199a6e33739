"""Which ready tasks start where jobs end at different times."""

from __future__ import annotations

from headway.engine.placer import MOST_TOO_LONG, Placement, place
from headway.engine.queue import ReadyQueue
from headway.engine.state import NodeState
from headway.model.resources import Resources
from headway.sizing.base import Allocation

NODE = Resources(cores=1, memory_bytes=1_000_000_000)
FULL = NODE - NODE
LANE = ("align", False, "", "")


def placed(ends: dict[str, float], *nodes: NodeState) -> dict[str, str]:
    """The node of each task that starts, of tasks of one category that end at these times, in this sequence."""
    queue = ReadyQueue(lambda _: True, lambda _: ())
    for number, task_id in enumerate(ends):
        queue.push(LANE, (0, number), task_id)
    with queue.walk() as walk:
        found = place(walk, lambda _: Allocation(NODE, {}), nodes, {}, ends.__getitem__)
    assert all(isinstance(each, Placement) for each in found)
    return {each.task: each.nodes[0].name for each in found if isinstance(each, Placement)}


def test_a_task_that_is_too_long_for_the_free_nodes_does_not_keep_shorter_ones_of_its_category_from_them() -> None:
    busy, free = NodeState("busy", "1", FULL, NODE, until=7200.0), NodeState("free", "2", NODE, NODE, until=600.0)
    assert placed({"long": 3600.0, "longer": 4000.0, "short": 300.0, "shorter": 200.0}, busy, free) == {"short": "free"}


def test_not_all_of_a_long_queue_is_searched_for_a_shorter_task() -> None:
    busy, free = NodeState("busy", "1", FULL, NODE, until=7200.0), NodeState("free", "2", NODE, NODE, until=600.0)
    ends = {f"long{number}": 3600.0 for number in range(MOST_TOO_LONG)}
    assert placed(ends | {"short": 300.0}, busy, free) == {"short": "free"}
    ends |= {f"longer{number}": 4000.0 for number in range(8)}
    assert placed(ends | {"short": 300.0}, busy, free) == {}


def test_nodes_that_are_meant_for_certain_tasks_are_taken_last() -> None:
    early = NodeState("early", "1", NODE, NODE, meant_for=("other",), until=600.0)
    side = NodeState("side", "2", NODE, NODE, meant_for=("wide",), until=700.0)
    spine = NodeState("spine", "3", NODE, NODE, until=7200.0)
    assert placed({"narrow": 300.0}, early, side, spine) == {"narrow": "spine"}
    assert placed({"first": 300.0, "wide": 300.0}, early, side, spine) == {"first": "spine", "wide": "side"}
    assert placed({"first": 300.0, "wide": 300.0, "last": 300.0}, early, side, spine) == {
        "first": "spine",
        "wide": "side",
        "last": "early",
    }
