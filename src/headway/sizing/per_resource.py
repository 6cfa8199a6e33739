"""`PerResource`: an allocator made of one sizer for each category and resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headway.model.outcome import Ending, Outcome
from headway.model.records import Figure, Why
from headway.model.resources import HELD, Resources
from headway.model.task import Task
from headway.sizing.base import Allocation, Allocator, CannotFit, Context, Sizer
from headway.sizing.failure_price import KNOWN, FailurePrice
from headway.sizing.observing import ABSURD, run_s
from headway.sizing.resource_rules import RULES

MOST_CATEGORIES = 10_000  # about 6 kB each
LEARNED = ("cores", "memory_bytes", "disk_bytes", "walltime_s")


class PerResource(Allocator):
    """Asks one sizer for each of cores, memory, disk and walltime; nodes, GPUs and named extras are as hinted.

    `sizer` makes a sizer for a resource. `resources`: those to size, where a simulation has figures of some only.
    """

    def __init__(self, sizer: Callable[[str], Sizer], seed: int = 0, resources: Sequence[str] = LEARNED) -> None:
        self._make = sizer
        self._seed = seed
        self._sizers: dict[str, dict[str, Sizer]] = {resource: {} for resource in resources}  # by resource and category
        self._peaks: dict[str, dict[str, float]] = {}  # by category: what its last success used
        self._successes: dict[str, int] = {}  # by category
        self._prices: dict[str, FailurePrice] = {}  # of a failed attempt, by resource
        self._recent: dict[str, None] = {}  # categories, the one of which nothing was learned for longest first

    def tolerate(self, failures: float) -> None:
        self._prices = {resource: FailurePrice(failures) for resource in self._sizers} if failures < 1 else {}

    def allocate(self, task: Task, failures: Mapping[str, Sequence[float]], context: Context) -> Allocation | CannotFit:
        amounts: dict[str, float | None] = {}
        why: dict[str, Why] = {}
        limits = context.limits
        # The shares of a node that the attempt takes, by what the last success used.
        shares = {name: peak / (limits[name] or peak) for name, peak in self._peaks.get(task.category, {}).items()}
        together = sum(shares.values())
        for resource, by_category in self._sizers.items():
            sizer = by_category.get(task.category) or self._new(resource)
            held = context.held + (together - shares.get(resource, 0.0))
            draw = (self._seed, f"{sizer.name}/{resource}", *context.draw[2:])
            question = Context(limits, draw, context.start, context.kills, held, context.others)
            answer = sizer.predict(task, failures.get(resource, ()), question)
            if isinstance(answer, CannotFit):
                return answer
            amounts[resource], why[resource] = answer.value, answer.why
        for resource, hint in task.hints.items():
            if resource in LEARNED:
                continue
            limit = limits[resource]
            why[resource] = Why("user", "hint", {"hint": hint, "limit": limit}, "the workflow asks for it")
            if limit is None or hint > limit:
                return CannotFit(resource, hint, limit or 0, why[resource], reason="hint")
            amounts[resource] = hint
        return Allocation(Resources.of(amounts), why)

    def observe(self, task: Task, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        self._set_prices(task, outcome)
        self._note(task.category)
        for resource in self._sizers:
            self._sizer(task.category, resource).observe(task, outcome)
        if outcome.ending is Ending.SUCCESS:
            self._successes[task.category] = self._successes.get(task.category, 0) + 1
            found = {name: outcome.usage.peak(name) for name in HELD}
            self._peaks[task.category] = {
                name: peak.value for name, peak in found.items() if peak and 0 < peak.value < ABSURD
            }

    def _note(self, category: str) -> None:
        """Note that something is learned of a category, and forget the least recent one of very many."""
        self._recent.pop(category, None)
        self._recent[category] = None
        if len(self._recent) > MOST_CATEGORIES:
            oldest = next(iter(self._recent))
            tables: list[dict[str, Any]] = [*self._sizers.values(), self._recent, self._peaks, self._successes]
            for table in tables:
                table.pop(oldest, None)

    def _set_prices(self, task: Task, outcome: Outcome) -> None:
        known = self._successes.get(task.category, 0) >= KNOWN
        for resource, price in self._prices.items():
            peak = RULES[resource].peak(outcome)
            if peak is not None:
                price.succeeded(peak, run_s(outcome), known)
            elif outcome.ending.exhausted == resource:
                used = outcome.usage.peak(resource)
                if used is None or not self._sizer(task.category, resource).gives_more_now(task, used.value):
                    price.failed(known)

    def state(self) -> dict[str, Any]:
        return {
            "version": 1,
            "sizers": [
                [category, resource, sizer.state()]
                for resource, by_category in self._sizers.items()
                for category, sizer in sorted(by_category.items())
            ],
            "peaks": self._peaks,
            "successes": self._successes,
            "prices": {resource: price.state() for resource, price in self._prices.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        for category, resource, learned in state["sizers"]:
            self._sizer(category, resource).restore(learned)
            self._recent[category] = None
        self._peaks = {category: dict(peaks) for category, peaks in state["peaks"].items()}
        self._successes = dict(state.get("successes", {}))
        for resource, learned in state.get("prices", {}).items():
            if resource in self._prices:
                self._prices[resource].restore(learned)

    def _sizer(self, category: str, resource: str) -> Sizer:
        by_category = self._sizers[resource]
        if category not in by_category:
            by_category[category] = self._new(resource)
        return by_category[category]

    def _new(self, resource: str) -> Sizer:
        sizer = self._make(resource)
        sizer.siblings = self._sizers[resource]
        sizer.price = self._prices.get(resource)
        return sizer
