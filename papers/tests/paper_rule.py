"""The paper's rule for failures (section III-B): a task whose guess failed gets the prediction, if there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway.model.task import Task
from headway.sizing import SIZERS
from headway.sizing.base import CannotFit, Context, Prediction, Sizer
from headway.sizing.learning import LearningSizer


def as_published(name: str) -> Callable[[str], Sizer]:
    """The sizer of that name; if it learns, with the paper's rule for guesses that failed.

    Headway's own rule is to give at least twice what ran out, whatever it came from.
    """
    known = SIZERS[name]
    if not issubclass(known, LearningSizer):
        return known

    class AsPublished(known):  # type: ignore[misc,valid-type]
        def predict(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
            if failures and _were_guesses(task.hints.get(self.resource), failures):
                first: Prediction | CannotFit = super().predict(task, (), context)
                learned = self.learned(task) is not None
                if learned and isinstance(first, Prediction) and (first.value or 0.0) > failures[-1]:
                    return first
            answer: Prediction | CannotFit = super().predict(task, failures, context)
            return answer

    return AsPublished


def _were_guesses(hint: float | None, failures: Sequence[float]) -> bool:
    """Whether all that failed was the user's estimate, and twice that, and so on."""
    return hint is not None and all(amount == hint * 2**number for number, amount in enumerate(failures))
