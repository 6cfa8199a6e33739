"""The contract of a journal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence

from headway.model.records import Decision, Event


class Journal(ABC):
    """All records of one run, in order. One process appends; others may read at the same time."""

    @abstractmethod
    def append(self, records: Sequence[Event | Decision]) -> None:
        """Add records, all or none; when this returns, they survive a crash."""

    @abstractmethod
    def replay(
        self, task: str | None = None, kinds: Collection[str] = (), *, brief: bool = False, after: int = 0
    ) -> Iterator[Event | Decision]:
        """Read all records in order, or only those about one task, of these kinds, or after so many.

        In `brief`, launches come without their explanations, which no code has to know.
        """

    @abstractmethod
    def close(self) -> None:
        """Close it; it must not be used any more."""
