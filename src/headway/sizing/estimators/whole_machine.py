"""`whole-machine`: one task at a time gets everything."""

from __future__ import annotations

from headway.sizing.estimators.base import Estimate, Estimator, Query, Start


class WholeMachine(Estimator):
    """Everything that there is: a task fails only if the machine is too small, and no two tasks run at once.

    The naive baseline of Phung and Thain 2024, section V.

    >>> WholeMachine().estimate(Query()).value
    <Start.WHOLE_MACHINE: 'whole-machine'>
    """

    name = "whole-machine"
    climbs = True
    overrules = True

    def estimate(self, query: Query) -> Estimate | None:
        if query.failures:
            return None
        return Estimate(Start.WHOLE_MACHINE, "whole-machine", {}, "each task gets the whole machine")
