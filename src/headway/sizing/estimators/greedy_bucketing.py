"""`greedy-bucketing`: cut earlier peaks in two where that wastes least, then each part again (001, section IV-B)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.sizing.estimators.bucketing import Bucketing

if TYPE_CHECKING:
    from headway.kernels.bucketing import Values, Whole


class GreedyBucketing(Bucketing):
    """Cuts earlier peaks in two where that wastes least, then each part again, and draws one of the groups (001).

    >>> from headway.model.resources import Resources
    >>> from headway.model.task import Task
    >>> from headway.sizing.base import Context
    >>> sizer = GreedyBucketing("memory_bytes")
    >>> sizer.restore({"version": 1, "values": [1e9] * 6 + [8e9] * 4, "significances": [1] * 10})
    >>> context = Context(Resources(cores=2, memory_bytes=16_000_000_000))
    >>> sizer.predict(Task("t", "t", "true"), [1e9], context).why.text
    '1 GB memory ran out: the highest group of earlier ones used up to 8 GB memory'
    """

    name = "greedy-bucketing"

    def cut(self, values: Values, significances: Whole) -> tuple[Whole, Whole]:
        from headway.kernels.bucketing import greedy_buckets

        return greedy_buckets(values, significances)
