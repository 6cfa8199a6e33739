"""`user`, `whole-machine`: what to give without learning anything."""

from __future__ import annotations

from headway.sizing.estimators.base import Estimate, Estimator, Query, Start


class User(Estimator):
    """The user's hint, doubled each time it runs out; without a hint a share of the machine.

    It estimates nothing: the rules of each resource decide. Most workflow systems work this way, which makes it the
    baseline for all others.

    >>> User().estimate(Query(hint=2e9)) is None
    True
    """

    name = "user"

    def estimate(self, query: Query) -> Estimate | None:
        return None


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
