"""`TaskLog`: what the tasks of past runs used and asked for, in the order in which they started."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from headway.model.resources import Resources


class LoggedTask(Struct, frozen=True, omit_defaults=True, gc=False):
    """One task that succeeded: its peaks and its requests by resource name.

    `input_bytes` is only ever what was known before the task ran. `profile` is its memory over time: the maximum in
    each of equally long parts of its run time.
    """

    id: str
    category: str
    run_s: float
    used: dict[str, float]
    asked: dict[str, float] = {}
    input_bytes: int | None = None
    started_at: float = 0.0
    profile: Sequence[float] = ()


class TaskLog(Struct):
    """A log, and what is known of where it comes from."""

    name: str
    tasks: list[LoggedTask]  # in start order
    resources: tuple[str, ...]  # that it has figures of
    machine: Resources  # on which such tasks ran, or commonly run
    kills: tuple[str, ...]  # resources that ended an attempt which used more than it was given
    failed_after_s: dict[str, float] = field(default_factory=dict)  # as observed, by the resource that ran out
    left_out: int = 0  # rows that are no task with figures
