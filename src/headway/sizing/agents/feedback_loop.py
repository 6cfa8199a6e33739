"""`feedback-loop`: the whole machine while a category trains, then what was used on average."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor, sqrt
from typing import Any

from headway.model.outcome import Ending, Outcome
from headway.model.records import Figure, Why
from headway.model.resources import describe
from headway.sizing.agents.agent_trace import Trace
from headway.sizing.agents.malleable import Agent, Choice, MalleableAllocator, Question, given
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


class _Loop(Agent):
    """The statistics of a category's training: means, and the sum of squared distances to the mean (Welford)."""

    def __init__(self, training: int) -> None:
        super().__init__()
        self._training = training
        self._seen = 0
        self._mean_cores = 0.0
        self._mean_bytes = 0.0
        self._squares = 0.0
        self._most_bytes = 0.0
        self._trace = Trace()

    def choose(self, question: Question) -> Choice:
        limits = question.limits
        if self._seen < self._training:
            figures: dict[str, Figure] = {"records": self._seen, "training": self._training}
            text = f"it trains on {self._training} runs and has seen {self._seen}: all that there is"
            why = Why(FeedbackLoop.name, "training", figures, text)
            return Choice(limits.cores, limits.memory_bytes, {"cores": why, "memory_bytes": why}, {})
        deviation = sqrt(self._squares / self._seen)
        figures = {
            "mean_cores": self._mean_cores,
            "mean_bytes": self._mean_bytes,
            "deviation_bytes": deviation,
            "most_bytes": self._most_bytes,
            "given": question.failed_bytes,
            "records": self._seen,
        }
        cores = max(1.0, floor(self._mean_cores + 0.5))
        about = f"{self._seen} runs kept {describe('cores', round(self._mean_cores, 2))} busy on average"
        why_cores = Why(FeedbackLoop.name, "mean-busy", figures, about)
        amount, rule, text = self._mean_bytes + deviation, "mean-plus-deviation", "the mean and a standard deviation"
        if question.failed_bytes:
            rule, text = "most-seen", "that ran out: the most that training saw"
            amount = self._most_bytes
            if amount <= question.failed_bytes:
                amount, rule, text = 2 * self._most_bytes, "twice-most-seen", "that ran out, too: twice the most seen"
        text = f"{text} is {describe('memory_bytes', amount)}"
        why_memory = Why(FeedbackLoop.name, rule, figures, text)
        return Choice(cores, ceil(amount), {"cores": why_cores, "memory_bytes": why_memory}, {})

    def learn(self, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        peak, cores = MEMORY.peak(outcome), outcome.usage.cores_average
        given_bytes = given(ticket, "given_memory_bytes")
        if given_bytes is None:
            return  # another policy sized it, without the whole machine
        unused = given_bytes if outcome.ending is Ending.MEMORY else given_bytes - (peak or 0.0)
        self._trace.add(str(outcome.ending), given(ticket, "given_cores") or 0.0, given_bytes, -unused)
        if self._seen >= self._training or peak is None:
            return
        self._seen += 1
        used = cores.value if cores is not None and 0 <= cores.value < 2.0**20 else 1.0
        self._mean_cores += (used - self._mean_cores) / self._seen
        before = peak - self._mean_bytes
        self._mean_bytes += before / self._seen
        self._squares += before * (peak - self._mean_bytes)
        self._most_bytes = max(self._most_bytes, peak)

    def state(self) -> dict[str, Any]:
        return {
            "seen": self._seen,
            "mean_cores": self._mean_cores,
            "mean_bytes": self._mean_bytes,
            "squares": self._squares,
            "most_bytes": self._most_bytes,
            "traces": {"loop": self._trace.state()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._seen = int(state["seen"])
        self._mean_cores, self._mean_bytes = float(state["mean_cores"]), float(state["mean_bytes"])
        self._squares, self._most_bytes = float(state["squares"]), float(state["most_bytes"])
        self._trace.restore(state["traces"]["loop"])
