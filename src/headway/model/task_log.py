"""`TaskLog`: what the tasks of past runs used and asked for, in the order in which they started."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct, field

from headway.model.resources import Resources


class LoggedTask(Struct, frozen=True, omit_defaults=True, gc=False):
    """A successful task: what it used and asked for by resource name.

    Of memory and disk it used its peak, of cores its peak or, where a log has no more, those that were busy on average.
    `input_bytes` is the input size if it was known before the task ran. `profile` is its memory over time: the maximum
    in each of equally long parts of its run time. `name` is what the log calls it, where the category is
    only a part of that.
    """

    id: str
    category: str
    run_s: float
    used: dict[str, float]
    asked: dict[str, float] = {}
    input_bytes: int | None = None
    started_at: float = 0.0
    profile: Sequence[float] = ()
    name: str = ""


class TaskLog(Struct):
    """A log of tasks, and the machine that they ran on."""

    name: str
    tasks: Collection[LoggedTask]  # in start order
    resources: tuple[str, ...]  # for which it has measurements
    machine: Resources  # on which such tasks ran, or commonly run
    kills: tuple[str, ...]  # resources that ended an attempt which used more than it was given
    failed_after_s: dict[str, float] = field(default_factory=dict)  # as observed, by the resource that ran out
    left_out: int = 0  # rows that were skipped: no task, no measurements, or not readable
    bad_rows: int = 0  # those that were not readable
    first_bad: str = ""  # what was wrong with the first of these, as a sentence with its place
    format: str = ""  # the name of its format, such as nextflow; empty if the log is not from a file
