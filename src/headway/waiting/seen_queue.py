"""What a reading of the queue tells a wait model besides the plan."""

from __future__ import annotations

from headway.model.records import QueueRead

_HOUR_S, _DAY_S = 3600.0, 86_400.0
_THURSDAY = 3  # the weekday of 1970-01-01; Monday is 0


def seen_in(read: QueueRead) -> dict[str, float | str]:
    """The values of `Shape.seen` that follow from a reading of the queue, which needs no further call to Slurm.

    Hour and weekday are those of UTC. The number of waiting jobs and the work ahead are there if the reading has them.

    >>> seen_in(QueueRead(1_700_000_000.0, [], [], waiting=12, ahead_s=5400.0))
    {'hour': 22.0, 'weekday': 1.0, 'jobs waiting': 12.0, 'work ahead': 5400.0}
    """
    seen: dict[str, float | str] = {
        "hour": read.at % _DAY_S // _HOUR_S,
        "weekday": (read.at // _DAY_S + _THURSDAY) % 7,
    }
    counted = {"jobs waiting": read.waiting, "work ahead": read.ahead_s}
    return seen | {name: float(value) for name, value in counted.items() if value is not None}
