"""HOW MUCH? This table has every built-in way of sizing, by the name that users write after `--sizer`."""

from __future__ import annotations

from functools import partial

from headway.sizing.agents.feedback_loop import FeedbackLoop
from headway.sizing.agents.gradient_bandit import GradientBandit, GradientBanditPrinted
from headway.sizing.agents.ladder_malleable import LadderMalleable, Ladders
from headway.sizing.agents.q_learning import QLearning, QLearningHarmonic, QLearningPrinted
from headway.sizing.agents.q_learning_separate import QLearningSeparate
from headway.sizing.estimators.baselines import User, WholeMachine
from headway.sizing.estimators.bucketing import ExhaustiveBucketing, GreedyBucketing
from headway.sizing.estimators.first_allocation import MaxThroughput, MinWaste
from headway.sizing.estimators.linear_regression import (
    LinearRegression,
    LinearRegressionMax,
    LinearRegressionMean,
    LinearRegressionMeanMinus,
    LinearRegressionNone,
)
from headway.sizing.estimators.maximum import MaxSeen, PeakPlus20, PerProcessMax
from headway.sizing.estimators.percentile import Percentile50, Percentile95
from headway.sizing.estimators.ponder import Ponder
from headway.sizing.estimators.quantized_bucketing import QuantizedBucketing
from headway.sizing.ladder_sizer import ladder_sizer
from headway.sizing.ways import WayOfSizing, chosen_by, estimated_by, summary

SIZERS: dict[str, WayOfSizing] = {
    way.name: way
    for way in (
        WayOfSizing(Ladders.name, summary(Ladders), ladder_sizer, Ladders),
        # Phung and Thain 2024; not in the papers: those that are censored learn from failed attempts, too
        estimated_by(GreedyBucketing, censored=True),
        estimated_by(ExhaustiveBucketing, censored=True),
        estimated_by(QuantizedBucketing),
        estimated_by(MinWaste, censored=True),
        estimated_by(MaxThroughput, censored=True),
        estimated_by(MaxSeen, otherwise=partial(MaxSeen, step=1), censored=True),
        estimated_by(WholeMachine),
        # Witt et al. 2019
        estimated_by(Percentile50, censored=True),
        estimated_by(Percentile95, censored=True),
        estimated_by(LinearRegression, censored=True),
        estimated_by(LinearRegressionNone, censored=True),
        estimated_by(LinearRegressionMean, censored=True),
        estimated_by(LinearRegressionMeanMinus, censored=True),
        estimated_by(LinearRegressionMax, censored=True),
        # what people use today
        estimated_by(PerProcessMax),
        estimated_by(PeakPlus20, otherwise=PerProcessMax),
        estimated_by(Ponder, otherwise=partial(Ponder, reserve=0.0, by_input=False)),
        estimated_by(User),
        # agents that choose cores and memory together; those after the first are of Zunker 2021
        chosen_by(LadderMalleable),
        chosen_by(GradientBandit),
        chosen_by(GradientBanditPrinted),
        chosen_by(QLearning),
        chosen_by(QLearningPrinted),
        chosen_by(QLearningHarmonic),
        chosen_by(QLearningSeparate),
        chosen_by(FeedbackLoop),
    )
}
