"""What `plan` is asked, and the queue that it then works on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from headway.api.queues import AtLeastOne, Backfill, QueueSettings

if TYPE_CHECKING:
    from headway.kernels.batch.queue import BatchQueue
    from headway.model.instance import Instance
    from headway.model.records import SeenWait
    from headway.model.resources import Resources


class PlanSettings(QueueSettings, frozen=True, kw_only=True):
    """The queue (`on`), the moment, the plans to compare, and what a good plan is."""

    on: str = ""  # a log's file, lublin, or slurm
    backfill: Backfill = "conservative"
    start: float | str | None = None  # seconds, or text such as 8d; None: halfway through the log
    plan: tuple[str, ...] = ()  # none: all
    most_jobs: AtLeastOne | None = None
    prefer: float | str = "fast"  # fast, cheap, or a number from 0 (fast) to 1 (cheap)
    futures: AtLeastOne = 5
    partition: str | None = None  # slurm, as the three below
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    history: str = ""  # slurm: the history's location; empty: the user's own


class QueueAt(Struct, frozen=True):
    """A workflow, and a queue at the moment of planning."""

    instance: Instance
    future: Callable[[int], BatchQueue]  # the queue with an imagined future, by number
    start_s: float
    source: dict[str, Any]  # where the queue comes from, for the JSON document
    seen_waits: tuple[SeenWait, ...] = ()
    node: Resources | None = None  # None: a node has what the largest task needs
    warnings: tuple[str, ...] = ()
