"""The figures of a simulated batch queue: curves over time, waits, slowdowns, queue lengths and utilisation."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headway.model.batch_log import BatchJobs, Seconds
from headway.report.queue.clock import Clock

Values = NDArray[np.float64]


class Steps(Struct, frozen=True):
    """A value from each time until the next; 0 before the first time and from the last time on."""

    at_s: Seconds
    value: Values

    def peak(self) -> float:
        """The highest value, however short it lasts."""
        return float(self.value.max(initial=0.0))

    def total(self, from_s: float, to_s: float) -> float:
        """The integral (value x seconds) between two times."""
        before, after = self._summed(np.array([from_s, to_s]))
        return float(after - before)

    def means(self, borders_s: Seconds) -> Values:
        """The exact mean between each border and the next."""
        means: Values = np.diff(self._summed(borders_s)) / np.diff(borders_s)
        return means

    def peaks(self, borders_s: Seconds) -> Values:
        """The highest value between each border and the next."""
        if not len(self.at_s):
            return np.zeros(len(borders_s) - 1)
        at = np.searchsorted(self.at_s, borders_s, side="right")
        value = np.concatenate([[0.0], self.value])  # value[at]: the value at a border
        begins, ends = at[:-1], np.searchsorted(self.at_s, borders_s[1:], side="left")
        # Each piece is value[begin..end]; reduceat also reduces the gaps between pieces, which [::2] drops.
        pairs = np.stack([begins, ends + 1], axis=1).ravel()
        found: Values = np.maximum.reduceat(np.concatenate([value, [0.0]]), pairs)[::2]
        return found

    def _summed(self, at_s: Seconds) -> Values:
        """The integral from the beginning to each time; linear between steps, so interpolation is exact."""
        if not len(self.at_s):
            return np.zeros(len(at_s))
        sums = np.concatenate([[0.0], np.cumsum(self.value[:-1] * np.diff(self.at_s))])
        found: Values = np.interp(at_s, self.at_s, sums)
        return found


def steps(begins_s: Seconds, ends_s: Seconds, weights: NDArray[np.int64] | None = None) -> Steps:
    """Sum the weights (default: 1 each) of the intervals that have begun and not ended; empty ones do not count."""
    weight = np.ones(len(begins_s), np.int64) if weights is None else weights
    at_s = np.concatenate([begins_s, ends_s])
    change = np.concatenate([weight, -weight])
    order = np.argsort(at_s, kind="stable")
    at_s, value = at_s[order], np.cumsum(change[order])
    last = np.append(at_s[1:] != at_s[:-1], True) if len(at_s) else np.zeros(0, bool)
    return Steps(at_s[last], value[last].astype(np.float64))


BOUND_S = 10.0  # shorter jobs count as this long, because their slowdowns would dominate the mean

Mask = NDArray[np.bool_]


class Spread(Struct, frozen=True):
    """Mean and quantiles of a figure over a group of jobs."""

    mean: float
    median: float
    p90: float  # the 90% quantile
    max: float


class Waits(Struct, frozen=True):
    """Waits and slowdowns of a group of jobs."""

    jobs: int
    wait_s: Spread
    bounded_slowdown: Spread
    waited: float  # share of jobs that waited
    started_at_once: float  # share of jobs that did not


class SizeClass(Struct, frozen=True):
    """Jobs of similar size: more than half of `most_nodes` and at most `most_nodes`."""

    least_nodes: int
    most_nodes: int
    waits: Waits
    node_share: float  # of all node-seconds


class HourOfDay(Struct, frozen=True):
    """Jobs submitted within one hour of the day."""

    hour: int
    waits: Waits


class QueueLength(Struct, frozen=True):
    """Mean and maximum of the waiting jobs and of the nodes that they request."""

    mean_jobs: float
    peak_jobs: int
    mean_nodes: float
    peak_nodes: int


class ResourceUse(Struct, frozen=True):
    """Use of a resource other than nodes."""

    utilisation: float  # what is in use over what there is, in the span
    jobs: int  # that need it


class QueueSummary(Struct, frozen=True):
    """All figures of a simulated queue."""

    name: str
    jobs: int
    machine: int  # nodes
    span_s: float  # from the first submission to the last end
    submissions_s: float  # from the first submission to the last
    utilisation: float  # busy node-seconds over all node-seconds in the span
    utilisation_while_submitting: float | None  # the same between the first and the last submission
    waits: Waits
    queue: QueueLength
    sizes: list[SizeClass]
    hours: list[HourOfDay]  # only hours with jobs
    hours_are: str  # the time zone, or what hours are counted from
    left_out: dict[str, int]
    resources: dict[str, ResourceUse]  # other than nodes


class QueueCurves(Struct, frozen=True):
    """Busy nodes, waiting jobs and the nodes that they request, over time."""

    busy_nodes: Steps
    waiting_jobs: Steps
    waiting_nodes: Steps


def curves_of(jobs: BatchJobs, start_s: Seconds) -> QueueCurves:
    """The curves of jobs that start at `start_s`."""
    return QueueCurves(
        steps(start_s, start_s + jobs.run_s, jobs.nodes),
        steps(jobs.submit_s, start_s),
        steps(jobs.submit_s, start_s, jobs.nodes),
    )


def bounded_slowdown(wait_s: Seconds, run_s: Seconds) -> Seconds:
    """The bounded slowdown of each job: (wait + run time) / max(run time, 10 s), at least 1.

    Feitelson, Rudolph, Schwiegelshohn, Sevcik and Wong, *Theory and Practice in Parallel Job Scheduling*, JSSPP 1997.
    """
    slowdown: Seconds = np.maximum(1.0, (wait_s + run_s) / np.maximum(run_s, BOUND_S))
    return slowdown


def summary_of(jobs: BatchJobs, start_s: Seconds, clock: Clock, curves: QueueCurves | None = None) -> QueueSummary:
    """All figures of at least one job, given when each job starts."""
    curves = curves or curves_of(jobs, start_s)
    first_s, last_s = float(jobs.submit_s.min()), float(jobs.submit_s.max())
    end_s = float((start_s + jobs.run_s).max())
    wait_s = start_s - jobs.submit_s
    slowdown = bounded_slowdown(wait_s, jobs.run_s)

    def waits(chosen: Mask) -> Waits:
        waited = wait_s[chosen] > 0
        shares = float(waited.mean()), float((~waited).mean())
        return Waits(len(waited), _spread(wait_s[chosen]), _spread(slowdown[chosen]), *shares)

    node_s = jobs.nodes * jobs.run_s
    submissions_s, span_s = last_s - first_s, end_s - first_s
    hours = clock.hours_of_day(jobs.submit_s)
    while_submitting = curves.busy_nodes.total(first_s, last_s)
    return QueueSummary(
        name=jobs.name,
        jobs=len(jobs),
        machine=jobs.machine,
        span_s=span_s,
        submissions_s=submissions_s,
        utilisation=float(node_s.sum()) / (jobs.machine * span_s),
        utilisation_while_submitting=while_submitting / (jobs.machine * submissions_s) if submissions_s else None,
        waits=waits(np.ones(len(jobs), bool)),
        queue=QueueLength(
            mean_jobs=curves.waiting_jobs.total(first_s, end_s) / span_s,
            peak_jobs=int(curves.waiting_jobs.peak()),
            mean_nodes=curves.waiting_nodes.total(first_s, end_s) / span_s,
            peak_nodes=int(curves.waiting_nodes.peak()),
        ),
        sizes=[
            SizeClass(least, most, waits(chosen), float(node_s[chosen].sum() / node_s.sum()))
            for least, most, chosen in _size_classes(jobs.nodes)
        ],
        hours=[HourOfDay(int(hour), waits(hours == hour)) for hour in np.unique(hours)],
        hours_are=clock.hours_are,
        left_out=dict(jobs.left_out),
        resources={
            name: ResourceUse(float(needs @ jobs.run_s) / (jobs.further[name] * span_s), int((needs > 0).sum()))
            for name, needs in jobs.needs.items()
        },
    )


def _spread(values: Seconds) -> Spread:
    median, p90 = np.percentile(values, [50, 90])
    return Spread(float(values.mean()), float(median), float(p90), float(values.max()))


def _size_classes(nodes: NDArray[np.int64]) -> list[tuple[int, int, Mask]]:
    """The size classes 1, 2, 3 to 4, 5 to 8, …: least nodes, most nodes, and a mask of the class's jobs."""
    powers = 2 ** np.arange(int(nodes.max()).bit_length() + 1)
    place = np.searchsorted(powers, nodes, side="left")
    return [
        (1 if power == 0 else int(powers[power - 1]) + 1, int(powers[power]), place == power)
        for power in np.unique(place)
    ]
