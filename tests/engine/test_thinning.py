"""The sizer is told of fewer outcomes the larger a category grows, and of the same ones after a resume."""

from __future__ import annotations

from itertools import pairwise

import pytest

from headway.drivers.assemble import assemble
from headway.engine import thinning
from headway.engine.thinning import Thinning
from headway.model.records import RunStarted
from headway.model.task import Task
from tests.engine.runs import PretendRun


def test_all_outcomes_of_a_small_category_and_at_last_every_tenth() -> None:
    chosen = Thinning()
    taken = [number for number in range(1, 200_001) if chosen.takes("align")]
    gaps = [after - before for before, after in pairwise([0, *taken])]
    assert gaps[:10_000] == [1] * 10_000
    assert max(gaps) == 10 == gaps[-1]
    expected = 10_000 * sum(1 / every for every in range(1, 11))
    assert sum(number <= 100_000 for number in taken) == pytest.approx(expected, abs=20)


def test_each_category_counts_for_itself() -> None:
    chosen = Thinning()
    for _ in range(50_000):
        chosen.takes("align")
    assert all(chosen.takes("merge") for _ in range(10_000))


def test_a_replay_tells_the_sizer_of_the_same_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinning, "ALL", 4)
    run = PretendRun([Task(f"t{number}", "c", "-") for number in range(60)], sizer="ladder")
    seen = 0
    observe = run.engine.allocator.observe

    def counted(*arguments: object) -> None:
        nonlocal seen
        seen += 1
        observe(*arguments)

    run.engine.allocator.observe = counted  # type: ignore[method-assign]
    run.to_the_end()
    chosen = Thinning()
    assert seen == sum(chosen.takes("c") for _ in range(60)) < 20
    started = run.log[0]
    assert isinstance(started, RunStarted)
    again = assemble(started)
    for record in run.log:
        again.apply(record)
    assert again.allocator.state() == run.engine.allocator.state()
