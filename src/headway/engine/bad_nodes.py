"""Nodes on which things keep failing that work elsewhere."""

from __future__ import annotations

from collections import Counter, defaultdict

from headway.model.outcome import Ending
from headway.model.records import AvoidNode, Why
from headway.model.task import Task

MOST_FAILURES = 3  # attempts of different tasks, and losses of the node, in a row
AVOID_S = 3600.0
_BLAMED = (Ending.EXIT_CODE, Ending.SIGNAL, Ending.MISSING_OUTPUT, Ending.LAUNCH_FAILED)


class BadNodes:
    """Counts failures by machine, and says which machines to avoid.

    A machine is bad if several tasks in a row failed there, or it was lost, and nothing succeeded there since, while
    tasks of these categories succeed elsewhere. Running out of a resource does not count. Jobs are asked for without
    a bad machine for an hour; if a job gets it all the same, it is tried again.
    """

    def __init__(self) -> None:
        self.avoided: dict[str, float] = {}  # machines, and until when
        self._failed: defaultdict[str, dict[str, str]] = defaultdict(dict)  # by machine: tasks, and their categories
        self._losses: Counter[str] = Counter()
        self._succeeded: defaultdict[str, set[str]] = defaultdict(set)  # by category: machines

    def ended(self, node: str, task: Task, ending: Ending) -> None:
        """Take note of the end of an attempt on a node."""
        machine = machine_of(node)
        if ending is Ending.SUCCESS:
            self._succeeded[task.category].add(machine)
            self._forget(machine)
        elif ending in _BLAMED:
            self._failed[machine][task.id] = task.category

    def lost(self, node: str) -> None:
        """Take note of a node that was lost before its job's time was up."""
        self._losses[machine_of(node)] += 1

    def is_up(self, node: str) -> None:
        """A job has this node: there may be no other, so it is tried again."""
        if self.avoided.pop(machine_of(node), None) is not None:
            self._forget(machine_of(node))

    def avoid(self, decision: AvoidNode) -> None:
        """Avoid a machine from now on."""
        self.avoided[decision.node] = decision.until
        self._forget(decision.node)

    def is_avoided(self, node: str) -> bool:
        """Whether this node is of a machine that is avoided."""
        return bool(self.avoided) and machine_of(node) in self.avoided

    def verdicts(self, now: float) -> list[AvoidNode]:
        """The machines that should be avoided from now on."""
        suspects = [machine for machine in {**self._failed, **self._losses} if self._is_bad(machine)]
        return [AvoidNode(now, machine, now + AVOID_S, self._why(machine)) for machine in suspects]

    def _is_bad(self, machine: str) -> bool:
        failed = self._failed.get(machine, {})
        if len(failed) + self._losses[machine] < MOST_FAILURES:
            return False
        categories = set(failed.values())
        wanted = categories if len(categories) == 1 else set(self._succeeded)  # unrelated tasks: any success counts
        return any(self._succeeded[category] - {machine} for category in wanted)

    def _why(self, machine: str) -> Why:
        failed, losses = len(self._failed.get(machine, {})), self._losses[machine]
        parts = [f"{failed} tasks failed there in a row that work elsewhere"] if failed else []
        parts += [f"it was lost {losses} times"] if losses else []
        return Why("engine", "bad-node", {"failed": failed, "losses": losses}, " and ".join(parts))

    def _forget(self, machine: str) -> None:
        self._failed.pop(machine, None)
        self._losses.pop(machine, None)


def machine_of(node: str) -> str:
    """The batch system's name of a node, which the run names after its job too: `n3` of `n3#2`."""
    return node.rpartition("#")[0] or node
