"""A workflow that passes through a simulated queue under several plans: what `simulate` and `plan` have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.api.keywords import chosen_names
from headway.model.errors import InputError
from headway.model.units import format_duration, parse_duration

if TYPE_CHECKING:
    from headway.model.batch_log import BatchJobs


def plans_of(names: tuple[str, ...]) -> list[str]:
    """The plans to simulate: `names`, or all if there are none."""
    from headway.planning import PLANS

    return chosen_names(names, PLANS, "plan", "--plan") or list(PLANS)


def seconds_of(span: float | str) -> float:
    """A length of time in seconds, given as a number of seconds or as text such as `36h`."""
    return parse_duration(span) if isinstance(span, str) else float(span)


def start_of(start: float | str | None, jobs: BatchJobs) -> float:
    """When the workflow begins, in seconds since the first submission; by default halfway through the log."""
    last_s = float(jobs.submit_s[-1])
    if start is None:
        return float(round(last_s / 2))
    start_s = seconds_of(start)
    if start_s > last_s:
        raise InputError(
            f"nothing is known of the queue that late: the last job comes after {format_duration(last_s)}",
            where="--start",
            todo="start the workflow earlier",
        )
    return start_s
