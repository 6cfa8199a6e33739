"""Observations and waits to try things with."""

from __future__ import annotations

from hypothesis import strategies as st

from headway.history.base import KeptWait
from headway.model.observation import Observation
from headway.model.outcome import Ending, Measured, Quality, Usage
from headway.model.records import SeenWait
from headway.model.resources import Resources

GB = 10**9


def observation(
    number: int = 1,
    *,
    category: str = "count",
    run: str = "r1",
    attempt: int = 1,
    ending: Ending = Ending.SUCCESS,
    memory: float = 0.5 * GB,
    ended_at: float | None = None,
) -> Observation:
    """Task `number` of a category, which ended a second after the one before."""
    end = 1000.0 + number if ended_at is None else ended_at
    quality = Quality.EXACT if ending is Ending.SUCCESS else Quality.LOWER_BOUND
    usage = Usage(Measured(2.0, Quality.EXACT), None, Measured(memory, quality), method="polling")
    given = Resources(cores=1, memory_bytes=GB)
    return Observation(category, run, f"{category}[{number}]", attempt, ending, end - 2, end, given, usage, 10, {})


_amounts = st.floats(0, 1e15)
_times = st.floats(0, 1e10)
_measured = st.none() | st.builds(Measured, _amounts, st.sampled_from(Quality))
# No name of a task or file has a zero byte in it, and no text of PostgreSQL's can have one.
_names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)

observations = st.builds(
    Observation,
    category=_names,
    run=_names,
    task=_names,
    attempt=st.integers(1, 9),
    ending=st.sampled_from([ending for ending in Ending if not ending.blameless]),
    started_at=_times,
    ended_at=_times,
    given=st.builds(
        Resources,
        cores=_amounts,
        memory_bytes=st.integers(0, 2**60),
        walltime_s=st.none() | _amounts,
        extras=st.dictionaries(_names, _amounts, max_size=2),
    ),
    usage=st.builds(
        Usage,
        wall_s=_measured,
        cpu_s=_measured,
        memory_bytes=_measured,
        disk_bytes=_measured,
        cores_peak=_measured,
        cores_average=_measured,
        method=_names,
    ),
    input_bytes=st.none() | st.integers(0, 2**60),
    hints=st.dictionaries(_names, _amounts, max_size=3),
)


def kept_wait(number: int, *, run: str = "r1", waited_s: float = 60.0, partition: str = "") -> KeptWait:
    return KeptWait(run, f"job {number}", partition, 1000.0 + number, SeenWait(2, 3600.0, None, waited_s))


kept_waits = st.builds(
    KeptWait,
    run=st.sampled_from(["", "r1", "r2"]),
    job=st.integers(0, 50).map(str),
    partition=st.sampled_from(["", "debug", "größe"]),
    submitted_at=st.floats(0, 1e10),
    wait=st.builds(
        SeenWait, st.integers(1, 10**6), st.floats(0, 1e9), st.none() | st.floats(0, 1e9), st.floats(0, 1e9)
    ),
)
