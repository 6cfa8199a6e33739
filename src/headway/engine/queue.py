"""The queue of ready tasks, in lanes: tasks in a lane mostly get the same allocation, so that few must be tried."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from headway.ordering.fair import Keys

# Category, whether the task had failures, which change its allocation, its wish in words, and its share.
Lane = tuple[str, bool, str, str]
Key = tuple[Any, ...]


class ReadyQueue:
    """Task ids by lane and key. A stale entry is dropped when it reaches the head of its lane, not searched for.

    A stale entry may become current again before that: a task starts, fails and is ready once more, and in a replay no
    entry is taken at all. So each task has one valid entry: the last that was pushed.

    A key begins with the user's priority, which sorts before the category's key; the rest of the key sorts after it.
    """

    def __init__(self, is_current: Callable[[str], bool], category_key: Callable[[str], Key]) -> None:
        self._is_current = is_current
        self._category_key = category_key
        self._lanes: dict[Lane, list[tuple[Key, str]]] = {}
        self._entry_of: dict[str, tuple[Lane, Key]] = {}  # the valid entry of each task

    def push(self, lane: Lane, key: Key, task_id: str) -> None:
        """Add a ready task."""
        if self._entry_of.get(task_id) != (lane, key):
            self._entry_of[task_id] = (lane, key)
            self.put_back(lane, (key, task_id))

    def put_back(self, lane: Lane, entry: tuple[Key, str]) -> None:
        """Add an entry that a walk has taken out."""
        heapq.heappush(self._lanes.setdefault(lane, []), entry)

    def head(self, lane: Lane) -> tuple[Any, Key, Key, Lane] | None:
        """The sort key of the lane's first task; None, and the lane is removed, if it has no task."""
        entries = self._lanes[lane]
        while entries and not self._is_valid(lane, *entries[0]):
            key, task_id = heapq.heappop(entries)
            if self._entry_of.get(task_id) == (lane, key):
                del self._entry_of[task_id]
        if not entries:
            del self._lanes[lane]
            return None
        priority, *rest = entries[0][0]
        return priority, self._category_key(lane[0]), tuple(rest), lane

    def _is_valid(self, lane: Lane, key: Key, task_id: str) -> bool:
        return self._entry_of.get(task_id) == (lane, key) and self._is_current(task_id)

    def __bool__(self) -> bool:
        return bool(self._lanes)

    def lanes(self, wish: str | None) -> list[Lane]:
        """The lanes, or those of tasks with a wish."""
        return [lane for lane in self._lanes if wish is None or lane[2] == wish]

    @contextmanager
    def walk(self, wish: str | None = None) -> Iterator[Walk]:
        """Iterate over the tasks, or over those with a wish, in sorted sequence; the queue is unchanged afterwards."""
        walk = self.begin(wish)
        try:
            yield walk
        finally:
            self.finish(walk)

    def begin(self, wish: str | None) -> Walk:
        """A walk that `finish` must end."""
        return Walk(self, self._lanes, self.lanes(wish))

    def finish(self, walk: Walk) -> None:
        """Put back what a walk has taken out."""
        for lane, entry in walk.taken:
            self.put_back(lane, entry)


class Walk:
    """An iteration over (lane, task id); `skip(lane)` leaves out the rest of a lane."""

    def __init__(self, queue: ReadyQueue, lanes: dict[Lane, list[tuple[Key, str]]], chosen: list[Lane]) -> None:
        self.taken: list[tuple[Lane, tuple[Key, str]]] = []
        self._queue = queue
        self._lanes = lanes
        self._heads = [head for lane in chosen if (head := queue.head(lane))]
        heapq.heapify(self._heads)

    def __iter__(self) -> Iterator[tuple[Lane, str]]:
        while self._heads:
            *_, lane = heapq.heappop(self._heads)
            entry = heapq.heappop(self._lanes[lane])
            self.taken.append((lane, entry))
            if following := self._queue.head(lane):
                heapq.heappush(self._heads, following)
            yield lane, entry[1]

    def lanes(self) -> list[Lane]:
        """The lanes that still have tasks."""
        return [head[-1] for head in self._heads]

    def skip(self, lane: Lane) -> None:
        """Leave out the remaining tasks of `lane`."""
        self._heads = [head for head in self._heads if head[-1] != lane]
        heapq.heapify(self._heads)


class SharedQueues:
    """A queue of ready tasks for each share of a pool. Without shares it is one queue, and costs no more than that."""

    def __init__(self, is_current: Callable[[str], bool], category_key: Callable[[str], Key]) -> None:
        self._make: Callable[[], ReadyQueue] = partial(ReadyQueue, is_current, category_key)
        self._plain = self._make()
        self._queues = {"": self._plain}

    def push(self, lane: Lane, key: Key, task_id: str) -> None:
        """Add a ready task."""
        share = lane[3]
        if share not in self._queues:
            self._queues[share] = self._make()
        self._queues[share].push(lane, key, task_id)

    @contextmanager
    def walk(self, wish: str | None = None, key: Callable[[str], Keys] | None = None) -> Iterator[Walk | SharedWalk]:
        """Iterate over the tasks, or over those with a wish; the queues are unchanged afterwards.

        Each step is the turn of the share with the smallest key, which may change from step to step. Without `key` one
        share comes after the other.
        """
        for share in [share for share, queue in self._queues.items() if share and not queue]:
            del self._queues[share]  # a pool sees many workflows come and go
        if len(self._queues) == 1:
            with self._plain.walk(wish) as walk:
                yield walk
            return
        shared = SharedWalk({share: queue for share, queue in self._queues.items() if queue}, wish, key)
        try:
            yield shared
        finally:
            shared.finish()


class SharedWalk:
    """An iteration over (lane, task id), as `Walk`, in which shares take turns."""

    def __init__(self, queues: Mapping[str, ReadyQueue], wish: str | None, key: Callable[[str], Keys] | None) -> None:
        self._queues = queues
        self._wish = wish
        self._key = key or (lambda share: ())
        self._walks: dict[str, Walk] = {}  # begun when a share's first turn comes: most walks end before that

    def __iter__(self) -> Iterator[tuple[Lane, str]]:
        turns = [(self._key(share), share) for share in self._queues]
        heapq.heapify(turns)
        steps: dict[str, Iterator[tuple[Lane, str]]] = {}
        while turns:
            share = turns[0][1]
            if share not in steps:
                walk = self._walks[share] = self._queues[share].begin(self._wish)
                steps[share] = iter(walk)
            step = next(steps[share], None)
            if step is None:
                heapq.heappop(turns)
                continue
            yield step
            heapq.heapreplace(turns, (self._key(share), share))

    def lanes(self) -> list[Lane]:
        """All lanes, also of shares whose turn has not come."""
        return [lane for queue in self._queues.values() for lane in queue.lanes(self._wish)]

    def skip(self, lane: Lane) -> None:
        """Leave out the remaining tasks of `lane`."""
        self._walks[lane[3]].skip(lane)

    def finish(self) -> None:
        """Put back what was taken out."""
        for share, walk in self._walks.items():
            self._queues[share].finish(walk)
