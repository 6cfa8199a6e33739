"""The paper's rule for failures (section III-B): a task whose guess failed gets the prediction, if there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway.drivers.assemble import known, sizers
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction, Sizer
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators.censored import Censored


def as_published(name: str) -> Callable[[str], Sizer]:
    """The sizer of that name; if it learns, with the paper's rule for guesses that failed.

    Headway's own rule is to give at least twice what ran out, whatever it came from.
    """
    make = known("sizer", name, sizers())

    def adapted(resource: str) -> Sizer:
        sizer = make(resource)
        if isinstance(sizer, EstimatedSizer) and not sizer.estimator.climbs:
            known = sizer.estimator.known if isinstance(sizer.estimator, Censored) else sizer.estimator
            return AsPublished(known, resource, name)
        return sizer

    return adapted


class AsPublished(EstimatedSizer):
    """A sizer with the rule of Witt et al. for guesses that failed."""

    def predict(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        if failures and _were_guesses(task.hints.get(self.resource), failures):
            first = super().predict(task, (), context)
            learned = self.estimator.estimate(self.query(task, (), context)) is not None
            if learned and isinstance(first, Prediction) and (first.value or 0.0) > failures[-1]:
                return first
        return super().predict(task, failures, context)


def _were_guesses(hint: float | None, failures: Sequence[float]) -> bool:
    """Whether all that failed was the user's estimate, and twice that, and so on."""
    return hint is not None and all(amount == hint * 2**number for number, amount in enumerate(failures))
