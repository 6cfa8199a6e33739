"""`MalleableAllocator`: what allocators have in common that choose a task's cores and memory together.

Each category has one agent, which decides (Zunker 2021, chapter 4). All other resources are sized by `ladder`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, structs

from headway.model.outcome import Ending, Outcome
from headway.model.records import Figure, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import Allocation, Allocator, CannotFit, Context, Prediction
from headway.sizing.ladder_sizer import ladder_sizer
from headway.sizing.observing import ABSURD, run_s
from headway.sizing.per_resource import LEARNED, PerResource
from headway.sizing.resource_rules import RULES

CHOSEN = ("cores", "memory_bytes")


class Question(Struct, frozen=True):
    """What an agent is asked: the workflow's own requests, the limits, and how much memory ran out last."""

    default_cores: float
    default_bytes: float
    limits: Resources
    failed_bytes: float  # 0: memory did not run out
    draws: Mapping[str, float]  # a number from [0, 1) for each choice
    others: Resources  # what the attempt is given of resources that the agent does not choose

    @property
    def most_cores(self) -> int:
        """The whole cores of the machine; at least 1."""
        return max(1, int(self.limits.cores))


class Choice(Struct, frozen=True):
    """What an agent gives, why, and a ticket that comes back with the outcome."""

    cores: float
    memory_bytes: float
    why: dict[str, Why]
    ticket: dict[str, Figure]


class Learned(Struct):
    """What an agent has learned: all that its answers depend on. Its fields are those of its JSON."""

    runs: int = 0  # successes so far
    mean_s: float = 0.0  # their mean run time


class Agent(ABC):
    """Learns cores and memory of one category. Asking changes nothing."""

    learned: Learned

    @abstractmethod
    def choose(self, question: Question) -> Choice:
        """Choose for the next attempt. Where that is not more than what ran out, the caller doubles what ran out."""

    @abstractmethod
    def learn(self, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        """Learn from an attempt, whose run time is in the mean already. An empty ticket: another policy sized it."""

    def state(self) -> dict[str, Any]:
        """Return what was learned, as JSON."""
        return dict(msgspec.to_builtins(self.learned, str_keys=True, enc_hook=lambda part: part.state()))

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state` returned."""
        self.learned = msgspec.convert(state, type(self.learned), str_keys=True, dec_hook=_restored)

    def note_time(self, outcome: Outcome) -> None:
        """Add the run time of a success to the category's mean."""
        seconds, learned = run_s(outcome), self.learned
        if outcome.ending is Ending.SUCCESS and seconds > 0:
            learned.runs += 1
            learned.mean_s += (seconds - learned.mean_s) / learned.runs


def _restored(kind: type, state: Mapping[str, Any]) -> Any:
    part = kind()
    part.restore(state)
    return part


class MalleableAllocator(Allocator):
    """Asks a category's agent for cores and memory, and keeps its answer within the limits.

    What the workflow states is only where agents begin. Random draws are determined by seed, task and attempt, and by
    how much had been learned when the run began: a task that waits for room keeps its choice, and the same task draws
    anew in the next run.
    """

    name: ClassVar[str]
    chosen: ClassVar[Sequence[str]] = CHOSEN  # the resources that agents decide
    choices: ClassVar[Sequence[str]] = ("cores", "memory")  # names of their random draws

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._agents: dict[str, Agent] = {}
        self._others = PerResource(ladder_sizer, seed, [name for name in LEARNED if name not in self.chosen])
        self._outcomes = 0
        self._outcomes_at_start = 0

    @abstractmethod
    def new_agent(self, category: str) -> Agent:
        """Return an agent that has learned nothing."""

    def chooses_for(self, task: Task) -> bool:
        """Say whether an agent decides for this task."""
        return True

    def tolerate(self, failures: float) -> None:
        self._others.tolerate(failures)

    def allocate(self, task: Task, failures: Mapping[str, Sequence[float]], context: Context) -> Allocation | CannotFit:
        others = self._others.allocate(task, failures, context)
        if isinstance(others, CannotFit) or not self.chooses_for(task):
            return others
        defaults = [RULES[resource].cold_start(self.name, task, context) for resource in CHOSEN]
        for answer in defaults:
            if isinstance(answer, CannotFit):
                return answer
        default_cores, default_bytes = (
            float(answer.value or 0) for answer in defaults if isinstance(answer, Prediction)
        )
        exhausted = failures.get("memory_bytes", ())
        question = Question(
            max(1.0, default_cores) if context.limits.cores >= 1 else default_cores,
            max(1.0, default_bytes),
            context.limits,
            exhausted[-1] if exhausted else 0.0,
            {choice: self._draw(choice, context) for choice in self.choices},
            others.resources,
        )
        agent = self._agents.get(task.category) or self.new_agent(task.category)
        choice = _within(agent.choose(question), context.limits)
        given: dict[str, float | None] = {name: getattr(choice, name) for name in self.chosen}
        why = dict(choice.why)
        for resource in self.chosen:
            ran_out = failures.get(resource, ())
            if ran_out and (given[resource] or 0.0) <= ran_out[-1]:
                answer = RULES[resource].retry(self.name, ran_out, context.limits)
                if isinstance(answer, CannotFit):
                    return answer
                given[resource], why[resource] = answer.value, answer.why
        resources = others.resources.replace(**given)
        ticket = choice.ticket | {"agent": self.name} | {f"given_{name}": resources[name] for name in CHOSEN}
        unchanged = {name: said for name, said in others.why.items() if name not in given}
        return Allocation(resources, why | unchanged, ticket)

    def _draw(self, choice: str, context: Context) -> float:
        _, _, task, attempt = context.draw
        policy = f"{self.name}/{choice}/{self._outcomes_at_start}"
        return structs.replace(context, draw=(self._seed, policy, task, attempt)).uniform()

    def observe(self, task: Task, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        self._others.observe(task, {}, outcome)
        if not self.chooses_for(task):
            return
        if outcome.ending is not Ending.SUCCESS and not outcome.ending.exhausted:
            return  # such an end does not depend on what was given
        agent = self._agents.get(task.category)
        if agent is None:
            agent = self._agents[task.category] = self.new_agent(task.category)
        agent.note_time(outcome)
        agent.learn(ticket if ticket.get("agent") == self.name else {}, outcome)
        self._outcomes += 1

    def state(self) -> dict[str, Any]:
        return {
            "version": 1,
            "outcomes": self._outcomes,
            "agents": {category: agent.state() for category, agent in sorted(self._agents.items())},
            "others": self._others.state(),
        }

    def kept(self) -> dict[str, Any]:
        """Return what the history keeps of the state: the agents. The rest is learned again from its observations."""
        state = self.state()
        del state["others"]
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        self._outcomes = self._outcomes_at_start = int(state["outcomes"])
        for category, learned in state["agents"].items():
            self._agents[category] = self.new_agent(category)
            self._agents[category].restore(learned)
        if "others" in state:
            self._others.restore(state["others"])


def _within(choice: Choice, limits: Resources) -> Choice:
    """Keep a choice within the limits."""
    memory = max(1.0, min(choice.memory_bytes, limits.memory_bytes))
    return structs.replace(choice, cores=min(choice.cores, limits.cores), memory_bytes=memory)


def given(ticket: Mapping[str, Figure], name: str) -> float | None:
    """Return a number of a ticket; None where there is none."""
    value = ticket.get(name)
    return None if value is None or isinstance(value, str) else float(value)


def unused_cores(ticket: Mapping[str, Figure], outcome: Outcome) -> float | None:
    """Return the cores that were given and not busy (Zunker 2021: cpus - cpu_usage / 100); None if not measured."""
    cores, used = given(ticket, "given_cores"), outcome.usage.cores_average
    return None if cores is None or used is None or not 0 <= used.value < ABSURD else max(0.0, cores - used.value)
