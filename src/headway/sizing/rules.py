"""The rules that several sizers share: what to give when nothing was learned, and after something ran out.

Each answer's `Why` names the rule and the figures it was computed from, so that anyone can compute it again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from headway.model.records import Figure, Why
from headway.model.resources import Resources, describe
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction

# After this many time-outs more time is not the cure: a task that hangs would otherwise run twice as long for ever.
MOST_TIMEOUTS = 3


def without_record(policy: str, resource: str, task: Task, context: Context) -> Prediction | CannotFit:
    """The user's hint, or what the context says to start with, or a fair share of the machine: 1 core, and what there
    is of memory and disk for each core."""
    limits = context.limits
    limit = limits[resource]
    hint = task.hints.get(resource)
    if hint is not None:
        why = Why(policy, "hint", {"hint": hint, "limit": limit}, f"the workflow asks for {describe(resource, hint)}")
        if limit is not None and hint > limit:
            return CannotFit(resource, hint, limit, why)
        return Prediction(hint, why)
    if resource in context.start:
        start = context.start[resource]
        value = start if limit is None else min(start, limit)
        why = Why(
            policy, "start", {"start": start, "limit": limit}, "nothing is known yet: what everything starts with"
        )
        return Prediction(value, why)
    if resource == "walltime_s":
        return Prediction(limit, Why(policy, "no-limit", {"limit": limit}, "nothing says how long it may take"))
    if resource == "cores":
        why = Why(policy, "one-core", {"limit": limit}, "nothing is known yet: one core")
        return Prediction(min(1.0, limit or 0.0), why)
    if resource == "disk_bytes" and not task.isolated:
        return Prediction(0, Why(policy, "in-place", {}, "it runs in the workflow's directory, not in one of its own"))
    cores = min(task.hints.get("cores", 1.0), limits.cores)
    figures: dict[str, Figure] = {"limit": limit, "machine_cores": limits.cores, "task_cores": cores}
    text = f"nothing is known yet: the share of the machine that goes with {describe('cores', cores)}"
    value = whole(resource, (limit or 0) * cores / limits.cores) if limits.cores else 0
    return Prediction(value, Why(policy, "share-of-machine", figures, text))


def after_failure(
    policy: str, resource: str, failures: Sequence[float], limits: Resources, at_least: float = 0.0
) -> Prediction | CannotFit:
    """Twice what ran out, or `at_least` if that is more; up to the limit, and not beyond."""
    limit = limits[resource]
    given = failures[-1]
    figures: dict[str, Figure] = {"given": given, "at_least": at_least, "limit": limit}
    if limit is not None and given >= limit:
        why = Why(policy, "at-the-limit", figures, f"{describe(resource, given)} ran out, and there is no more here")
        return CannotFit(resource, 2 * given, limit, why)
    if resource == "walltime_s" and len(failures) >= MOST_TIMEOUTS:
        text = f"it ran out of time {len(failures)} times, last after {describe(resource, given)}"
        why = Why(policy, "too-many-timeouts", figures, text)
        return CannotFit(resource, 2 * given, given, why, reason="too-many-timeouts")
    wanted = max(2 * given, at_least)
    value = wanted if limit is None else min(wanted, limit)
    return Prediction(
        whole(resource, value), Why(policy, "doubled", figures, f"{describe(resource, given)} ran out: twice that")
    )


def whole(resource: str, value: float) -> float:
    """Bytes and GPUs come in whole numbers."""
    return value if resource in ("cores", "walltime_s") else math.floor(value)
