"""`Rounds`: one timer for all trees. Each round takes a sample of the trees that are due."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from concurrent.futures import ThreadPoolExecutor

from headway.model.outcome import Ending
from headway.workers.trees.group import Group
from headway.workers.trees.orphans import Orphans
from headway.workers.trees.processes import children_lookup
from headway.workers.trees.slow_measurements import SlowMeasurements
from headway.workers.trees.tree import Tree

_SHORTEST_S = 0.1  # between two samples of a tree
_LONGEST_S = 0.4  # so that a peak that lasts half a second is seen
_SHARE = 0.05  # the share of one core that sampling may use, unless the interval would exceed _LONGEST_S
_DISK_INTERVAL_S = 0.5
_THREADS = 8  # for the slow measurements of all trees, which mostly wait for the kernel

_log = logging.getLogger(__name__)


class Rounds:
    """Owns the running trees, their orphans, and the groups that could not be removed at once."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="headway-measure")
        self.sharing = SlowMeasurements(self._pool, least_interval_s=_SHORTEST_S)
        self.disks = SlowMeasurements(self._pool, least_interval_s=_DISK_INTERVAL_S)
        self.trees: dict[str, Tree] = {}
        self.spawner_pid = 0
        self.orphans = Orphans()
        self._unremoved: list[Group] = []
        self._timer: asyncio.TimerHandle | None = None
        self._interval_s = _SHORTEST_S

    def wake(self) -> None:
        """Set the timer to the earliest time at which a tree is due, or an orphan may have to be reaped."""
        due_s = min((tree.due_s for tree in self.trees.values()), default=math.inf)
        if due_s == math.inf:
            if not self.orphans.left:
                return
            due_s = self._loop.time() + self._interval_s
        if self._timer is not None:
            if self._timer.when() <= due_s:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due_s, self._round)

    def collect_orphans(self) -> None:
        """Assign every orphan to its tree and reap the dead ones."""
        self.orphans.collect(self.trees.values(), self.spawner_pid)

    def finished(self, tree: Tree, *, removed: bool) -> None:
        """Drop a tree whose last process has ended; its group is removed later if it is not `removed` yet."""
        del self.trees[tree.spec.key]
        if not removed:
            self._unremoved.append(tree.group)
        self.wake()

    async def close(self) -> None:
        """Kill all running trees and return when all their processes have ended."""
        now_s = self._loop.time()
        waiting = [tree.done for tree in self.trees.values()]
        for tree in list(self.trees.values()):
            tree.stop(Ending.CANCELLED, now_s, at_once=True)
        await asyncio.gather(*waiting)
        self.collect_orphans()
        while self.orphans.left or not self._remove_groups():
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
        # Trees that are nearly due are sampled now, so that all trees share one timer.
        due = [tree for tree in self.trees.values() if tree.due_s <= now_s + self._interval_s / 4]
        for tree in due:
            tree.sample(now_s, self._interval_s, children)
        self._remove_groups()
        cost_s = time.thread_time() - began_s
        self._interval_s = min(max(_SHORTEST_S, cost_s / _SHARE), _LONGEST_S)
        _log.debug("sampled %d of %d trees in %.4f s of CPU time", len(due), len(self.trees), cost_s)
        self.wake()

    def _remove_groups(self) -> bool:
        self._unremoved = [group for group in self._unremoved if not group.remove()]
        return not self._unremoved
