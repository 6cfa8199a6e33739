"""`feedback-loop`: the whole machine while a category trains, then what was used on average."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor, sqrt

from headway.model.outcome import Ending, Outcome
from headway.model.records import Figure, Why
from headway.model.resources import describe
from headway.sizing.agents.agent_trace import Trace, traces
from headway.sizing.agents.malleable import Agent, Choice, Learned, MalleableAllocator, Question, given
from headway.sizing.resource_rules import MEMORY

TRAINING_RUNS = 10


class FeedbackLoop(MalleableAllocator):
    """All cores and memory while a category trains, then what was used on average.

    After the training a task gets the mean number of busy cores, and the mean memory plus a standard deviation; one
    that runs out gets the greatest peak of the training, then twice that. Later attempts teach nothing, nor do those
    that another policy sized. Zunker 2021, section 5.1.

    `training`: the number of runs that a category trains. `tasks_a_run`: by category, the tasks in each run (1).
    """

    name = "feedback-loop"
    choices = ()

    def __init__(self, seed: int = 0, training: int = TRAINING_RUNS, tasks_a_run: Mapping[str, int] | None = None):
        super().__init__(seed)
        self._training = training
        self._tasks_a_run = tasks_a_run or {}

    def new_agent(self, category: str) -> Agent:
        return _Loop(self._training * self._tasks_a_run.get(category, 1))


class _Trained(Learned):
    """The statistics of a category's training: means, and the sum of squared distances to the mean (Welford)."""

    seen: int = 0
    mean_cores: float = 0.0
    mean_bytes: float = 0.0
    squares: float = 0.0
    most_bytes: float = 0.0
    traces: dict[str, Trace] = traces("loop")


class _Loop(Agent):
    """The agent of a category."""

    def __init__(self, training: int) -> None:
        self.learned: _Trained = _Trained()
        self._training = training

    def choose(self, question: Question) -> Choice:
        limits, known = question.limits, self.learned
        if known.seen < self._training:
            figures: dict[str, Figure] = {"records": known.seen, "training": self._training}
            text = f"it trains on {self._training} runs and has seen {known.seen}: all that there is"
            why = Why(FeedbackLoop.name, "training", figures, text)
            return Choice(limits.cores, limits.memory_bytes, {"cores": why, "memory_bytes": why}, {})
        deviation = sqrt(known.squares / known.seen)
        figures = {
            "mean_cores": known.mean_cores,
            "mean_bytes": known.mean_bytes,
            "deviation_bytes": deviation,
            "most_bytes": known.most_bytes,
            "given": question.failed_bytes,
            "records": known.seen,
        }
        cores = max(1.0, floor(known.mean_cores + 0.5))
        about = f"{known.seen} runs kept {describe('cores', round(known.mean_cores, 2))} busy on average"
        why_cores = Why(FeedbackLoop.name, "mean-busy", figures, about)
        amount, rule, text = known.mean_bytes + deviation, "mean-plus-deviation", "the mean and a standard deviation"
        if question.failed_bytes:
            rule, text = "most-seen", "that ran out: the most that training saw"
            amount = known.most_bytes
            if amount <= question.failed_bytes:
                amount, rule, text = 2 * known.most_bytes, "twice-most-seen", "that ran out, too: twice the most seen"
        text = f"{text} is {describe('memory_bytes', amount)}"
        why_memory = Why(FeedbackLoop.name, rule, figures, text)
        return Choice(cores, ceil(amount), {"cores": why_cores, "memory_bytes": why_memory}, {})

    def learn(self, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        peak, cores = MEMORY.peak(outcome), outcome.usage.cores_average
        given_bytes = given(ticket, "given_memory_bytes")
        if given_bytes is None:
            return  # another policy sized it, without the whole machine
        unused = given_bytes if outcome.ending is Ending.MEMORY else given_bytes - (peak or 0.0)
        known = self.learned
        known.traces["loop"].add(str(outcome.ending), given(ticket, "given_cores") or 0.0, given_bytes, -unused)
        if known.seen >= self._training or peak is None:
            return
        known.seen += 1
        used = cores.value if cores is not None and 0 <= cores.value < 2.0**20 else 1.0
        known.mean_cores += (used - known.mean_cores) / known.seen
        before = peak - known.mean_bytes
        known.mean_bytes += before / known.seen
        known.squares += before * (peak - known.mean_bytes)
        known.most_bytes = max(known.most_bytes, peak)
