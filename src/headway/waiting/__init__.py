"""HOW LONG A QUEUE? Every built-in model of queue waits by name."""

from __future__ import annotations

from headway.waiting.asa import Asa, AsaDefault, AsaGreedy
from headway.waiting.base import WaitModel
from headway.waiting.corrected_estimate import CorrectedEstimate
from headway.waiting.mixture import Mixture
from headway.waiting.quantile_bound import QuantileBound
from headway.waiting.scheduler_estimate import SchedulerEstimate

WAITS: dict[str, type[WaitModel]] = {
    model.name: model
    for model in (Mixture, CorrectedEstimate, SchedulerEstimate, QuantileBound, Asa, AsaDefault, AsaGreedy)
}
