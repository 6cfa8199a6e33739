"""Lending: what a workflow of a pool leaves to others of the nodes that were asked for it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

# A job asks for a tenth more time than its tasks are expected to need. A workflow that lends no more than that can
# still do all its work in the jobs that were asked for it.
MOST_LENT = 0.1
_ROUNDING = 1e-9


class Own(Struct):
    """The nodes of the jobs that were asked for one workflow, and what it uses and has used, anywhere."""

    nodes: float = 0.0  # that are there now
    asked_s: float = 0.0  # node-seconds, of all jobs that have started, as long as they may last
    held_s: float = 0.0  # node-seconds until now
    used_s: float = 0.0  # node-seconds until now
    uses: float = 0.0  # nodes, now
    waiting: int = 0  # tasks that are ready


class Lending:
    """While a workflow has ready tasks, others may use a tenth of the nodes that were asked for it, and no more.

    Up to that all take turns on any node. So a workflow that comes starts at once on what others hold, and a short one
    is done before its own jobs would have started; a long one is delayed by about a tenth. That none is better off by
    itself is the sharing incentive of Ghodsi et al. (2011). A task counts from its start with all the time that it is
    expected to run, since running tasks are not stopped. What a workflow cannot use itself is not limited.

    >>> lending = Lending({"blast": Own(nodes=10, asked_s=36_000.0, uses=8, waiting=5)})
    >>> lending.allows("montage", 1, run_s=60.0), lending.allows("montage", 1, run_s=3_700.0)
    (True, False)
    >>> lending.begin("montage", 1, run_s=3_500.0)
    >>> lending.allows("montage", 1, run_s=60.0), lending.allows("montage", 1, run_s=120.0)
    (True, False)
    """

    def __init__(self, own: Mapping[str, Own]) -> None:
        self._own = own
        self._nodes = sum(each.nodes for each in own.values())
        self._begun_s = 0.0  # node-seconds that workflows hold from now on beyond what was asked for them

    def _borrowed(self, share: str, nodes: float) -> float:
        """How many of so many more nodes would be beyond what was asked for a share."""
        own = self._own.get(share)
        return nodes if own is None else max(0.0, nodes - max(0.0, own.nodes - own.uses))

    def allows(self, share: str, nodes: float, run_s: float) -> bool:
        """Whether a share may start a task on so many nodes, for so many seconds from now."""
        more_s = self._borrowed(share, nodes) * run_s
        if more_s <= 0.0:
            return True
        for other, own in self._own.items():
            if other != share and own.waiting > 0 and own.uses + _ROUNDING < own.nodes:
                lent_s = own.held_s - own.used_s + (self._begun_s + more_s) * own.nodes / self._nodes
                if lent_s > MOST_LENT * own.asked_s:
                    return False
        return True

    def begin(self, share: str, nodes: float, run_s: float) -> None:
        """Take note of a task that starts."""
        self._begun_s += self._borrowed(share, nodes) * run_s
        if share in self._own:
            self._own[share].uses += nodes
            self._own[share].waiting -= 1
