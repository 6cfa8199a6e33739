"""What a run will need later beyond what it holds, and when to ask for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from headway.model.preference import Preference
from headway.model.task import Task
from headway.planning.base import Estimate, JobStatus, View
from headway.planning.forecast import Forecast, forecast
from headway.planning.lead_time import SHARES, Lead, best_lead
from headway.planning.packing import Packing
from headway.planning.requested_time import requested_s
from headway.waiting.base import Shape
from headway.waiting.mixture import RecentWaits

FEWEST_WAITS = 20  # with fewer that were seen nothing is known of the queue, and what will be needed is held
SOON_S = 900.0  # plans are made again after this time, so that what is due within it is asked for now
SLOWER = 1.005  # what is held is enough if the run ends within this factor of the earliest end
SHORTEST_S = 60.0  # what is needed for less is not asked for


Wait = Callable[[Packing, int, float], float]  # of a job of so many units and so many seconds, submitted now


class Missing(NamedTuple):
    """So many units will be missing in so many seconds, for so long."""

    units: int
    needed_s: float
    for_s: float


class Later:
    """Weighs the units that wait idle for a later stage against the time that a new job for it would wait."""

    def __init__(self) -> None:
        self.preference = Preference()
        self._waits = RecentWaits()  # the queue's plan of today says little about a job that is submitted later
        self._seen = 0

    def observe(self, shape: Shape, waited_s: float) -> None:
        """Learn from the wait of a job."""
        self._waits.observe(shape, {}, waited_s)
        self._seen += 1

    def cost_of_asking_again(
        self, expected: Forecast, packing: Packing, units: float, needed_s: float, wait_s: Wait
    ) -> float:
        """What it costs, in unit-seconds, to give back so many units now and ask for them before they are needed.

        `wait_s` says how long a job would wait that is submitted now. If even that would be later than the user would
        have the run end, nothing is cheap enough.
        """
        if self._seen < FEWEST_WAITS:
            return math.inf
        again = Missing(math.ceil(units), needed_s, expected.ends_s - needed_s)
        lead = self._lead(expected, again, packing)
        if lead.lead_s + SOON_S >= needed_s:  # it would be asked for again at once
            return math.inf
        later_s = (self.preference.nearly(_mean_used(expected) * packing.cores_per_unit) - 1.0) * expected.ends_s
        return (
            lead.cost if wait_s(packing, again.units, requested_s(expected.ends_s)) <= needed_s + later_s else math.inf
        )

    def due(
        self,
        view: View,
        tasks: Sequence[Task],
        packing: Packing,
        estimate: Estimate,
        now: float,
        soon_s: float = SOON_S,
    ) -> Missing | None:
        """What to ask for now, or at least within `soon_s`: it will be missing when it could have started."""
        live = [job for job in view.live if not job.tasks and not job.suspended]
        anchors = [job for job in live if job.role == "anchor" and job.started_at is not None]
        if not anchors or self._seen < FEWEST_WAITS or not tasks:
            return None
        wanted = sum(packing.units_of(job.submitted) for job in anchors)
        expected = forecast(view, tasks, packing, estimate, wanted)
        missing = _first_missing(expected, live, packing, now)
        if missing is None or missing.for_s < SHORTEST_S:
            return None
        held = sum(packing.units_of(job.request) for job in live if job.ends_at > now)
        if forecast(view, tasks, packing, estimate, held).ends_s < SLOWER * expected.ends_s:
            return None
        return missing if missing.needed_s <= self._lead(expected, missing, packing).lead_s + soon_s else None

    def _lead(self, expected: Forecast, missing: Missing, packing: Packing) -> Lead:
        waits_s = self._waits.quantiles(Shape(missing.units, requested_s(missing.for_s)), SHARES)
        mean_used = _mean_used(expected)
        price = mean_used * self.preference.factor(mean_used * packing.cores_per_unit)
        return best_lead(waits_s, missing.units, price, missing.needed_s)


def _mean_used(expected: Forecast) -> float:
    return expected.work_s / max(1.0, expected.ends_s)


def _first_missing(expected: Forecast, live: Sequence[JobStatus], packing: Packing, now: float) -> Missing | None:
    """What will be missing first; None if nothing is, or if something is missing now: fillers are for that."""
    held = [job for job in live if job.role != "small-filler"]
    ends_s = np.array([job.ends_at - now for job in held])
    there = ((expected.times[:, None] < ends_s) * [packing.units_of(job.request) for job in held]).sum(axis=1)
    short = expected.used - there
    if short[0] > 0 or not (short > 0).any():
        return None
    first = int(np.argmax(short > 0))
    last = first + int(np.argmax(short[first:] <= 0))  # at the end nothing is in use
    needed_s = float(expected.times[first])
    return Missing(math.ceil(short[first:last].max()), needed_s, float(expected.times[last]) - needed_s)
