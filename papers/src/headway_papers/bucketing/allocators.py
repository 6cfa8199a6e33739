"""The seven allocators of Phung and Thain 2024 (section V-A), and ours."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from headway.sizing.base import Sizer
from headway.sizing.estimators.exhaustive_bucketing import ExhaustiveBucketing
from headway.sizing.estimators.greedy_bucketing import GreedyBucketing
from headway.sizing.estimators.ladder import Ladder
from headway.sizing.estimators.max_seen import MaxSeen
from headway.sizing.estimators.max_throughput import MaxThroughput
from headway.sizing.estimators.min_waste import MinWaste
from headway.sizing.estimators.quantized_bucketing import QuantizedBucketing
from headway.sizing.estimators.whole_machine import WholeMachine

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


def _max_seen(resource: str) -> Sizer:
    return MaxSeen(resource, first="whole-machine")


def _exact(resource: str) -> Sizer:
    """The greatest peak so far, from a small start: what both bucketing algorithms did in the paper's own runs, by its
    logs."""
    return MaxSeen(resource, bucket_bytes=1)


def _greedy(resource: str) -> Sizer:
    return GreedyBucketing(resource, significance="task-number")


def _exhaustive(resource: str) -> Sizer:
    return ExhaustiveBucketing(resource, significance="task-number")


ENTRANTS: dict[str, Entrant] = {
    entrant.name: entrant
    for entrant in (
        Entrant(WholeMachine.name, WholeMachine, "whole"),
        Entrant(MaxSeen.name, _max_seen, "max-seen"),
        Entrant(MinWaste.name, MinWaste, "min-waste"),
        Entrant(MaxThroughput.name, MaxThroughput, "max-xput"),
        Entrant(QuantizedBucketing.name, QuantizedBucketing, "quantized"),
        Entrant(GreedyBucketing.name, _greedy, "greedy", draws=True),
        Entrant(ExhaustiveBucketing.name, _exhaustive, "exhaust", draws=True),
        Entrant(EXACT, _exact),
        Entrant(OURS, Ladder),
    )
}
RIVALS = tuple(entrant.name for entrant in ENTRANTS.values() if entrant.is_rival)
