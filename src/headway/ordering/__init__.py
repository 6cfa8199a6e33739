"""WHICH FIRST? This table has every built-in order, by the name that users write after `--order`."""

from __future__ import annotations

from headway.ordering.base import Order
from headway.ordering.learning_rank import LearningRank, LearningRankCautious
from headway.ordering.witt import (
    Bfs,
    BfsPostpone,
    Dfs,
    DfsPostpone,
    Fifo,
    LeastFinishedFirst,
    LeastFinishedFirstPostpone,
    Rank,
    RankPostpone,
)

ORDERS: dict[str, type[Order]] = {
    order.name: order
    for order in (
        LearningRank,
        LearningRankCautious,
        # Witt et al. 2019
        Fifo,
        Bfs,
        BfsPostpone,
        Dfs,
        DfsPostpone,
        Rank,
        RankPostpone,
        LeastFinishedFirst,
        LeastFinishedFirstPostpone,
    )
}
DEFAULT_ORDER = LearningRank.name
