"""What an outcome teaches about one resource: a peak, or that something was not enough."""

from __future__ import annotations

from headway.model.outcome import Ending, Outcome, Quality

ABSURD = 2.0**62  # no amount of anything
# In a run of milliseconds the kernel's clock ticks of CPU time say nothing of how many cores were busy.
SHORTEST_S = 0.5


def learned_peak(resource: str, outcome: Outcome) -> float | None:
    """The peak of a success; None where there is none to learn from: a failure, no figure, a bound, nonsense."""
    peak = outcome.usage.peak(resource)
    if outcome.ending is not Ending.SUCCESS or peak is None or peak.quality is Quality.LOWER_BOUND:
        return None
    hasty = outcome.ended_at - outcome.started_at < SHORTEST_S and peak.quality is not Quality.EXACT
    if resource == "cores" and hasty:
        return None
    return peak.value if 0 < peak.value < ABSURD else None


def exhausted_amount(resource: str, outcome: Outcome) -> float | None:
    """At least so much was needed, if this resource ran out: a censored observation, never a peak."""
    bound = outcome.usage.peak(resource) if outcome.ending.exhausted == resource else None
    return bound.value if bound is not None and 0 < bound.value < ABSURD else None


def run_s(outcome: Outcome) -> float:
    """How long the attempt took."""
    wall = outcome.usage.wall_s
    seconds = wall.value if wall else outcome.ended_at - outcome.started_at
    return seconds if 0 <= seconds < ABSURD else 0.0
