"""The score of one wait model, for tests."""

from __future__ import annotations

from headway.model.wait_score import WaitScore
from headway.simulation.wait_scores import Waits, ask, score, those_to_wait
from headway.waiting.base import WaitModel


def scored(model: WaitModel, waits: Waits, warm_up_s: float = 0.0) -> WaitScore | None:
    """The model's score on the jobs that had to wait after the warm-up."""
    return score(model.name, ask(model, waits), waits, those_to_wait(waits, warm_up_s))
