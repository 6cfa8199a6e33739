"""`q-learning` and its variants: one agent moves over a grid of allocations of cores and memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil

from msgspec import field

from headway.model.outcome import Ending, Outcome
from headway.model.records import Figure, Why
from headway.model.resources import describe
from headway.sizing.agents.agent_trace import Trace, traces
from headway.sizing.agents.malleable import Agent, Choice, Learned, MalleableAllocator, Question, given, unused_cores
from headway.sizing.agents.q_values import (
    Grid,
    QValues,
    UnusedShare,
    epsilon_harmonic,
    epsilon_in_steps,
    joint_kill_reward,
    joint_reward,
    unused_as_printed,
    unused_with_floor,
)
from headway.sizing.observing import run_s
from headway.sizing.resource_rules import MEMORY

# The thesis does not give the grid, says that it was small, and has an example with four states of cores and three of
# memory. We take that: 0.5, 1, 1.5 and 2 times the cores that the workflow asks for, and 0.5, 1 and 1.5 times the
# memory.
STEPS_OF_DEFAULT = 2
MOST_OF_DEFAULT_CORES = 2
MOST_MEMORY = 3


class QLearning(MalleableAllocator):
    """Begins with what the workflow asks for and moves by a step of cores or memory at a time.

    Q-learning with the allocation as state; actions that were never tried in a state come first. Step size 0.1,
    discount 1; epsilon is 0.5, after 50 runs of a task 0.25, after 100 runs 0.1. Zunker 2021, section 4.3. The reward
    is equation 4.2 as the prose describes it (`q-learning-printed` takes it as printed). Not in the thesis: a kill is
    rewarded -2 times unused cores times slowdown times memory, and the attempt after it moves up from what ran out;
    beyond the grid it gets twice that, and the agent does not learn from it.
    """

    name = "q-learning"
    choices = ("action",)
    unused: UnusedShare = staticmethod(unused_with_floor)
    epsilon: Callable[[int], float] = staticmethod(epsilon_in_steps)

    def new_agent(self, category: str) -> Agent:
        return _Walker(self.name, self.unused, self.epsilon)


class QLearningPrinted(QLearning):
    """`q-learning` with equation 4.2 as it is printed, where full memory costs nothing (Zunker 2021)."""

    name = "q-learning-printed"
    unused = staticmethod(unused_as_printed)


class QLearningHarmonic(QLearning):
    """`q-learning` that explores with probability 1/t (Zunker 2021, section 6.1)."""

    name = "q-learning-harmonic"
    epsilon = staticmethod(epsilon_harmonic)


class _Walked(Learned):
    """The values that an agent has learned, and where it is."""

    q: QValues = field(default_factory=QValues)
    at: list[int] | None = None  # the allocation of the last attempt that ended; None: the default
    traces: dict[str, Trace] = traces("agent")


class _Walker(Agent):
    """The agent of a category."""

    def __init__(self, policy: str, unused: UnusedShare, epsilon: Callable[[int], float]) -> None:
        self.learned: _Walked = _Walked()
        self._policy = policy
        self._unused = unused
        self._epsilon = epsilon

    def choose(self, question: Question) -> Choice:
        step = cores_step(question.default_cores)
        chunk_bytes = question.default_bytes / STEPS_OF_DEFAULT
        grid = grid_of(question, step, chunk_bytes)
        default = (round(question.default_cores / step), STEPS_OF_DEFAULT)
        values, epsilon = self.learned.q, self._epsilon(self.learned.q.updates)
        failed = int(question.failed_bytes / chunk_bytes + 0.5) if question.failed_bytes else None
        begin = grid.nearest(self.learned.at or default)
        state, action, rule = values.move(grid, begin, failed, epsilon, question.draws["action"])
        cores, chunk = grid.after(state, action)
        words = {
            "untried": "it has not been tried here",
            "explored": f"tried at random, as one in {1 / epsilon:.0f}",
            "best": "the best so far",
            "after-kill": "what was given ran out",
        }[rule]
        figures: dict[str, Figure] = {
            "from_cores": state[0] * step,
            "from_chunk": state[1],
            "chunk_bytes": chunk_bytes,
            "action": action,
            "epsilon": epsilon,
            "runs": values.updates,
        }
        text = f"{action} from {describe('cores', state[0] * step)} and {state[1]} chunks of memory: {words}"
        why = Why(self._policy, rule, figures, text)
        ticket: dict[str, Figure] = {
            "from_cores": float(state[0]),
            "from_chunk": float(state[1]),
            "action": action,
            "cores": float(cores),
            "chunk": float(chunk),
            "chunk_bytes": chunk_bytes,
            "most_cores": float(grid.most[0]),
            "most_chunks": float(grid.most[1]),
        }
        given_cores = min(float(cores * step), question.limits.cores)
        return Choice(given_cores, ceil(chunk * chunk_bytes), {"cores": why, "memory_bytes": why}, ticket)

    def learn(self, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        names = ("from_cores", "from_chunk", "cores", "chunk", "chunk_bytes", "most_cores", "most_chunks")
        figures = [given(ticket, name) for name in names]
        memory_bytes, cores = given(ticket, "given_memory_bytes"), given(ticket, "given_cores")
        action = ticket.get("action")
        if None in figures or not isinstance(action, str) or memory_bytes is None or cores is None:
            return
        from_cores, from_chunk, cores_at, chunk, chunk_bytes, most_cores, most_chunks = (
            value or 0.0 for value in figures
        )
        if abs(chunk * chunk_bytes - memory_bytes) > 1:
            return  # it was given more than the grid offers
        reward = self._reward(ticket, memory_bytes, chunk_bytes, outcome)
        if reward is None:
            return
        grid = Grid(("cores", "memory"), (int(most_cores), int(most_chunks)))
        self.learned.q.learn(grid, (int(from_cores), int(from_chunk)), action, reward)
        self.learned.at = [int(cores_at), int(chunk)]
        self.learned.traces["agent"].add(action, cores, memory_bytes, reward)

    def _reward(
        self, ticket: Mapping[str, Figure], memory_bytes: float, chunk_bytes: float, outcome: Outcome
    ) -> float | None:
        unused, seconds = unused_cores(ticket, outcome), run_s(outcome)
        if unused is None:
            return None
        slowdown = seconds / self.learned.mean_s if self.learned.mean_s > 0 else 1.0
        chunks = memory_bytes / chunk_bytes
        if outcome.ending is Ending.MEMORY:
            return joint_kill_reward(unused, slowdown, chunks)
        peak = MEMORY.peak(outcome)
        return None if peak is None else joint_reward(unused, slowdown, chunks, peak / memory_bytes, self._unused)


def cores_step(default_cores: float) -> int:
    """Return half of the requested cores, as whole cores."""
    return max(1, int(default_cores / STEPS_OF_DEFAULT))


def grid_of(question: Question, step: int, chunk_bytes: float) -> Grid:
    """Return the grid: up to twice the cores and 1.5 times the memory that the workflow asks for, within the limits."""
    most_cores = min(int(MOST_OF_DEFAULT_CORES * question.default_cores / step), int(question.limits.cores / step))
    most_chunks = min(MOST_MEMORY, int(question.limits.memory_bytes / chunk_bytes))
    return Grid(("cores", "memory"), (max(1, most_cores), max(1, most_chunks)))
