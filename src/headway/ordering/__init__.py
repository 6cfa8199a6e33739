"""WHICH FIRST? This table has every built-in order, by the name that users write after `--order`."""

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
