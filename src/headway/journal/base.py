"""The contract of a journal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from headway.model.records import Decision, Event


class Journal(ABC):
    """All records of one run, in order. One process appends; any number may read meanwhile."""

    @abstractmethod
    def append(self, records: Sequence[Event | Decision]) -> None:
        """Add records, all or none; when this returns, they survive a crash."""

    @abstractmethod
    def replay(self, task: str | None = None) -> Iterator[Event | Decision]:
        """All records in the order they were appended, or only those about one task."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""
