"""Very many observations and categories, and lies among them: memory stays bounded, and answers stay right.

What single absurd figures do is in the contracts (`headway.testing`), which every sizer and wait model passes.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from headway.drivers.assemble import sizers
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.task import Task
from headway.sizing import estimated, per_resource
from headway.sizing.base import Allocation, Context
from headway.sizing.estimators import base, linear_regression, percentile, prior_free, quantized_bucketing, time_rules
from headway.sizing.per_resource import PerResource
from headway.testing.sizer_contract import LIMITS
from headway.waiting import WAITS
from headway.waiting.base import Shape

FEW = 200


@pytest.fixture
def thin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let estimators thin their records, and allocators forget categories, as early as that."""
    for module in (base, linear_regression, percentile, prior_free, quantized_bucketing, time_rules):
        monkeypatch.setattr(module, "MOST_RECORDS", FEW)
    monkeypatch.setattr(per_resource, "MOST_CATEGORIES", FEW)


def used(number: int, memory_bytes: float, category: str = "c") -> tuple[Task, Outcome]:
    task = Task(f"t{number}", category, "true", outputs=("o",), input_bytes=int(memory_bytes / 100))
    exact = [Measured(value, Quality.EXACT) for value in (60.0, memory_bytes, 1.0)]
    usage = Usage(wall_s=exact[0], memory_bytes=exact[1], cores_peak=exact[2])
    return task, Outcome(task.id, 1, Ending.SUCCESS, 0.0, 60.0, usage)


@pytest.mark.parametrize("name", sorted(sizers()))
@pytest.mark.usefixtures("thin")
def test_records_are_thinned(name: str) -> None:
    sizer, draw = sizers()[name]("memory_bytes"), random.Random(1)
    sizes = []
    for number in range(10 * FEW):
        sizer.observe(*used(number, draw.uniform(1e9, 2e9)))
        if number % FEW == 0:
            sizes.append(len(json.dumps(sizer.state())))
    assert max(sizes) < 100 * max(FEW, 400)  # the runtime model and the ladder keep 400 and 256
    assert sizes[-1] < 2 * max(sizes[:4]) + 1000
    answer = sizer.predict(Task("t", "c", "true", input_bytes=15_000_000), [], Context(LIMITS))
    if name != "user":
        assert 0.9e9 < (answer.value or 0) < 6.5e10


@pytest.mark.usefixtures("thin")
def test_newer_records_count_more_after_thinning() -> None:
    sizer: Any = sizers()["greedy-bucketing"]("memory_bytes")
    for number in range(FEW + 1):
        sizer.observe(*used(number, 1e9 + number))
    before = max(sizer.estimator.state()["significances"])
    sizer.observe(*used(FEW + 1, 3e9))
    assert sizer.estimator.state()["significances"][-1] >= before


@pytest.mark.usefixtures("thin")
def test_of_very_many_categories_the_oldest_are_forgotten() -> None:
    allocator = PerResource(sizers()["max-seen"])
    for number in range(3 * FEW):
        allocator.observe(*_with_ticket(used(number, 3e9, f"c{number}")))
        allocator.observe(*_with_ticket(used(number, 5e9, "kept")))
    state = allocator.state()
    assert len(state["peaks"]) == len(state["successes"]) == FEW
    assert "kept" in state["successes"]
    assert {category for category, _, _ in state["sizers"]} == state["peaks"].keys()
    restored = PerResource(sizers()["max-seen"])
    restored.restore(json.loads(json.dumps(state)))
    answer = restored.allocate(Task("t", "kept", "true"), {}, Context(LIMITS))
    assert isinstance(answer, Allocation)
    assert answer.resources.memory_bytes == 5_000_000_000


def _with_ticket(seen: tuple[Task, Outcome]) -> tuple[Task, dict[str, Any], Outcome]:
    return seen[0], {}, seen[1]


def test_a_new_category_is_compared_with_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimated, "MOST_PEERS", 5)
    allocator = PerResource(sizers()["ladder"])
    allocator.tolerate(0.03)
    for number in range(20):
        allocator.observe(*_with_ticket(used(number, 1e9 + number, f"c{number}")))
    hinted = Task("t", "new", "true", hints={"memory_bytes": 8e9})
    answer = allocator.allocate(hinted, {}, Context(LIMITS))
    assert isinstance(answer, Allocation)
    assert answer.why["memory_bytes"].figures["others"] == 5


@pytest.mark.parametrize("name", sorted(WAITS))
def test_wait_models_keep_few_records(name: str) -> None:
    model, draw = WAITS[name](), random.Random(1)
    sizes = []
    for number in range(6000):
        shape = Shape(draw.randrange(1, 100_000), draw.uniform(1, 1e6), draw.uniform(0, 1e5))
        model.observe(shape, {}, draw.uniform(0, 1e5))
        if number % 1000 == 999:
            sizes.append(len(json.dumps(model.state())))
    assert sizes[-1] < 1.3 * sizes[3] + 1000
