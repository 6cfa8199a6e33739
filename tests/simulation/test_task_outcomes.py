"""How an attempt ends, by what is recorded of its task and what it was given."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.model.instance import Recorded
from headway.model.outcome import Ending, Measured, Quality
from headway.model.records import Launch
from headway.model.resources import Resources
from headway.simulation.task_outcomes import UNKNOWN_RUN_S, simulated_outcome

GB = 10**9


def launch(memory_bytes: int = 4 * GB, walltime_s: float | None = None) -> Launch:
    given = Resources(cores=2, memory_bytes=memory_bytes, disk_bytes=GB, walltime_s=walltime_s)
    return Launch(50.0, "task", 3, "node", "tag", given, "no earlier result", {})


def test_enough_of_everything() -> None:
    recorded = Recorded(run_s=100.0, cores=2, cores_used=1.5, memory_bytes=3 * GB)
    outcome = simulated_outcome(launch(), recorded, 50.0)
    assert (outcome.task, outcome.attempt, outcome.ending) == ("task", 3, Ending.SUCCESS)
    assert (outcome.started_at, outcome.ended_at) == (50.0, 150.0)
    usage = outcome.usage
    assert usage.wall_s == Measured(100.0, Quality.EXACT)
    assert usage.cpu_s == Measured(150.0, Quality.EXACT)
    assert usage.memory_bytes == Measured(3 * GB, Quality.EXACT)
    assert (usage.cores_peak, usage.cores_average) == (Measured(2, Quality.EXACT), Measured(1.5, Quality.EXACT))
    assert usage.method == "recorded"


def test_too_little_memory_kills_at_the_end_and_tells_a_lower_bound() -> None:
    outcome = simulated_outcome(launch(2 * GB), Recorded(run_s=100.0, memory_bytes=3 * GB), 50.0)
    assert (outcome.ending, outcome.ended_at) == (Ending.MEMORY, 150.0)
    assert outcome.usage.memory_bytes == Measured(2 * GB, Quality.LOWER_BOUND)
    assert outcome.usage.wall_s == Measured(100.0, Quality.EXACT)


def test_too_little_time_kills_then() -> None:
    outcome = simulated_outcome(launch(walltime_s=60.0), Recorded(run_s=100.0, cores_used=0.5), 50.0)
    assert (outcome.ending, outcome.ended_at) == (Ending.TIME, 110.0)
    assert outcome.usage.wall_s == Measured(60.0, Quality.LOWER_BOUND)
    assert outcome.usage.cpu_s == Measured(30.0, Quality.EXACT)


def test_time_runs_out_before_memory_is_counted() -> None:
    outcome = simulated_outcome(launch(2 * GB, 60.0), Recorded(run_s=100.0, memory_bytes=3 * GB), 0.0)
    assert (outcome.ending, outcome.ended_at) == (Ending.TIME, 60.0)


def test_exactly_enough_is_enough() -> None:
    outcome = simulated_outcome(launch(3 * GB, 100.0), Recorded(run_s=100.0, memory_bytes=3 * GB), 0.0)
    assert outcome.ending is Ending.SUCCESS


def test_a_task_of_which_nothing_is_known() -> None:
    for recorded in (None, Recorded()):
        outcome = simulated_outcome(launch(), recorded, 7.0)
        assert (outcome.ending, outcome.ended_at) == (Ending.SUCCESS, 7.0 + UNKNOWN_RUN_S)
        assert outcome.usage.memory_bytes is None
        assert outcome.usage.cpu_s is None


@given(
    run_s=st.floats(0, 1e6),
    memory_bytes=st.none() | st.integers(1, 2**40),
    given_bytes=st.integers(1, 2**40),
    walltime_s=st.none() | st.floats(0.1, 1e6),
)
def test_success_means_that_it_had_all_it_needed(
    run_s: float, memory_bytes: int | None, given_bytes: int, walltime_s: float | None
) -> None:
    recorded = Recorded(run_s=run_s, memory_bytes=memory_bytes)
    outcome = simulated_outcome(launch(given_bytes, walltime_s), recorded, 0.0)
    enough = (memory_bytes or 0) <= given_bytes and (walltime_s is None or walltime_s >= run_s)
    assert (outcome.ending is Ending.SUCCESS) == enough
    assert outcome.ended_at <= run_s
    assert walltime_s is None or outcome.ended_at <= walltime_s
