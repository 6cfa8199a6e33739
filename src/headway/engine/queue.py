"""The ready tasks, in lanes: tasks in one lane get the same allocation, so if the first has no room, none has."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from types import TracebackType
from typing import Any

Lane = tuple[str, str]  # category and, for a task that already failed for want of something, its own id
Key = tuple[Any, ...]


class ReadyQueue:
    """Task ids by lane and key. An entry that became stale is dropped when it comes up, not searched for."""

    def __init__(self, is_current: Callable[[str], bool], category_key: Callable[[str], Key]) -> None:
        self._is_current = is_current
        self._category_key = category_key
        self._lanes: dict[Lane, list[tuple[Key, str]]] = {}

    def push(self, lane: Lane, key: Key, task_id: str) -> None:
        """Add a ready task."""
        heapq.heappush(self._lanes.setdefault(lane, []), (key, task_id))

    def head(self, lane: Lane) -> tuple[Key, Key, Lane] | None:
        """The sort key of the lane's first task, or None (and no lane any more) if it has none."""
        entries = self._lanes[lane]
        while entries and not self._is_current(entries[0][1]):
            heapq.heappop(entries)
        if not entries:
            del self._lanes[lane]
            return None
        return self._category_key(lane[0]), entries[0][0], lane

    def walk(self) -> Walk:
        """Go through the tasks, first things first, leaving the queue as it is."""
        return Walk(self, self._lanes)


class Walk:
    """`for lane, task_id in walk`, with `skip(lane)` to leave out the rest of a lane."""

    def __init__(self, queue: ReadyQueue, lanes: dict[Lane, list[tuple[Key, str]]]) -> None:
        self._queue = queue
        self._lanes = lanes
        self._taken: list[tuple[Lane, tuple[Key, str]]] = []

    def __enter__(self) -> Walk:
        heads = [self._queue.head(lane) for lane in list(self._lanes)]
        self._heads = [head for head in heads if head]
        heapq.heapify(self._heads)
        return self

    def __iter__(self) -> Walk:
        return self

    def __next__(self) -> tuple[Lane, str]:
        if not self._heads:
            raise StopIteration
        _, _, lane = heapq.heappop(self._heads)
        entry = heapq.heappop(self._lanes[lane])
        self._taken.append((lane, entry))
        following = self._queue.head(lane)
        if following:
            heapq.heappush(self._heads, following)
        return lane, entry[1]

    def skip(self, lane: Lane) -> None:
        """Leave out what is still to come of `lane`."""
        self._heads = [head for head in self._heads if head[2] != lane]
        heapq.heapify(self._heads)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for lane, (key, task_id) in self._taken:
            self._queue.push(lane, key, task_id)
