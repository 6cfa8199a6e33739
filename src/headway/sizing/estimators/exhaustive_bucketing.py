"""`exhaustive-bucketing`: of ten ways to cut earlier peaks evenly, the one that wastes least (001, section IV-C)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.sizing.estimators.bucketing import Bucketing, Significance

if TYPE_CHECKING:
    from headway.kernels.bucketing import Values, Whole


class ExhaustiveBucketing(Bucketing):
    """Cuts earlier peaks at even parts of the greatest, into as many groups as waste least, and draws one (001).

    The one of its two algorithms that the paper recommends. `most_buckets` is section V-A's limit of k.
    """

    name = "exhaustive-bucketing"

    def __init__(self, resource: str, significance: Significance = "completion-order", most_buckets: int = 10) -> None:
        super().__init__(resource, significance)
        self._most_buckets = most_buckets

    def cut(self, values: Values, significances: Whole) -> tuple[Whole, Whole]:
        from headway.kernels.bucketing import exhaustive_buckets

        return exhaustive_buckets(values, significances, self._most_buckets)
