"""`Ladders`: the allocator of `ladder`, the default: a ladder per resource, and cores chosen for malleable tasks."""

from __future__ import annotations

from headway.model.task import Task
from headway.sizing.agents.ladder_malleable import LadderMalleable
from headway.sizing.estimators.ladder import Ladder
from headway.sizing.ladder_sizer import ladder_sizer
from headway.sizing.per_resource import PerResource


class Ladders(LadderMalleable):
    """The sequence of amounts that costs least on average, failures included; tasks climb it until one is enough. Cores
    are as stated; malleable tasks get as many as they keep half busy.

    Each category has one ladder per resource, which learns from every task. `LadderMalleable` chooses the cores of
    malleable tasks.
    """

    name = Ladder.name

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self._others = PerResource(ladder_sizer, seed)

    def chooses_for(self, task: Task) -> bool:
        return task.malleable
