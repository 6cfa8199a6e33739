"""`Forecast`: how many units the remaining tasks are expected to use over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headway.grouping.list_schedule import Floats, slots_in_use
from headway.model.task import Task
from headway.planning.base import Estimate, View
from headway.planning.packing import Packing

_OVERDUE = 0.25  # a task that has run longer than expected is taken to need this share of that time more


class Forecast(NamedTuple):
    """`used[i]` units are in use from `times[i]` seconds from now on; at the last of these times all tasks are over."""

    times: Floats
    used: Floats

    @property
    def ends_s(self) -> float:
        """When all tasks are over."""
        return float(self.times[-1])

    @property
    def work_s(self) -> float:
        """The unit-seconds that the tasks use."""
        return float((self.used[:-1] * np.diff(self.times)).sum())

    def used_at(self, times: Floats) -> Floats:
        """The units in use from each of these times on."""
        return self.used[np.searchsorted(self.times, times, side="right") - 1]


def forecast(view: View, tasks: Sequence[Task], packing: Packing, estimate: Estimate, units: float) -> Forecast:
    """What these tasks would use of so many units, in a list schedule that begins with those that run."""
    first = sorted(tasks, key=lambda task: not view.is_running(task.id))
    left_s = np.array([_left_s(estimate(task), view.ran_s(task.id)) for task in first])
    times, used = slots_in_use(first, left_s, max(1, int(units)) * packing.tasks_per_unit, packing.places_of)
    return Forecast(times, np.ceil(used / packing.tasks_per_unit))


class Earliest(NamedTuple):
    """A task that does not run yet, and when it would begin and end, in seconds from now, if nothing held it up."""

    task: Task
    begin_s: float
    end_s: float


def earliest(view: View, tasks: Sequence[Task], estimate: Estimate, overdue: float = _OVERDUE) -> list[Earliest]:
    """The tasks that do not run, parents first, as if there were a node for each as soon as it is ready.

    Each task that runs is taken to need at least a share `overdue` of the time that it has run more.
    """
    ends_s: dict[str, float] = {}
    found: list[Earliest] = []
    for task in tasks:
        begin_s = max((ends_s.get(parent, 0.0) for parent in task.parents), default=0.0)
        run_s = view.fits_s(estimate, task)
        ends_s[task.id] = begin_s + (
            _left_s(run_s, view.ran_s(task.id), overdue) if view.is_running(task.id) else run_s
        )
        if not view.is_running(task.id):
            found.append(Earliest(task, begin_s, ends_s[task.id]))
    return found


def side_by_side(tasks: Sequence[Earliest], packing: Packing, busy: float) -> Forecast:
    """What these tasks would use if each began as early as it can, beside so many units that stay busy."""
    begins, ends = np.array([each.begin_s for each in tasks]), np.array([each.end_s for each in tasks])
    places = np.array([packing.places_of(each.task) for each in tasks], np.float64)
    times, where = np.unique(np.concatenate([[0.0], begins, ends]), return_inverse=True)
    changes = np.bincount(where, np.concatenate([[0.0], places, -places]))
    used = np.ceil(np.cumsum(changes) / packing.tasks_per_unit - 1e-9) + busy
    used[-1] = 0.0
    return Forecast(times, used)


def _left_s(expected_s: float, ran_s: float, overdue: float = _OVERDUE) -> float:
    return max(expected_s - ran_s, overdue * ran_s)
