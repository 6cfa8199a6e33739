"""`per-process-max`: the greatest peak so far."""

from __future__ import annotations

from headway.model.records import Figure
from headway.sizing.estimators.base import Estimate, Query, earlier
from headway.sizing.estimators.seen_maximum import SeenMaximum


class PerProcessMax(SeenMaximum):
    """The greatest peak of the category so far, as it is; before there is one, what the workflow asks for.

    What Seqera's resource optimisation for Nextflow does, here for comparison. Without rounding or a reserve, every new
    maximum is a failure.

    >>> from headway.sizing.estimators.base import Attempt
    >>> estimator = PerProcessMax()
    >>> for peak in (100e6, 260e6):
    ...     estimator.learn(Attempt(peak))
    >>> estimator.estimate(Query()).value
    260000000.0
    """

    name = "per-process-max"

    def estimate(self, query: Query) -> Estimate | None:
        if not self._records:
            return None
        figures: dict[str, Figure] = {"maximum": self._maximum, "records": self._records}
        text = f"the most that {earlier(self._records)} used is {query.show(self._maximum)}"
        return Estimate(self._maximum, "maximum", figures, text)
