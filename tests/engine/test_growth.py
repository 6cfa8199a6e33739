"""The manager's work for a task does not grow with the workflow: lines of Python are counted, not seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest
from benchmarks.growth import SHAPES, run_in_virtual_time

SMALL, LARGE = 256, 1024  # squares of whole numbers, as layers need
MOST_GROWTH = 1.25
ROOMS = ("/headway/engine/", "/headway/planning/", "/headway/ordering/", "/headway/model/", "/headway/drivers/")


def lines_executed(work: Callable[[], object]) -> int:
    """How many lines of the engine, of plans and of orders are executed."""
    lines = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    def follow(frame: FrameType, event: str, argument: Any) -> Any:
        return count if any(room in frame.f_code.co_filename for room in ROOMS) else None

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if shape.counted == "tasks"])
def test_a_task_of_a_large_workflow_takes_as_many_steps_as_one_of_a_small_workflow(name: str) -> None:
    small, large = (lines_executed(partial(run_in_virtual_time, SHAPES[name], size)) / size for size in (SMALL, LARGE))
    assert large < MOST_GROWTH * small, (small, large)
