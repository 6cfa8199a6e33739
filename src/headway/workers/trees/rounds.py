"""`Rounds`: one timer for all trees. At each round the trees that are due are looked at."""

from __future__ import annotations

import asyncio
import math
import time
from concurrent.futures import ThreadPoolExecutor

from headway.model.outcome import Ending
from headway.workers.trees.group import Group
from headway.workers.trees.orphans import Orphans
from headway.workers.trees.processes import children_lookup
from headway.workers.trees.slow_measurements import SlowMeasurements
from headway.workers.trees.tree import Tree

_SHORTEST_S = 0.1  # between two looks at a tree
_LONGEST_S = 0.4  # a plateau of half a second must be seen
_SHARE = 0.05  # of one core that looking may take, as long as that lets the interval be short enough
_DISK_INTERVAL_S = 0.5
_THREADS = 8  # for slow looks of all trees together: they wait for the kernel more than for Python


class Rounds:
    """Keeps the trees that run, their orphans, and the groups that could not be removed at once."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="headway-look")
        self.sharing = SlowMeasurements(self._pool, least_interval_s=_SHORTEST_S)
        self.disks = SlowMeasurements(self._pool, least_interval_s=_DISK_INTERVAL_S)
        self.trees: dict[str, Tree] = {}
        self.spawner_pid = 0
        self._orphans = Orphans()
        self._unremoved: list[Group] = []
        self._timer: asyncio.TimerHandle | None = None
        self._interval_s = _SHORTEST_S

    def wake(self) -> None:
        """Set the timer to the earliest time that a tree wants a look, or an orphan may want reaping."""
        due_s = min((tree.due_s for tree in self.trees.values()), default=math.inf)
        if due_s == math.inf:
            if not self._orphans.left:
                return
            due_s = self._loop.time() + self._interval_s
        if self._timer is not None:
            if self._timer.when() <= due_s:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due_s, self._round)

    def collect_orphans(self) -> None:
        """Hand every orphan to its tree, reap the ended ones."""
        self._orphans.collect(self.trees.values(), self.spawner_pid)

    @property
    def has_all_orphans(self) -> bool:
        """Whether the last collecting can have missed none."""
        return self._orphans.seen_all

    def finished(self, tree: Tree, *, removed: bool) -> None:
        """Its last process has ended; its group may have to be removed later."""
        del self.trees[tree.spec.key]
        if not removed:
            self._unremoved.append(tree.group)
        self.wake()

    async def close(self) -> None:
        """Kill whatever still runs, and return when it is gone."""
        now_s = self._loop.time()
        waiting = [tree.done for tree in self.trees.values()]
        for tree in list(self.trees.values()):
            tree.stop(Ending.CANCELLED, now_s, at_once=True)
        await asyncio.gather(*waiting)
        self.collect_orphans()
        while self._orphans.left or not self._remove_groups():
            await asyncio.sleep(0.005)
            self.collect_orphans()
        if self._timer is not None:
            self._timer.cancel()
        self._pool.shutdown(wait=False)

    def _round(self) -> None:
        self._timer = None
        now_s = self._loop.time()
        began_s = time.thread_time()
        self.collect_orphans()
        children = children_lookup()
        # Looking a little early at those that are nearly due keeps them all in step: one waking for all.
        for tree in [tree for tree in self.trees.values() if tree.due_s <= now_s + self._interval_s / 4]:
            tree.sample(now_s, self._interval_s, children)
        self._remove_groups()
        cost_s = time.thread_time() - began_s
        self._interval_s = min(max(_SHORTEST_S, cost_s / _SHARE), _LONGEST_S)
        self.wake()

    def _remove_groups(self) -> bool:
        self._unremoved = [group for group in self._unremoved if not group.remove()]
        return not self._unremoved
