"""`Ladders`: the default. All resources as `ladder` says, and cores as `ladder-malleable` does where tasks allow it."""

from __future__ import annotations

from headway.model.task import Task
from headway.sizing.agents.ladder_malleable import LadderMalleable
from headway.sizing.estimators.ladder import Ladder
from headway.sizing.ladder_sizer import ladder_sizer
from headway.sizing.per_resource import PerResource


class Ladders(LadderMalleable):
    """The sequence of amounts that costs least on average, failures included; tasks climb it until one is enough. Cores
    are as stated; tasks that are malleable get as many as they keep half busy.

    One ladder a category and resource learns from every task. Of a malleable task it says everything but the cores.
    """

    name = Ladder.name

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self._others = PerResource(ladder_sizer, seed)

    def chooses_for(self, task: Task) -> bool:
        return task.malleable
