"""The simulated outcome of an attempt, from the recorded figures of its task."""

from __future__ import annotations

from headway.model.instance import Recorded
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.records import Launch

UNKNOWN_RUN_S = 1.0  # run time of a task that has no recorded one


def simulated_outcome(launch: Launch, recorded: Recorded | None, started_at: float) -> Outcome:
    """An attempt uses what was recorded. With less time it is killed at its limit, with less memory at its end."""
    known = recorded or Recorded()
    run_s = UNKNOWN_RUN_S if known.run_s is None else known.run_s
    given = launch.ceiling or launch.resources
    ending, lasted_s = Ending.SUCCESS, run_s
    if known.memory_bytes is not None and known.memory_bytes > given.memory_bytes:
        ending = Ending.MEMORY
    if given.walltime_s is not None and given.walltime_s < run_s:
        ending, lasted_s = Ending.TIME, given.walltime_s
    usage = Usage(
        wall_s=_measured(lasted_s, ending is Ending.TIME),
        cpu_s=_measured(None if known.cores_used is None else known.cores_used * lasted_s),
        memory_bytes=_measured(
            given.memory_bytes if ending is Ending.MEMORY else known.memory_bytes, ending is Ending.MEMORY
        ),
        cores_peak=_measured(known.cores),
        cores_average=_measured(known.cores_used),
        method="recorded",
    )
    return Outcome(launch.task, launch.attempt, ending, started_at, started_at + lasted_s, usage)


def saved_outcome(outcome: Outcome, at: float) -> Outcome:
    """The outcome of an attempt that is told at a time to save its checkpoint, and does so at once."""
    usage = Usage(wall_s=_measured(at - outcome.started_at, ran_out=True), method="recorded")
    return Outcome(outcome.task, outcome.attempt, Ending.SAVED, outcome.started_at, at, usage)


def _measured(value: float | None, ran_out: bool = False) -> Measured | None:
    return None if value is None else Measured(value, Quality.LOWER_BOUND if ran_out else Quality.EXACT)
