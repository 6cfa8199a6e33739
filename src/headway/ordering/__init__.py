"""WHICH FIRST? One file an order; this table is all of them."""

from __future__ import annotations

from headway.ordering.base import Order
from headway.ordering.bfs import Bfs, BfsPostpone
from headway.ordering.cautious import LearningRankCautious
from headway.ordering.dfs import Dfs, DfsPostpone
from headway.ordering.fifo import Fifo
from headway.ordering.learning_rank import LearningRank
from headway.ordering.least_finished_first import LeastFinishedFirst, LeastFinishedFirstPostpone
from headway.ordering.rank import Rank, RankPostpone

ORDERS: dict[str, type[Order]] = {
    order.name: order
    for order in (
        LearningRank,
        LearningRankCautious,
        # 004
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
