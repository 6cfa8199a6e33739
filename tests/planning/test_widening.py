"""What is asked for before it is needed."""

from __future__ import annotations

import math

import pytest
from msgspec import structs

from headway.model.task import Task
from headway.planning.base import View
from headway.planning.forecast import forecast
from headway.planning.widening import FEWEST_WAITS, Later, Missing
from headway.waiting.base import Shape
from tests.planning.test_narrowing import job, line, seen

RUN_S = 100.0

TASKS = [*line(4), *(Task(f"w{n}", "c", "-", parents=("t3",)) for n in range(6))]  # in 400 s six side by side


def later(wait_s: float, waits: int = FEWEST_WAITS) -> Later:
    """In whose queue every job waits so long."""
    found = Later()
    for _ in range(waits):
        found.observe(Shape(4, 3600.0), wait_s)
    return found


def held(nodes: int, wanted: int = 6) -> View:
    """An anchor that was as wide as the wide stage, and has given back all but so many nodes."""
    anchor = job("busy", wanted, role="anchor")
    anchor.request = anchor.request.without(wanted - nodes)
    return seen(TASKS, [anchor])


def due(later: Later, view: View, soon_s: float = 0.0) -> Missing | None:
    return later.due(view, TASKS, view.packing(TASKS), lambda task: RUN_S, 0.0, soon_s)


def test_the_wide_stage_is_asked_for_the_wait_ahead() -> None:
    assert due(later(500.0), held(2)) == Missing(units=4, needed_s=400.0, for_s=100.0)
    assert due(later(300.0), held(2)) is None  # not yet
    assert due(later(300.0), held(2), soon_s=120.0) is not None


def test_nothing_is_asked_for_that_is_held_or_on_its_way() -> None:
    assert due(later(500.0), held(6)) is None
    coming = held(2)
    pending = job("ahead", 4, role="ahead")
    pending.started_at = None
    assert due(later(500.0), structs.replace(coming, live=[*coming.live, pending])) is None


def test_without_known_waits_nothing_is_given_back_or_asked_for() -> None:
    few = later(0.0, FEWEST_WAITS - 1)
    assert due(few, held(2), soon_s=1e9) is None


@pytest.mark.parametrize(
    ("needed_s", "planned_s", "cost"),
    [
        (4000.0, 0.0, 0.0),  # it can be asked for in time
        (50.0, 0.0, math.inf),  # it would be asked for at once
        (4000.0, 4010.0, 0.0),  # the run would end 10 s later, and may end 2% later
        (4000.0, 4011.0, math.inf),  # the queue's plan of now counts, whatever other jobs have waited
    ],
)
def test_what_asking_again_costs(needed_s: float, planned_s: float, cost: float) -> None:
    view, known = held(6), later(0.0)
    packing = view.packing(TASKS)
    expected = forecast(view, TASKS, packing, lambda task: RUN_S, 6)
    assert expected.ends_s == 500.0
    assert known.cost_of_asking_again(expected, packing, 4, needed_s, lambda *job: planned_s) == cost
