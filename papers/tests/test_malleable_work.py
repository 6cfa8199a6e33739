"""Malleable tasks: Amdahl's law, and how attempts end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model.outcome import Ending, Quality
from headway.model.records import Launch
from headway.model.resources import Resources
from headway_papers.malleable_work import MalleableWork, malleable_outcome

GB = 10**9


def launch(cores: float, memory_bytes: int) -> Launch:
    return Launch(0.0, "t", 2, "n", "j", Resources(cores=cores, memory_bytes=memory_bytes), "", {})


def test_amdahl_by_hand() -> None:
    work = MalleableWork(120.0, 0.75, GB)
    assert [work.run_s(cores) for cores in (1, 2, 3)] == [120.0, 75.0, 60.0]
    assert work.busy_cores(3) == 2.0
    assert work.run_s(0.5) == 240.0


def test_splitting_costs_work_but_no_time() -> None:
    work = MalleableWork(100.0, 0.5, GB, overhead=0.02)
    assert work.run_s(5) == 60.0
    assert work.busy_cores(5) * work.run_s(5) == pytest.approx(108.0)
    assert MalleableWork(100.0, 1.0, GB, overhead=0.5).busy_cores(8) == 8.0, "no more than there are"


def test_enough_memory_is_a_success() -> None:
    outcome = malleable_outcome(launch(2, GB), MalleableWork(100.0, 0.5, GB), 10.0)
    assert (outcome.ending, outcome.attempt, outcome.ended_at) == (Ending.SUCCESS, 2, 85.0)
    assert outcome.usage.memory_bytes is not None and outcome.usage.memory_bytes.value == GB
    assert outcome.usage.cores_average is not None and outcome.usage.cores_average.value == pytest.approx(100 / 75)


def test_too_little_memory_ends_it_on_the_way() -> None:
    outcome = malleable_outcome(launch(1, GB - 1), MalleableWork(100.0, 0.5, GB, fails_after=0.25), 10.0)
    assert (outcome.ending, outcome.ended_at) == (Ending.MEMORY, 35.0)
    assert outcome.usage.memory_bytes is not None
    assert (outcome.usage.memory_bytes.value, outcome.usage.memory_bytes.quality) == (GB - 1, Quality.LOWER_BOUND)


@given(st.floats(0.1, 1e5), st.floats(0, 1), st.integers(1, 63))
def test_more_cores_never_take_longer_nor_are_busier_than_they_are(
    one_core_s: float, parallel: float, cores: int
) -> None:
    work = MalleableWork(one_core_s, parallel, 1)
    assert work.run_s(cores + 1) <= work.run_s(cores) * (1 + 1e-12)
    assert work.busy_cores(cores) <= cores
    assert work.busy_cores(cores) * work.run_s(cores) == pytest.approx(one_core_s), "work is neither lost nor made"
