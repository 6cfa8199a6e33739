"""The seven allocators of Phung and Thain 2024 (section V-A), and ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from msgspec import Struct

from headway.sizing.base import Sizer
from headway.sizing.estimators.base import Estimate, Query, Start
from headway.sizing.estimators.baselines import WholeMachine
from headway.sizing.estimators.bucketing import Bucketing, ExhaustiveBucketing, GreedyBucketing
from headway.sizing.estimators.first_allocation import MaxThroughput, MinWaste
from headway.sizing.estimators.ladder import Ladder
from headway.sizing.estimators.maximum import MaxSeen
from headway.sizing.estimators.quantized_bucketing import QuantizedBucketing
from headway.sizing.ladder_sizer import ladder_sizer
from headway.sizing.ways import sizers_of

OURS = Ladder.name  # with as many failures as --failures says
ANY = f"{OURS}, any failures"  # with no regard to their number, as the paper's
RECOMMENDED = ExhaustiveBucketing.name  # by the paper
EXACT = "max-seen, exact"

_GREATEST_TASK_NUMBER = 10**9  # a longer number is a date or a hash


class Entrant(Struct, frozen=True):
    """An allocator in the comparison."""

    name: str
    make: Callable[[str], Sizer]
    column: str | None = None  # its name in the published figures; None if the paper does not have it
    draws: bool = False  # whether its results depend on the seed
    bounded: bool = False  # whether --failures bounds its failures

    @property
    def is_rival(self) -> bool:
        """Whether the paper has it."""
        return self.column is not None


class MaxSeenOrMachine(MaxSeen):
    """`max-seen` as in Work Queue: the first tasks, whatever their hints, and all that failed get the whole machine."""

    climbs = True

    def estimate(self, query: Query) -> Estimate | None:
        if not query.failures and self._records:
            return super().estimate(query)
        text = f"{query.show(query.given)} ran out" if query.failures else "nothing is known yet"
        return Estimate(Start.WHOLE_MACHINE, "whole-machine", {}, f"{text}: the whole machine")


class _ByTaskNumber(Bucketing):
    """Weighs a record by the last number in its task's name, as the paper does: tasks are numbered as submitted."""

    def significance(self, task: str) -> int:
        numbers = re.findall(r"\d+", task)
        if numbers and int(numbers[-1]) <= _GREATEST_TASK_NUMBER:
            return max(1, int(numbers[-1]))
        return super().significance(task)


class GreedyByTaskNumber(_ByTaskNumber, GreedyBucketing):
    """`greedy-bucketing` with task numbers as significance."""


class ExhaustiveByTaskNumber(_ByTaskNumber, ExhaustiveBucketing):
    """`exhaustive-bucketing` with task numbers as significance."""


_MAX_SEEN = sizers_of(MaxSeenOrMachine, otherwise=partial(MaxSeenOrMachine, step=1))
# What the two bucketing algorithms did in the paper's own runs, as its logs show: the greatest peak so far, from a
# small start.
_EXACT = sizers_of(partial(MaxSeen, step=1))

ENTRANTS: dict[str, Entrant] = {
    entrant.name: entrant
    for entrant in (
        Entrant(WholeMachine.name, sizers_of(WholeMachine), "whole"),
        Entrant(MaxSeen.name, _MAX_SEEN, "max-seen"),
        Entrant(MinWaste.name, sizers_of(MinWaste), "min-waste"),
        Entrant(MaxThroughput.name, sizers_of(MaxThroughput), "max-xput"),
        Entrant(QuantizedBucketing.name, sizers_of(QuantizedBucketing), "quantized"),
        Entrant(GreedyBucketing.name, sizers_of(GreedyByTaskNumber), "greedy", draws=True),
        Entrant(ExhaustiveBucketing.name, sizers_of(ExhaustiveByTaskNumber), "exhaust", draws=True),
        Entrant(EXACT, _EXACT),
        Entrant(ANY, ladder_sizer),
        Entrant(OURS, ladder_sizer, bounded=True),
    )
}
RIVALS = tuple(entrant.name for entrant in ENTRANTS.values() if entrant.is_rival)
