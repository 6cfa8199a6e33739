"""`Advice`: what to ask for the tasks of each category, and what that would have done on the log it comes from."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class CategoryAdvice(Struct, frozen=True):
    """What to ask for the tasks of one category.

    Amounts are those of the first attempt, of its retry, and so on; the last holds for all further retries. None, or no
    amount: leave it as it is. What it would have done is counted walk-forward: each task was sized from the tasks
    before it, once `fewest` of its category were known; `sized` counts these tasks.
    """

    category: str
    records: int  # tasks in the log
    memory_bytes: tuple[float, ...]
    time_s: tuple[float, ...]
    cpus: int | None
    asked_memory_bytes: float | None  # the most that a task of the log asked for
    asked_time_s: float | None
    asked_cpus: float | None
    used_memory_bytes: tuple[float, ...]  # at `QUANTILES` of the tasks
    used_time_s: tuple[float, ...]
    used_cpus: float | None  # busy on average, in the middle task
    sized: int = 0
    attempts: int = 0
    out_of_memory: int = 0  # attempts that would have failed
    out_of_time: int = 0
    unfinished: int = 0  # tasks of which the last attempt would have failed
    held_gb_h: float = 0.0  # by all attempts of the tasks that were sized and had asked for memory
    asked_gb_h: float = 0.0  # by the requests of the same tasks
    used_gb_h: float = 0.0  # their peaks times their run times

    @property
    def failed(self) -> int:
        """Attempts that would have failed."""
        return self.out_of_memory + self.out_of_time

    @property
    def failed_share(self) -> float | None:
        """The share of attempts that would have failed; None if no task was sized."""
        return self.failed / self.attempts if self.attempts else None

    @property
    def saved_gb_h(self) -> float | None:
        """What the advice would have saved against what was asked; None if nothing was asked."""
        return self.asked_gb_h - self.held_gb_h if self.asked_gb_h else None


QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)


class LeftAlone(Struct, frozen=True):
    """A category with too few records for advice."""

    category: str
    records: int


class Advice(Struct, frozen=True):
    """The advice for all categories of a log, the greatest saving first."""

    categories: Sequence[CategoryAdvice]
    left_alone: Sequence[LeftAlone]
    failures: float  # the share of attempts that may fail once a category is known
    fewest: int  # records that a category needs
    attempts: int  # of a task, at most

    def total(self) -> CategoryAdvice:
        """The sums over all categories, under an empty name."""
        summed = ("records", "sized", "attempts", "out_of_memory", "out_of_time", "unfinished", "held_gb_h", "asked_gb_h")
        sums = {name: sum(getattr(each, name) for each in self.categories) for name in (*summed, "used_gb_h")}
        nothing: dict[str, object] = {name: () for name in ("memory_bytes", "time_s", "used_memory_bytes", "used_time_s")}
        unknown = ("cpus", "asked_memory_bytes", "asked_time_s", "asked_cpus", "used_cpus")
        return CategoryAdvice(category="", **nothing, **dict.fromkeys(unknown), **sums)  # type: ignore[arg-type]
