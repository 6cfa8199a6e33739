"""`EstimatedSizer`: an estimator joined with the rules of a resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from msgspec import structs

from headway.model.outcome import Outcome
from headway.model.records import Figure, Why
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction, Sizer
from headway.sizing.estimators.base import Estimate, Estimator, Query, Start
from headway.sizing.observing import input_bytes
from headway.sizing.resource_rules import RULES

MOST_PEERS = 256  # categories that a new one is compared with: each question would take longer with every category


class EstimatedSizer(Sizer):
    """Asks the estimator how much a task needs, and the resource's rules for everything else.

    >>> from headway.model.resources import Resources
    >>> from headway.sizing.estimators.percentile import Percentile95
    >>> sizer = EstimatedSizer(Percentile95(), "memory_bytes")
    >>> context = Context(Resources(cores=4, memory_bytes=16_000_000_000))
    >>> sizer.predict(Task("t", "align", "true"), [], context).why.text
    'nothing is known yet: the share of the machine that goes with 1 core'
    >>> sizer.restore({"version": 1, "peaks": [1e9, 2e9, 3e9]})
    >>> sizer.predict(Task("t", "align", "true"), [], context).value
    2900000000
    """

    def __init__(self, estimator: Estimator, resource: str, name: str = "") -> None:
        super().__init__(resource)
        self.name = name or estimator.name
        self.estimator = estimator
        self._rules = RULES[resource]

    def predict(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        rules, estimator = self._rules, self.estimator
        limit = context.limits[self.resource]
        stated = rules.is_stated(task, context, estimator)
        asked = rules.is_estimated(task, estimator)
        if estimator.climbs and (stated or (failures and limit is not None and failures[-1] >= limit)):
            asked = False
        if not asked and not failures:
            return rules.cold_start(self.name, task, context)
        query = self.query(task, failures, context)
        found = estimator.estimate(query) if asked else None
        if failures and (found is None or not estimator.climbs):
            return self._retry(found, query, context)
        if found is None or stated:
            return rules.cold_start(self.name, task, context)
        return self._answer(found, query, context)

    def query(self, task: Task, failures: Sequence[float], context: Context) -> Query:
        """Return what the estimator is asked about an attempt."""
        return Query(
            failures,
            input_bytes(task),
            context.limits[self.resource],
            task.hints.get(self.resource),
            context.held,
            self._rules.is_compressible(context),
            context.uniform,
            self._rules.show,
            self._peers,
            self._fine,
            self.price.fine_at_first if self.price else None,
            self.price.tolerance if self.price else 1.0,
            context.others,
            None if self.price is None else partial(self._rules.coarse, context=context),
        )

    @property
    def _fine(self) -> float | None:
        return self.price.fine if self.price else None

    def _peers(self) -> Iterator[Estimator]:
        """Yield the estimators of the categories that were learned last, the oldest of them first."""
        latest = list(islice(reversed(self.siblings.values()), MOST_PEERS))
        return (sizer.estimator for sizer in reversed(latest) if isinstance(sizer, EstimatedSizer))

    def _retry(self, found: Estimate | None, query: Query, context: Context) -> Prediction | CannotFit:
        at_least = self._rounded(found.value, 0.0, context) if found and isinstance(found.value, float | int) else 0.0
        own = None
        if query.limit is None or query.given < query.limit:
            own = self.estimator.after_failure(at_least, query)
        if own is None:
            return self._rules.retry(self.name, query.failures, context.limits, at_least)
        return self._answer(own, query, context)

    def _answer(self, found: Estimate, query: Query, context: Context) -> Prediction:
        """Round the estimate, and keep it within the limit."""
        limit = query.limit
        figures: dict[str, Figure] = {**found.figures, "limit": limit}
        value: float | None
        if found.value is Start.WHOLE_MACHINE:
            value = limit
        elif found.value is Start.SMALL:
            value = context.start.get(self.resource, self._rules.small_start)
            figures["start"] = value
        else:
            value = self._rounded(found.value, query.given, context)
            figures |= self._rules.rounding(self.estimator.step, context)
        if value is not None and limit is not None:
            value = min(value, limit)
        return Prediction(value, Why(self.name, found.rule, figures, found.text))

    def _rounded(self, value: float, given: float, context: Context) -> float:
        return self._rules.rounded(value, given, self.estimator.step, context)

    def observe(self, task: Task, outcome: Outcome) -> None:
        attempt = structs.replace(self._rules.attempt(task, outcome), fine=self._fine)
        if attempt.peak is None:
            self.estimator.learn_without_peak(attempt)
        else:
            self.estimator.learn(attempt)

    def gives_more_now(self, task: Task, exhausted: float) -> bool:
        first = self.price.fine_at_first if self.price else None
        hint = task.hints.get(self.resource)
        query = Query((), input_bytes(task), hint=hint, peers=self._peers, fine=self._fine, fine_at_first=first)
        found = self.estimator.estimate(query)
        return found is not None and isinstance(found.value, float | int) and found.value > exhausted

    def state(self) -> dict[str, Any]:
        return self.estimator.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self.estimator.restore(state)
