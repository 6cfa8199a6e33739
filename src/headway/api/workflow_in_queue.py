"""A workflow in a simulated queue: what `simulate` and `plan` share, and the queue that `plan` works on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from headway.api.keywords import chosen_names
from headway.api.queues import AtLeastOne, Backfill, QueueSettings
from headway.model.errors import InputError
from headway.model.units import format_duration, parse_duration

if TYPE_CHECKING:
    from headway.kernels.batch.queue import BatchQueue
    from headway.model.batch_log import BatchJobs
    from headway.model.instance import Instance
    from headway.model.job import Asks
    from headway.model.records import SeenWait
    from headway.model.resources import Resources


# As Slurm's backfill scheduler, which plans a reservation for every waiting job; most sites also limit the jobs that a
# user may have in the queue.
USUAL_BACKFILL: Backfill = "conservative"
USUAL_MOST_JOBS = 16
OF_JOBS = ("partition", "account", "qos", "constraint", "reservation", "clusters")  # what Slurm is told of jobs


class PlanSettings(QueueSettings, frozen=True, kw_only=True):
    """The queue (`on`), the moment, the plans to compare, and what a good plan is."""

    on: str = ""  # a log's file, lublin, or slurm
    backfill: Backfill = USUAL_BACKFILL
    start: float | str | None = None  # seconds, or text such as 8d; None: halfway through the log
    plan: tuple[str, ...] = ()  # none: all
    most_jobs: AtLeastOne | None = None
    prefer: float | str = "fast"  # fast, cheap, or a number from 0 (fast) to 1 (cheap)
    deadline: float | str | None = None  # seconds, or text such as 12h: the cheapest plan that most likely keeps it
    futures: AtLeastOne | None = None  # None: 5, with a deadline 20
    partition: str | None = None  # slurm, as the five below
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    reservation: str | None = None
    clusters: str | None = None
    history: str = ""  # slurm: the history's location; empty: the user's own
    set: dict[str, Any] = field(default_factory=dict)  # slurm: replaces values of `config` in the workflow file


class QueueAt(Struct, frozen=True):
    """A workflow, and a queue at the moment of planning."""

    instance: Instance
    future: Callable[[int], BatchQueue]  # the queue with an imagined future, by number
    start_s: float
    source: dict[str, Any]  # where the queue comes from, for the JSON document
    seen_waits: tuple[SeenWait, ...] = ()
    node: Resources | None = None  # None: a node has what the largest task needs
    warnings: tuple[str, ...] = ()
    asks: Asks | None = None  # None: the queue counts nodes


def plans_of(names: tuple[str, ...]) -> list[str]:
    """The plans to simulate: `names`, or all if there are none."""
    from headway.drivers.assemble import plans
    from headway.planning import PLANS

    return chosen_names(names, plans(), "plan", "--plan") or list(PLANS)


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
