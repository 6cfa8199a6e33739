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
_Head = tuple[Any, Key, Key, Lane]
_FEW = 64  # heads that are not valid any more, and not worth removing


class ReadyQueue:
    """Task ids by lane and key. A stale entry is dropped when it reaches the head of its lane, not searched for.

    A stale entry may become current again before that: a task starts, fails and is ready once more, and in a replay no
    entry is taken at all. So each task has one valid entry: the last that was pushed.

    A key begins with the user's priority, which sorts before the category's key; the rest of the key sorts after it.
    Lanes are in a heap by their heads, so that a walk costs as much as the tasks that it meets, however many lanes
    there are. Categories' keys change at any time: an order that has them (`category_key`) makes each walk sort all
    lanes.
    """

    def __init__(self, is_current: Callable[[str], bool], category_key: Callable[[str], Key] | None = None) -> None:
        self._is_current = is_current
        self._category_key = category_key
        self._lanes: dict[Lane, list[tuple[Key, str]]] = {}
        self._entry_of: dict[str, tuple[Lane, Key]] = {}  # the valid entry of each task
        self._heads: dict[str, list[_Head]] = {}  # heaps by wish; only what `_shown` has is valid
        self._shown: dict[Lane, _Head] = {}

    def push(self, lane: Lane, key: Key, task_id: str) -> None:
        """Add a ready task."""
        if self._entry_of.get(task_id) != (lane, key):
            self._entry_of[task_id] = (lane, key)
            entries = self._lanes.setdefault(lane, [])
            entry = (key, task_id)
            heapq.heappush(entries, entry)
            if entries[0] is entry:
                self._show(lane)

    def _show(self, lane: Lane) -> None:
        """Put the head of a lane among the heads, in place of the one that may be there."""
        priority, *rest = self._lanes[lane][0][0]
        of_category = self._category_key(lane[0]) if self._category_key else ()
        head = self._shown[lane] = (priority, of_category, tuple(rest), lane)
        heads = self._heads.setdefault(lane[2], [])
        heapq.heappush(heads, head)
        if len(heads) > 2 * len(self._shown) + _FEW:
            heads[:] = [head for head in self._shown.values() if head[-1][2] == lane[2]]
            heapq.heapify(heads)

    def _drop_stale(self, lane: Lane) -> bool:
        """Drop entries at the head of a lane that are not valid; False, and the lane is removed, if none is left."""
        entries = self._lanes[lane]
        while entries and not self._is_valid(lane, *entries[0]):
            key, task_id = heapq.heappop(entries)
            if self._entry_of.get(task_id) == (lane, key):
                del self._entry_of[task_id]
        if not entries:
            del self._lanes[lane]
        return bool(entries)

    def _is_valid(self, lane: Lane, key: Key, task_id: str) -> bool:
        return self._entry_of.get(task_id) == (lane, key) and self._is_current(task_id)

    def __bool__(self) -> bool:
        return bool(self._lanes)

    @contextmanager
    def walk(self, wish: str = "") -> Iterator[Walk]:
        """Iterate over the tasks with a wish in sorted sequence; the queue is unchanged afterwards."""
        walk = self.begin(wish)
        try:
            yield walk
        finally:
            self.finish(walk)

    def begin(self, wish: str) -> Walk:
        """A walk that `finish` must end."""
        if self._category_key is not None:
            self._heads[wish] = []
            for lane in [lane for lane in self._lanes if lane[2] == wish]:
                self._show(lane)
        return Walk(self, wish)

    def finish(self, walk: Walk) -> None:
        """Put back what a walk has taken out."""
        for lane, entry in walk.taken:
            heapq.heappush(self._lanes.setdefault(lane, []), entry)
        for lane in dict.fromkeys(lane for lane, _ in walk.taken):
            self._show(lane)

    def take(self, wish: str) -> tuple[Lane, tuple[Key, str]] | None:
        """Take the first task with a wish out of its lane; None if there is none."""
        heads = self._heads.get(wish, [])
        while heads:
            head = heapq.heappop(heads)
            lane = head[-1]
            if self._shown.get(lane) is not head:
                continue
            del self._shown[lane]
            first = self._lanes[lane][0]
            if not self._drop_stale(lane):
                continue
            if self._lanes[lane][0] is not first:
                self._show(lane)
                continue
            heapq.heappop(self._lanes[lane])
            if self._lanes[lane]:
                self._show(lane)
            return lane, first
        return None

    def leave_out(self, lane: Lane) -> None:
        """Show nothing more of a lane until the walk that took something out of it is finished."""
        self._shown.pop(lane, None)


class Walk:
    """An iteration over (lane, task id); `skip(lane)` leaves out the rest of a lane that it has come to."""

    def __init__(self, queue: ReadyQueue, wish: str) -> None:
        self.taken: list[tuple[Lane, tuple[Key, str]]] = []
        self._queue = queue
        self._wish = wish

    def __iter__(self) -> Iterator[tuple[Lane, str]]:
        while (first := self._queue.take(self._wish)) is not None:
            self.taken.append(first)
            yield first[0], first[1][1]

    def skip(self, lane: Lane) -> None:
        """Leave out the remaining tasks of `lane`."""
        self._queue.leave_out(lane)


class SharedQueues:
    """A queue of ready tasks for each share of a pool. Without shares it is one queue, and costs no more than that."""

    def __init__(self, is_current: Callable[[str], bool], category_key: Callable[[str], Key] | None = None) -> None:
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
    def walk(self, wish: str = "", key: Callable[[str], Keys] | None = None) -> Iterator[Walk | SharedWalk]:
        """Iterate over the tasks with a wish; the queues are unchanged afterwards.

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

    def __init__(self, queues: Mapping[str, ReadyQueue], wish: str, key: Callable[[str], Keys] | None) -> None:
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

    def skip(self, lane: Lane) -> None:
        """Leave out the remaining tasks of `lane`."""
        self._walks[lane[3]].skip(lane)

    def finish(self) -> None:
        """Put back what was taken out."""
        for share, walk in self._walks.items():
            self._queues[share].finish(walk)
