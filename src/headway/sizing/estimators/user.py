"""`user`: believe the workflow file."""

from __future__ import annotations

from headway.sizing.estimators.base import Estimate, Estimator, Query


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
