"""What every allocator that chooses several resources at once must do."""
# ruff: noqa: S101, S311 - these are tests

from __future__ import annotations

import json
import math
import random

from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.task import Task
from headway.sizing.base import Allocation, Allocator, CannotFit, Context
from headway.testing.sizer_contract import GARBAGE, LIMITS


class AllocatorContract:
    """Limits hold, a retry gets more, a state survives JSON, and every answer is finite and explained."""

    def make(self) -> Allocator:
        """Return a new allocator."""
        raise NotImplementedError

    def test_never_above_the_limits_and_never_below_what_failed(self) -> None:
        for seed in range(20):
            draw = random.Random(seed)
            allocator = trained(self.make(), draw, draw.randrange(60))
            failures: list[float] = []
            for attempt in range(1, 80):
                answer = allocator.allocate(_task(draw), {"memory_bytes": failures}, _asked(seed, attempt))
                if isinstance(answer, CannotFit):
                    assert failures, "a task that asks for nothing fits before it has failed"
                    break
                assert answer.resources.fits_in(LIMITS)
                assert answer.resources.cores > 0
                assert answer.resources.memory_bytes > (failures[-1] if failures else 0)
                failures.append(answer.resources.memory_bytes)
            else:
                raise AssertionError("the limit was never reached: this would retry for ever")

    def test_a_hint_above_the_limits_cannot_fit(self) -> None:
        for resource in ("cores", "memory_bytes"):
            hints = {resource: 2 * (LIMITS[resource] or 1)}
            answer = self.make().allocate(Task("t", "c", "true", hints=hints), {}, Context(LIMITS))
            assert isinstance(answer, CannotFit) or answer.resources.fits_in(LIMITS)

    def test_garbage_is_survived(self) -> None:
        allocator = trained(self.make(), random.Random(1), 12)
        for value in GARBAGE:
            for ending in (Ending.SUCCESS, Ending.MEMORY, Ending.EXIT_CODE, Ending.CANCELLED):
                ticket = _answer(allocator).ticket
                bad = Measured(value, Quality.EXACT)
                usage = Usage(bad, bad, bad, bad, bad, bad)
                allocator.observe(_task(random.Random(2)), ticket, Outcome("t", 1, ending, 0.0, 10.0, usage))
                allocator.observe(_task(random.Random(2)), {}, Outcome("t", 1, ending, 0.0, 10.0, usage))
        answer = _answer(allocator)
        assert answer.resources.fits_in(LIMITS)
        assert math.isfinite(answer.resources.cores)

    def test_state_survives_json(self) -> None:
        first = trained(self.make(), random.Random(3), 40)
        state = json.loads(json.dumps(first.state()))
        assert state["version"] >= 1
        second, third = self.make(), self.make()
        second.restore(state)
        third.restore(state)
        assert second.state() == first.state()
        assert _answer(second) == _answer(third)
        trained(second, random.Random(5), 20)
        trained(third, random.Random(5), 20)
        assert second.state() == third.state()

    def test_asking_changes_nothing_and_the_same_seed_gives_the_same_answer(self) -> None:
        one, two = (trained(self.make(), random.Random(4), 25) for _ in range(2))
        before = one.state()
        answers = [one.allocate(_task(random.Random(5)), {}, _asked(7, 1)) for _ in range(3)]
        assert answers == [two.allocate(_task(random.Random(5)), {}, _asked(7, 1))] * 3
        assert one.state() == before

    def test_every_answer_is_explained(self) -> None:
        for records in (0, 30):
            answer = _answer(trained(self.make(), random.Random(6), records))
            for resource in ("cores", "memory_bytes"):
                assert answer.why[resource].rule
                assert len(answer.why[resource].text) > 10

    def test_memory_stays_small(self) -> None:
        allocator = trained(self.make(), random.Random(8), 100)
        small = len(json.dumps(allocator.state()))
        trained(allocator, random.Random(9), 1_000)
        assert len(json.dumps(allocator.state())) - small <= 64 * 1_000


def trained(allocator: Allocator, draw: random.Random, outcomes: int) -> Allocator:
    """Let the allocator size and learn from that many attempts, some of which run out of memory."""
    for number in range(outcomes):
        task = _task(draw)
        answer = allocator.allocate(task, {}, _asked(number, 1))
        assert isinstance(answer, Allocation)
        given = answer.resources
        needs, seconds = draw.uniform(0.01, 0.4) * LIMITS.memory_bytes, draw.uniform(1, 100)
        ending = Ending.SUCCESS if needs <= given.memory_bytes else Ending.MEMORY
        quality = Quality.EXACT if ending is Ending.SUCCESS else Quality.LOWER_BOUND
        usage = Usage(
            wall_s=Measured(seconds, quality),
            memory_bytes=Measured(min(needs, given.memory_bytes), quality),
            cores_average=Measured(draw.uniform(0, given.cores), Quality.EXACT),
            cores_peak=Measured(given.cores, Quality.EXACT),
        )
        ticket = json.loads(json.dumps(answer.ticket))
        allocator.observe(task, ticket, Outcome("t", 1, ending, 0.0, seconds, usage))
    return allocator


def _task(draw: random.Random) -> Task:
    hints = {"cores": 4.0, "memory_bytes": 16e9}
    return Task("t", "c", "true", outputs=("o",), hints=hints, input_bytes=draw.randrange(10**9))


def _asked(number: int, attempt: int) -> Context:
    return Context(LIMITS, (0, "", f"t{number}", attempt))


def _answer(allocator: Allocator) -> Allocation:
    answer = allocator.allocate(_task(random.Random(0)), {}, _asked(3, 1))
    assert isinstance(answer, Allocation)
    return answer
