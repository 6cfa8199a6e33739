"""What every sizer must do, for each resource."""
# ruff: noqa: S101, S311 - these are tests

from __future__ import annotations

import json
import math
import random

import msgspec

from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction, Sizer

LIMITS = Resources(cores=16, memory_bytes=64_000_000_000, disk_bytes=64_000_000_000, walltime_s=86_400)
RESOURCES = ("cores", "memory_bytes", "disk_bytes", "walltime_s")
LIES: tuple[float, ...] = (-5, 0, 1, 2**31, 2**63, 2**100, -math.inf, math.inf, math.nan, 5e-324, 1e300)
GARBAGE = (math.nan, math.inf, -math.inf, -1.0, 0.0, 2.0**63)


class SizerContract:
    """Limits hold, a retry gets more, a state survives JSON, and every answer is finite and explained."""

    def make(self, resource: str) -> Sizer:
        """Return a new sizer for that resource."""
        raise NotImplementedError

    def test_never_above_the_limits_and_never_below_what_failed(self) -> None:
        for resource in RESOURCES:
            for seed in range(20):
                draw = random.Random(seed)
                sizer = _trained(self.make(resource), resource, draw, draw.randrange(40))
                limit = LIMITS[resource] or math.inf
                failures: list[float] = []
                for _ in range(80):
                    answer = sizer.predict(_task(draw), failures, Context(LIMITS))
                    if isinstance(answer, CannotFit):
                        assert failures, "a task that asks for nothing fits before it has failed"
                        break
                    assert answer.value is not None
                    assert 0 < answer.value <= limit
                    assert not failures or answer.value > failures[-1]
                    failures.append(answer.value)
                else:
                    raise AssertionError("the limit was never reached: this would retry for ever")

    def test_a_hint_above_the_limits_cannot_fit(self) -> None:
        for resource in RESOURCES:
            answer = self.make(resource).predict(
                Task("t", "c", "true", hints={resource: 2 * (LIMITS[resource] or 1)}), [], Context(LIMITS)
            )
            assert isinstance(answer, CannotFit) or (answer.value or 0) <= (LIMITS[resource] or 0)

    def test_garbage_is_not_learned(self) -> None:
        for resource in RESOURCES:
            sizer = _trained(self.make(resource), resource, random.Random(1), 12)
            before = _answer(sizer)
            for value in GARBAGE:
                sizer.observe(_task(random.Random(2)), _outcome(resource, value, Ending.EXIT_CODE))
            if resource != "walltime_s":
                for value in GARBAGE[:4]:
                    sizer.observe(_task(random.Random(2)), _outcome(resource, value, Ending.SUCCESS))
            after = _answer(sizer)
            assert math.isfinite(after or 0)
            assert after == before

    def test_lies_are_survived(self) -> None:
        for resource in RESOURCES:
            limit = LIMITS[resource] or math.inf
            for lie in LIES:
                sizer = _trained(self.make(resource), resource, random.Random(1), 12)
                task = Task("t", "c", "true", outputs=("o",), input_bytes=lie if isinstance(lie, int) else 5)
                for value in (float(lie), 1e9, 2.0**61):
                    for ending in (Ending.SUCCESS, Ending.MEMORY, Ending.TIME, Ending.EXIT_CODE):
                        outcome = _outcome(resource, value, ending)
                        usage = msgspec.structs.replace(outcome.usage, wall_s=Measured(float(lie), Quality.EXACT))
                        sizer.observe(task, msgspec.structs.replace(outcome, usage=usage, ended_at=float(lie)))
                for asked in (task, _task(random.Random(2))):
                    answer = sizer.predict(asked, [], Context(LIMITS))
                    assert isinstance(answer, CannotFit) or 0 < (answer.value or 0) <= limit
                json.loads(json.dumps(sizer.state(), allow_nan=False))

    def test_a_lower_bound_is_not_a_peak(self) -> None:
        sizer = _trained(self.make("memory_bytes"), "memory_bytes", random.Random(1), 12)
        before = _answer(sizer)
        outcome = _outcome("memory_bytes", 1.0, Ending.MEMORY, Quality.LOWER_BOUND)
        sizer.observe(_task(random.Random(2)), outcome)
        after = _answer(sizer)
        assert after is not None and before is not None and after >= before

    def test_state_survives_json(self) -> None:
        for resource in RESOURCES:
            first = _trained(self.make(resource), resource, random.Random(3), 25)
            state = json.loads(json.dumps(first.state()))
            assert state["version"] >= 1
            second = self.make(resource)
            second.restore(state)
            assert second.state() == first.state()
            assert _answer(second) == _answer(first)

    def test_asking_changes_nothing_and_the_same_seed_gives_the_same_answer(self) -> None:
        for resource in RESOURCES:
            one = _trained(self.make(resource), resource, random.Random(4), 25)
            two = _trained(self.make(resource), resource, random.Random(4), 25)
            context = Context(LIMITS, (7, one.name, "t", 1))
            task = _task(random.Random(5))
            answers = [one.predict(task, [], context) for _ in range(3)]
            assert answers == [two.predict(task, [], context)] * 3

    def test_every_answer_is_explained(self) -> None:
        for resource in RESOURCES:
            for records in (0, 12):
                sizer = _trained(self.make(resource), resource, random.Random(6), records)
                answer = sizer.predict(_task(random.Random(6)), [], Context(LIMITS))
                assert answer.why.policy == sizer.name
                assert answer.why.rule
                assert len(answer.why.text) > 10

    def test_memory_stays_small(self) -> None:
        sizer = _trained(self.make("memory_bytes"), "memory_bytes", random.Random(8), 100)
        small = len(json.dumps(sizer.state()))
        _trained(sizer, "memory_bytes", random.Random(9), 2_000)
        assert len(json.dumps(sizer.state())) - small <= 64 * 2_000


def _task(draw: random.Random) -> Task:
    return Task("t", "c", "true", outputs=("o",), input_bytes=draw.randrange(10**9))


def _outcome(
    resource: str, value: float, ending: Ending = Ending.SUCCESS, quality: Quality = Quality.SAMPLED
) -> Outcome:
    field = {"walltime_s": "wall_s", "cores": "cores_peak"}.get(resource, resource)
    usage = msgspec.structs.replace(Usage(), **{field: Measured(value, quality)})
    return Outcome("t", 1, ending, started_at=0.0, ended_at=10.0, usage=usage)


def _trained(sizer: Sizer, resource: str, draw: random.Random, records: int) -> Sizer:
    limit = LIMITS[resource] or 1
    for _ in range(records):
        sizer.observe(_task(draw), _outcome(resource, draw.uniform(0.001, 0.7) * limit))
    return sizer


def _answer(sizer: Sizer) -> float | None:
    answer = sizer.predict(Task("t", "c", "true", outputs=("o",), input_bytes=1000), [], Context(LIMITS))
    assert isinstance(answer, Prediction)
    return answer.value
