"""`mixture`: several models of the wait compete, and those that erred least count most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field, structs, to_builtins

from headway.model.records import Figure
from headway.waiting.asa import Asa
from headway.waiting.base import Draw, Shape, Wait, WaitModel, is_wait
from headway.waiting.corrected_estimate import CorrectedEstimate, kind_of
from headway.waiting.quantile_bound import QuantileBound
from headway.waiting.queue_trees import QueueTrees
from headway.waiting.scheduler_estimate import SchedulerEstimate
from headway.waiting.typical_wait import TypicalWait

JUDGED = (0.1, 0.5, 0.9)  # the quantiles by which models are judged; another is mixed as the nearest of these
FOR_THE_MEDIAN = ("scheduler-estimate", "zero")  # have one answer for all quantiles, so that they hold no given share
# Weights before any wait is known; 1 for other models. In a short run few waits are ever known, and on most logs the
# plan corrected errs least and the plan itself most; the trees know most where they are asked.
FIRST_WEIGHTS = {"corrected-estimate": 10.0, "queue-trees": 10.0, "scheduler-estimate": 0.1}


class Zero(WaitModel):
    """No job waits. Where waits are rare and come in bursts, few models err less on average."""

    name = "zero"
    learns = False

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """0 for every share."""
        return [0.0] * len(shares)


class RecentWaits(CorrectedEstimate):
    """The waits of the last jobs like this one, whatever the scheduler had planned for them."""

    name = "recent-waits"

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """Quantiles of the waits near the shape."""
        return super().quantiles(structs.replace(shape, estimate_s=None), shares)

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """Add a record without its estimate."""
        super().observe(structs.replace(shape, estimate_s=None), ticket, waited_s, censored=censored)


class Judged(Struct):
    """How far each model was off at one quantile, in seconds of pinball loss, and how much their mean lost by mixing.

    AdaHedge (de Rooij, van Erven, Grünwald and Koolen 2014, "Follow the leader if you can, hedge if you must", §2.1): a
    model's weight is exp(-η loss), and η falls as mixing loses. It has no constant to tune and does not depend on the
    unit of the loss. The mean loses at most about 2 sqrt(T log K) of the range of the losses more than the best model.

    Waits become known late: a thousand jobs may be submitted before the first of them starts, all with the same
    weights. So what mixing lost follows from what the mixture had answered, as by Flaspohler et al. 2021 ("Online
    learning with optimism and delay", AdaHedgeD), not from what it would answer by now. Otherwise the first burst of
    equal jobs would give all weight to the model that was best for that burst.
    """

    lost_s: dict[str, float] = field(default_factory=dict)
    mixing_s: float = 0.0

    def weights(self, names: Sequence[str]) -> dict[str, float]:
        """The models' shares, which sum to 1."""
        least_s = min(self.lost_s.get(name, 0.0) for name in names)
        rate = self._rate(len(names))
        raw = {
            name: FIRST_WEIGHTS.get(name, 1.0) * _fading(rate, self.lost_s.get(name, 0.0) - least_s) for name in names
        }
        total = sum(raw.values())
        return {name: weight / total for name, weight in raw.items()}

    def charge(self, share: float, answers_s: Mapping[str, float], waited_s: float, mixed_s: float | None) -> None:
        """Charge each model what its answer lost. `mixed_s`: what their mixture answered, if that is known."""
        losses_s = {name: _pinball_s(share, answer_s, waited_s) for name, answer_s in answers_s.items()}
        weights, rate = self.weights(list(answers_s)), self._rate(len(answers_s))
        least_s = min(losses_s.values())
        mean_s = sum(weights[name] * lost_s for name, lost_s in losses_s.items())
        if mixed_s is not None:
            mean_s = _pinball_s(share, mixed_s, waited_s)
        kept = sum(weights[name] * _fading(rate, lost_s - least_s) for name, lost_s in losses_s.items())
        if kept > 0.0:
            self.mixing_s += max(0.0, mean_s - least_s + (math.log(kept) / rate if math.isfinite(rate) else 0.0))
        for name, lost_s in losses_s.items():
            self.lost_s[name] = self.lost_s.get(name, 0.0) + lost_s

    def _rate(self, models: int) -> float:
        return math.log(models) / self.mixing_s if self.mixing_s > 0.0 else math.inf


class Mixture(WaitModel):
    """The weighted mean of several models' quantiles; the weights follow from what each model lost so far.

    The models are the scheduler's plan corrected, the plan itself, the last waits of like jobs, bounds on their
    quantiles, the waits of all jobs, ASA, and 0; for jobs of which more is known (`Shape.seen`) boosted trees, too.
    Each is charged its pinball loss at three quantiles, and has a weight at each: a model may know the median well and
    the 90% quantile badly. The plan and 0 compete for the median only. Jobs that the plan lets start at once, and jobs
    of which more is known, are judged apart. The ticket of a prediction has what each model answered at the submission:
    that is what it is charged for, not what it would answer when the job starts, after it has seen others of the same
    burst.

    >>> model, shape = Mixture(), Shape(nodes=4, asked_s=3600, estimate_s=7140.0)
    >>> for _ in range(20):
    ...     model.observe(shape, model.predict(shape).ticket, 0.0)
    >>> round(model.predict(shape).wait_s)
    0
    """

    name = "mixture"

    def __init__(self) -> None:
        self._models = _models()
        self._judged: dict[str, Judged] = {}

    def predict(self, shape: Shape, draw: Draw = (0, "", "", 0)) -> Wait:
        """The median, and a ticket with what each model answers."""
        found = self._answers(shape, JUDGED)
        ticket: dict[str, Figure] = {
            f"{name} {share:g}": each_s
            for name, answers_s in found.items()
            for share, each_s in zip(JUDGED, answers_s, strict=True)
        }
        mixed_s = self._mixed(shape, found, JUDGED)
        ticket |= {f"{self.name} {share:g}": each_s for share, each_s in zip(JUDGED, mixed_s, strict=True)}
        return Wait(mixed_s[JUDGED.index(0.5)], ticket)

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """Each share's quantiles of all models, mixed by the weights of the nearest share that is judged."""
        return self._mixed(shape, self._answers(shape, shares), shares)

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """Charge each model what it answered, and let it learn.

        Without a ticket it is not known what the models had answered, so that none is charged; nor is one for a wait
        that is not known to the end.
        """
        if not is_wait(waited_s):
            return
        if ticket and not censored:
            self._judge(shape, ticket, waited_s)
        for model in self._asked(shape).values():
            model.observe(shape, {}, waited_s, censored=censored)

    def _judge(self, shape: Shape, ticket: Mapping[str, Figure], waited_s: float) -> None:
        for share in JUDGED:
            said = {name: ticket.get(f"{name} {share:g}") for name in _competing(self._models, share)}
            answers_s = {name: float(each_s) for name, each_s in said.items() if isinstance(each_s, (int, float))}
            mixed_s = ticket.get(f"{self.name} {share:g}")
            if answers_s:
                mixed_s = float(mixed_s) if isinstance(mixed_s, (int, float)) else None
                self._at(shape, share).charge(share, answers_s, waited_s, mixed_s)

    def state(self) -> dict[str, Any]:
        """What each model learned, and what each was charged."""
        models = {name: model.state() for name, model in self._models.items()}
        return {"version": 1, "models": models, "judged": to_builtins(self._judged)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state; what a model learned that is none of these any more is dropped."""
        self._models = _models()
        for name in self._models.keys() & state["models"].keys():
            self._models[name].restore(state["models"][name])
        self._judged = {key: Judged(**found) for key, found in state["judged"].items()}

    def _answers(self, shape: Shape, shares: Sequence[float]) -> dict[str, list[float]]:
        return {name: model.quantiles(shape, shares) for name, model in self._asked(shape).items()}

    def _asked(self, shape: Shape) -> dict[str, WaitModel]:
        """The models for such a job: the trees learn only jobs of which more than the request is known."""
        return {name: model for name, model in self._models.items() if shape.seen or name != QueueTrees.name}

    def _mixed(self, shape: Shape, found: Mapping[str, Sequence[float]], shares: Sequence[float]) -> list[float]:
        mixed = [0.0] * len(shares)
        least_s = 0.0
        for place in sorted(range(len(shares)), key=lambda place: shares[place]):
            weights = self._at(shape, shares[place]).weights(_competing(found, shares[place]))
            mean_s = sum(weight * found[name][place] for name, weight in weights.items())
            least_s = mixed[place] = max(least_s, mean_s)  # neighbouring shares may have other weights
        return mixed

    def _at(self, shape: Shape, share: float) -> Judged:
        seen = " seen" if shape.seen else ""  # or models that are asked for some jobs only would be charged less
        return self._judged.setdefault(f"{kind_of(shape)}{seen} {_nearest(share):g}", Judged())


def _models() -> dict[str, WaitModel]:
    learning = (RecentWaits(), QuantileBound(), TypicalWait(), Asa(), QueueTrees())
    each: tuple[WaitModel, ...] = (CorrectedEstimate(), SchedulerEstimate(), *learning, Zero())
    return {model.name: model for model in each}


def _nearest(share: float) -> float:
    return min(JUDGED, key=lambda judged: abs(judged - share))


def _competing(names: Iterable[str], share: float) -> list[str]:
    """The models that compete at a share."""
    return [name for name in names if _nearest(share) == 0.5 or name not in FOR_THE_MEDIAN]


def _fading(rate: float, lost_s: float) -> float:
    """exp(-rate loss); at an infinite rate only a loss of 0 counts."""
    return 1.0 if lost_s <= 0.0 else math.exp(-rate * lost_s)


def _pinball_s(share: float, answer_s: float, waited_s: float) -> float:
    over_s = waited_s - answer_s
    return share * over_s if over_s > 0 else (share - 1) * over_s
