"""The seven allocators of Phung and Thain 2024 (section V-A), and ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from headway.sizing.base import Sizer
from headway.sizing.estimators.baselines import WholeMachine
from headway.sizing.estimators.bucketing import ExhaustiveBucketing, GreedyBucketing
from headway.sizing.estimators.first_allocation import MaxThroughput, MinWaste
from headway.sizing.estimators.ladder import Ladder
from headway.sizing.estimators.maximum import MaxSeen
from headway.sizing.estimators.quantized_bucketing import QuantizedBucketing
from headway.sizing.ladder_sizer import ladder_sizer
from headway.sizing.ways import sizers_of

OURS = Ladder.name
RECOMMENDED = ExhaustiveBucketing.name  # by the paper
EXACT = "max-seen, exact"


class Entrant(Struct, frozen=True):
    """An allocator in the comparison."""

    name: str
    make: Callable[[str], Sizer]
    column: str | None = None  # its name in the published figures; None if the paper does not have it
    draws: bool = False  # whether its results depend on the seed

    @property
    def is_rival(self) -> bool:
        """Whether the paper has it."""
        return self.column is not None


_MAX_SEEN = sizers_of(
    partial(MaxSeen, first="whole-machine"), otherwise=partial(MaxSeen, step=1, first="whole-machine")
)
# What the two bucketing algorithms did in the paper's own runs, as its logs show: the greatest peak so far, from a
# small start.
_EXACT = sizers_of(partial(MaxSeen, step=1))
_GREEDY = sizers_of(partial(GreedyBucketing, significance="task-number"))
_EXHAUSTIVE = sizers_of(partial(ExhaustiveBucketing, significance="task-number"))

ENTRANTS: dict[str, Entrant] = {
    entrant.name: entrant
    for entrant in (
        Entrant(WholeMachine.name, sizers_of(WholeMachine), "whole"),
        Entrant(MaxSeen.name, _MAX_SEEN, "max-seen"),
        Entrant(MinWaste.name, sizers_of(MinWaste), "min-waste"),
        Entrant(MaxThroughput.name, sizers_of(MaxThroughput), "max-xput"),
        Entrant(QuantizedBucketing.name, sizers_of(QuantizedBucketing), "quantized"),
        Entrant(GreedyBucketing.name, _GREEDY, "greedy", draws=True),
        Entrant(ExhaustiveBucketing.name, _EXHAUSTIVE, "exhaust", draws=True),
        Entrant(EXACT, _EXACT),
        Entrant(OURS, ladder_sizer),
    )
}
RIVALS = tuple(entrant.name for entrant in ENTRANTS.values() if entrant.is_rival)
