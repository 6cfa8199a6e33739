"""What is compared: the paper's orders and predictors under the paper's names, and ours."""

from __future__ import annotations

from msgspec import Struct

from headway.ordering import ORDERS
from headway.ordering.learning_rank import LearningRank, LearningRankCautious
from headway.ordering.witt import Fifo
from headway.sizing.estimators.ladder import Ladder

TTFS = (0.1, 0.5, 0.9)
FAMILIES = ("cybershake", "epigenomics", "ligo", "montage", "sipht")  # the paper calls epigenomics Genome

FIFO, LFF, LFF_POSTPONE = "fifo", "least-finished-first", "least-finished-first-postpone"
OUR_ORDER = LearningRank.name
CAUTIOUS = LearningRankCautious.name  # section VII: more memory for tasks on which many depend; for our sizer only
PUBLISHED_ORDERS = tuple(name for name in ORDERS if name not in (OUR_ORDER, CAUTIOUS))
EVERY_ORDER = (*PUBLISHED_ORDERS, OUR_ORDER)
SHORT_ORDERS = {
    FIFO: "FIFO",
    "bfs": "BFS persevere",
    "bfs-postpone": "BFS postpone",
    "dfs": "DFS persevere",
    "dfs-postpone": "DFS postpone",
    "rank": "TR persevere",
    "rank-postpone": "TR postpone",
    LFF: "LFF persevere",
    LFF_POSTPONE: "LFF postpone",
}

FIRST_GUESS = "power-2"  # what predictors start with before their first record; the paper does not say which
# A user who knows each category's greatest peak beforehand, which no user does; and our default with that knowledge.
# The paper has neither.
EXACT, OUR_EXACT = "Max +0%", "ladder, Max +0% first"


class Entrant(Struct, frozen=True):
    """A predictor in the comparison: a sizer, and the user's estimates that it starts with, or always uses."""

    name: str
    sizer: str
    estimate: str = FIRST_GUESS
    published: bool = True
    orders: tuple[str, ...] = EVERY_ORDER  # with which it is combined


ENTRANTS: dict[str, Entrant] = {
    entrant.name: entrant
    for entrant in (
        Entrant("PC 50", "percentile-50"),
        Entrant("PC 95", "percentile-95"),
        Entrant("LR", "linear-regression-none"),
        Entrant("LR mean±", "linear-regression-mean"),
        Entrant("LR mean-", "linear-regression-mean-minus"),
        Entrant("LR max-", "linear-regression-max"),
        Entrant("Power 2", "user", "power-2"),
        Entrant("Power 10", "user", "power-10"),
        Entrant("Max +20%", "user", "max+20%"),
        Entrant("Max +50%", "user", "max+50%"),
        Entrant(EXACT, "user", "max+0%", published=False),
        Entrant(Ladder.name, Ladder.name, published=False),
        Entrant(OUR_EXACT, Ladder.name, "max+0%", published=False, orders=(OUR_ORDER,)),
    )
}
OUR_SIZER = Ladder.name
PREDICTORS = tuple(name for name, entrant in ENTRANTS.items() if entrant.published and entrant.sizer != "user")
USERS = tuple(name for name, entrant in ENTRANTS.items() if entrant.sizer == "user")

Pair = tuple[str, str]  # order and entrant
EVERY_PAIR: tuple[Pair, ...] = (
    *((order, name) for name, entrant in ENTRANTS.items() for order in entrant.orders),
    (CAUTIOUS, OUR_SIZER),
)


def is_published(pair: Pair) -> bool:
    """Whether the paper has this combination."""
    return pair[0] in PUBLISHED_ORDERS and ENTRANTS[pair[1]].published


def said(pair: Pair) -> str:
    """The combination in words."""
    return f"{SHORT_ORDERS.get(pair[0], pair[0])} + {pair[1]}"


def handling(order: str) -> str:
    """How an order treats failed tasks."""
    if order == Fifo.name:
        return "time of arrival"
    return "postpone" if order.endswith("-postpone") else "persevere"
