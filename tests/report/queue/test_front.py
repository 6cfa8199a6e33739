"""The picture of plans: time against node-hours."""

from __future__ import annotations

import pytest

from headway.report.queue.front import front_picture
from headway.report.queue.through_queue import Alternative


def plan(name: str, hours: float, node_hours: float, *, front: bool = False) -> Alternative:
    return Alternative(name, hours * 3600, 0.0, 0.0, 0.0, 1.0, node_hours, 4 * node_hours, 0.0, on_the_front=front)


PLANS = [
    plan("soonest", 10, 400, front=True),
    plan("between", 12, 200, front=True),
    plan("cheapest", 20, 100, front=True),
    plan("beaten", 16, 400),
]


def test_faster_plans_are_lower_and_cheaper_ones_further_left() -> None:
    lines = [line.plain for line in front_picture(PLANS, PLANS[1], 50)]
    assert lines == [
        "20h 00m │● cheapest",
        "        │",
        "        │",
        "        │",
        "        │                             ○ beaten",
        "        │",
        "        │",
        "        │",
        "        │          ● between <-",
        "        │",
        "10h 00m │                             ● soonest",
        "        └─────────────────────────────────────────",
        "         100                          400 node-hours"[:50],
    ]


def test_where_the_queue_counts_cores_the_cost_is_in_core_hours() -> None:
    *_, axis = front_picture(PLANS, PLANS[0], 80, in_cores=True)
    assert axis.plain.split() == ["400", "1,600", "core-hours"]


@pytest.mark.parametrize("width", [20, 30, 40, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(len(line.plain) for line in front_picture(PLANS, PLANS[0], width)) <= width


def test_names_never_cover_each_other() -> None:
    """All plans at one point: as many names as there is room for, each of them whole."""
    alike = [plan(f"plan-{number}", 10, 100) for number in range(10)]
    words = " ".join(line.plain for line in front_picture(alike, alike[0], 60)).split()
    named = [word for word in words if word.startswith("plan-")]
    assert "plan-0" in named
    assert set(named) <= {it.plan for it in alike}
    assert len(named) == len(set(named)) >= 2


def test_a_single_plan_needs_no_picture() -> None:
    assert front_picture(PLANS[:1], PLANS[0], 80) == []
