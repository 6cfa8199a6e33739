"""HOW MUCH? One file an algorithm; this table is all of them."""

from __future__ import annotations

from headway.sizing.agents.feedback_loop import FeedbackLoop
from headway.sizing.agents.gradient_bandit import GradientBandit, GradientBanditAllCores
from headway.sizing.agents.ladder_malleable import LadderMalleable
from headway.sizing.agents.ladders import Ladders
from headway.sizing.agents.malleable import MalleableAllocator
from headway.sizing.agents.q_learning import QLearning, QLearningHarmonic, QLearningPrinted
from headway.sizing.agents.q_learning_separate import QLearningSeparate
from headway.sizing.base import Sizer
from headway.sizing.estimators.exhaustive_bucketing import ExhaustiveBucketing
from headway.sizing.estimators.greedy_bucketing import GreedyBucketing
from headway.sizing.estimators.ladder import Ladder
from headway.sizing.estimators.linear_regression import (
    LinearRegression,
    LinearRegressionMax,
    LinearRegressionMean,
    LinearRegressionMeanMinus,
    LinearRegressionNone,
)
from headway.sizing.estimators.max_seen import MaxSeen
from headway.sizing.estimators.max_throughput import MaxThroughput
from headway.sizing.estimators.min_waste import MinWaste
from headway.sizing.estimators.peak_plus_20 import PeakPlus20
from headway.sizing.estimators.per_process_max import PerProcessMax
from headway.sizing.estimators.percentile import Percentile50, Percentile95
from headway.sizing.estimators.ponder import Ponder
from headway.sizing.estimators.quantized_bucketing import QuantizedBucketing
from headway.sizing.estimators.user import User
from headway.sizing.estimators.whole_machine import WholeMachine

SIZERS: dict[str, type[Sizer]] = {
    sizer.name: sizer
    for sizer in (
        Ladder,
        # 001
        GreedyBucketing,
        ExhaustiveBucketing,
        QuantizedBucketing,
        MinWaste,
        MaxThroughput,
        MaxSeen,
        WholeMachine,
        # 004
        Percentile50,
        Percentile95,
        LinearRegression,
        LinearRegressionNone,
        LinearRegressionMean,
        LinearRegressionMeanMinus,
        LinearRegressionMax,
        # what people use today
        PerProcessMax,
        PeakPlus20,
        Ponder,
        User,
    )
}
DEFAULT_SIZER = Ladder.name
# These choose cores, too, for tasks that can use more or fewer of them: the default for those that say so.
ALLOCATORS: dict[str, type[MalleableAllocator]] = {
    allocator.name: allocator
    for allocator in (
        Ladders,
        LadderMalleable,
        # 003
        GradientBandit,
        GradientBanditAllCores,
        QLearning,
        QLearningPrinted,
        QLearningHarmonic,
        QLearningSeparate,
        FeedbackLoop,
    )
}
