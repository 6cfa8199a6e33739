"""How much time to ask of a batch queue: `WalltimeFromQuantiles`, and the rule behind it, `cheapest_request`.

A request that is a second longer starts `WAIT_PER_S` seconds later, since it fits into fewer gaps. A request of r
seconds that is too short loses the attempt, and the retry waits in the queue once more. If a share p of the runs takes
longer than r, a request delays the task by

    WAIT_PER_S · r  +  p · (r + WAIT_S)

seconds on average, beyond the run time and a first wait. The rule asks for the quantile at which this is least. For
short tasks it is a high one, since a few minutes cost less than another wait. Once a category is known, p is at most
the tolerated share of failures. No request is more than half as long again as the longest run so far would be with the
task's input: a retry costs less than the days that a guess about the tail may add. `python -m benchmarks.run_times`
measures both constants in logs of batch queues.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from headway.model.outcome import Outcome
from headway.model.records import Figure, Why
from headway.model.task import Task
from headway.model.units import format_duration
from headway.sizing.base import CannotFit, Context, Prediction, Sizer
from headway.sizing.calibrated_runtimes import CalibratedRuntimes
from headway.sizing.failure_price import KNOWN
from headway.sizing.resource_rules import WALLTIME

# Means of small jobs in five logs of batch queues: the wait for each second asked for, and that of short requests.
WAIT_PER_S, WAIT_S = 0.25, 1800.0
MORE_S = 60.0  # starting and stopping takes time as well
MINUTE_S = 60.0
FURTHEST = 1.5  # times the longest run: how far a tail is trusted that no run has shown
SHARES = (0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.003, 0.001, 0.0001)  # of time-outs, to choose from


class Request(Struct, frozen=True):
    """The time to ask for, and what it is computed from."""

    share: float  # of the runs that take longer
    quantile_s: float  # the run time that this share exceeds
    seconds: float  # whole minutes, one more for starting and stopping


def cheapest_request(times: CalibratedRuntimes, task: Task, tolerance: float) -> Request | None:
    """Return the request that delays `task` least; None where nothing is known.

    `tolerance` is the greatest share of time-outs to accept.
    """
    best, least_s, longest_s = None, math.inf, times.longest(task)
    tolerance = max(SHARES[-1], min(tolerance, SHARES[0]))
    for share in (tolerance, *(each for each in SHARES if each < tolerance)):
        quantile_s = times.quantile(task, 1.0 - share)
        if quantile_s is None or longest_s is None:
            return None
        quantile_s = min(quantile_s, FURTHEST * longest_s)
        seconds = whole_minutes(quantile_s)
        delay_s = WAIT_PER_S * seconds + share * (seconds + WAIT_S)
        if delay_s < least_s:
            best, least_s = Request(share, quantile_s, seconds), delay_s
    return best


def whole_minutes(seconds: float) -> float:
    """Return what to ask of a batch system for a run time: whole minutes, with one more for starting and stopping.

    >>> whole_minutes(70.0)
    180.0
    """
    return MINUTE_S * math.ceil((seconds + MORE_S) / MINUTE_S - 1e-3)  # run times were logarithms


class WalltimeFromQuantiles(Sizer):
    """Asks for the time that delays a task least, and after a time-out for twice as much.

    Where nothing limits time, the rules of walltime decide. How long the workflow says that a task takes is for plans.
    """

    def __init__(self, name: str) -> None:
        super().__init__(WALLTIME.resource)
        self.name = name
        self.times = CalibratedRuntimes()

    def predict(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        limit = context.limits.walltime_s
        if limit is None:
            return WALLTIME.cold_start(self.name, task, context)
        if failures:
            return WALLTIME.retry(self.name, failures, context.limits)
        tolerance = self.price.tolerance if self.price and len(self.times) >= KNOWN else 1.0
        request = cheapest_request(self.times, task, tolerance)
        if request is None:
            text = "nothing is known of how long it takes: as long as is allowed"
            return Prediction(limit, Why(self.name, "no-limit", {"limit": limit}, text))
        figures: dict[str, Figure] = {**structs.asdict(request), "tolerance": tolerance, "more_s": MORE_S}
        figures |= {"wait_per_s": WAIT_PER_S, "wait_s": WAIT_S, "limit": limit}
        text = (
            f"{1 - request.share:.4g} of such tasks should be done after {format_duration(request.quantile_s)}, and a "
            "minute more; a longer request would wait longer, a shorter one would be lost too often"
        )
        return Prediction(min(limit, request.seconds), Why(self.name, "runtime-quantile", figures, text))

    def observe(self, task: Task, outcome: Outcome) -> None:
        self.times.observe(task, outcome)

    def state(self) -> dict[str, Any]:
        return {"version": 2, "times": self.times.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.times.restore(state["times"])
