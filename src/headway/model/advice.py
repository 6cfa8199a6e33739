"""`Advice`: what to ask for the tasks of each category, and what that would have done on the log it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)


class Trial(Struct):
    """What advice would have done on its log, walk-forward: each task was sized from the tasks before it.

    The first tasks of a category, of which too little was known, are not counted. GB·h are those of the tasks that had
    asked for memory.
    """

    tasks: int = 0
    attempts: int = 0
    out_of_memory: int = 0  # attempts that would have failed
    out_of_time: int = 0
    unfinished: int = 0  # tasks of which the last attempt would have failed
    held_gb_h: float = 0.0  # by all attempts, the failed ones included
    asked_gb_h: float = 0.0  # by the log's own requests
    used_gb_h: float = 0.0  # peaks times run times

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
        """What would have been saved against what was asked; None if nothing was asked."""
        return self.asked_gb_h - self.held_gb_h if self.asked_gb_h else None

    @classmethod
    def sum(cls, trials: Iterable[Trial]) -> Trial:
        """All trials together."""
        every = list(trials)
        return cls(*(sum(getattr(each, name) for each in every) for name in cls.__struct_fields__))


class CategoryAdvice(Struct, frozen=True):
    """What to ask for the tasks of one category.

    Amounts are those of the first attempt, of its retry, and so on; the last one holds for all further retries. Where
    there is none, leave it as it is. What was asked is the most that a task of the log asked for.
    """

    category: str
    records: int  # tasks in the log
    trial: Trial
    memory_bytes: tuple[float, ...] = ()
    time_s: tuple[float, ...] = ()
    cpus: int | None = None
    asked_memory_bytes: float | None = None
    asked_time_s: float | None = None
    asked_cpus: float | None = None
    used_memory_bytes: tuple[float, ...] = ()  # at `QUANTILES` of the tasks
    used_time_s: tuple[float, ...] = ()
    used_cpus: float | None = None  # by the middle task


class LeftAlone(Struct, frozen=True):
    """A category with too few records for advice."""

    category: str
    records: int


class Advice(Struct, frozen=True):
    """The advice for all categories of a log, the greatest saving first."""

    categories: Sequence[CategoryAdvice]
    left_alone: Sequence[LeftAlone]
    failures: float  # the share of attempts of a category that may fail once it is known
    fewest: int  # records that a category needs
    attempts: int  # of a task, at most
    megabyte: float = 1e6  # what the tool that gets the advice calls a MB: 1e6 or 2**20 bytes

    def total(self) -> CategoryAdvice:
        """What was counted over all categories that have advice."""
        records = sum(each.records for each in self.categories)
        return CategoryAdvice("all", records, Trial.sum(each.trial for each in self.categories))
