"""`gradient-bandit`: one bandit for cores and one for memory."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, inf

from msgspec import field

from headway.model.outcome import Ending, Outcome
from headway.model.records import Figure, Why
from headway.model.resources import describe
from headway.sizing.agents.agent_trace import Trace, traces
from headway.sizing.agents.malleable import Agent, Choice, Learned, MalleableAllocator, Question, given, unused_cores
from headway.sizing.agents.preferences import Preferences
from headway.sizing.observing import run_s
from headway.sizing.resource_rules import MEMORY

# The thesis does not give n. Its bandits gave a fifth of the default's memory, so a chunk was well below a fifth of it.
CHUNKS = 10
MOST_OF_DEFAULT = 1.5
# The thesis's actions are "based on the number of CPUs available". Over 32 cores rewards are so far apart that a step
# of 1 / mean time settles on the second draw, as in its Figure 4.2; hence at most twice the request, as for its other
# agent. `gradient-bandit-printed` does as the thesis prints it.
MOST_OF_DEFAULT_CORES = 2.0


class GradientBandit(MalleableAllocator):
    """Draws cores and memory, each from a gradient bandit that learns which draws were worth it.

    Whole cores from 1 to twice the workflow's request, and memory in tenths of the request up to 1.5 times. The cores
    bandit is rewarded by equation 4.1, -t (1 + cores - used), with steps of 1 / mean run time; the memory bandit by the
    chunks that were not used, or twice all chunks after a kill, with steps of 1 / n. A killed attempt teaches the cores
    bandit nothing, since its run time is unknown. After a kill the draw must exceed what ran out; else twice the draw
    counts, else the request, else twice what ran out. Zunker 2021, section 4.2.
    """

    name = "gradient-bandit"
    most_of_default_cores = MOST_OF_DEFAULT_CORES

    def new_agent(self, category: str) -> Agent:
        return _Bandits(self.name, self.most_of_default_cores)


class GradientBanditPrinted(GradientBandit):
    """`gradient-bandit` as Zunker 2021 prints it: it may give a task all cores of the machine, whatever it asks for."""

    name = "gradient-bandit-printed"
    most_of_default_cores = inf


class _Preferred(Learned):
    """What the two bandits of a category prefer."""

    cores: Preferences = field(default_factory=Preferences)
    memory: Preferences = field(default_factory=Preferences)
    traces: dict[str, Trace] = traces("cores", "memory")


class _Bandits(Agent):
    """The agent of a category."""

    def __init__(self, policy: str, most_of_default_cores: float) -> None:
        self.learned: _Preferred = _Preferred()
        self._policy = policy
        self._most_of_default_cores = most_of_default_cores

    def choose(self, question: Question) -> Choice:
        most_cores = int(min(question.most_cores, self._most_of_default_cores * question.default_cores))
        chunk_bytes = question.default_bytes / CHUNKS
        wanted = int(MOST_OF_DEFAULT * CHUNKS)
        most_chunks = max(1, min(wanted, int(question.limits.memory_bytes / chunk_bytes)))
        cores = self.learned.cores.choose(most_cores, question.draws["cores"])
        drawn = self.learned.memory.choose(most_chunks, question.draws["memory"])
        chunk = _after_kill(drawn, question, chunk_bytes)
        likely = self.learned.cores.probabilities(most_cores)[cores - 1]
        why = {
            "cores": Why(
                self._policy,
                "drawn",
                {"drawn": cores, "of": most_cores, "probability": likely, "runs": self.learned.cores.rewards},
                f"drawn with probability {likely:.2f} after {self.learned.cores.rewards} rewards",
            ),
            "memory_bytes": self._why_memory(drawn, chunk, chunk_bytes, most_chunks, question),
        }
        learns = float(chunk) if chunk <= most_chunks else None
        ticket: dict[str, Figure] = {
            "cores": float(cores),
            "most_cores": float(most_cores),
            "chunk": learns,
            "chunk_bytes": chunk_bytes,
            "most_chunks": float(most_chunks),
        }
        return Choice(float(min(cores, question.limits.cores)), ceil(chunk * chunk_bytes), why, ticket)

    def _why_memory(self, drawn: int, chunk: int, chunk_bytes: float, most: int, question: Question) -> Why:
        likely = self.learned.memory.probabilities(most)[drawn - 1]
        figures: dict[str, Figure] = {
            "drawn": drawn,
            "of": most,
            "chunk_bytes": chunk_bytes,
            "probability": likely,
            "given": question.failed_bytes,
        }
        size = describe("memory_bytes", chunk_bytes)
        if chunk == drawn:
            return Why(self._policy, "drawn", figures, f"{drawn} chunks of {size}, drawn with probability {likely:.2f}")
        rule = "doubled-draw" if chunk == 2 * drawn else "request"
        words = "twice the draw" if chunk == 2 * drawn else "what the workflow asks for"
        return Why(self._policy, rule, figures, f"{drawn} chunks of {size} are not more than ran out: {words}")

    def learn(self, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        cores, chunk, chunk_bytes = (given(ticket, name) for name in ("cores", "chunk", "chunk_bytes"))
        most_cores, most_chunks = given(ticket, "most_cores"), given(ticket, "most_chunks")
        memory_bytes = given(ticket, "given_memory_bytes")
        if not (cores and chunk_bytes and most_cores and most_chunks and memory_bytes):
            return
        unused, seconds = unused_cores(ticket, outcome), run_s(outcome)
        if outcome.ending is Ending.SUCCESS and unused is not None and self.learned.mean_s > 0:
            reward = cores_reward(seconds, unused)
            self.learned.cores.learn(int(cores), reward, 1.0 / self.learned.mean_s, int(most_cores))
            self.learned.traces["cores"].add(f"{cores:g}", cores, memory_bytes, reward)
        memory = memory_reward(memory_bytes, chunk_bytes, outcome)
        if chunk and memory is not None and abs(chunk * chunk_bytes - memory_bytes) <= 1:  # not raised further
            self.learned.memory.learn(int(chunk), memory, 1.0 / CHUNKS, int(most_chunks))
            self.learned.traces["memory"].add(f"{chunk:g}", cores, memory_bytes, memory)


def cores_reward(run_seconds: float, unused: float) -> float:
    """Equation 4.1: the run time, and the core time that was not used.

    >>> cores_reward(100.0, 2.0)   # four cores, 200 % used
    -300.0
    """
    return -run_seconds * (1.0 + unused)


def memory_reward(memory_bytes: float, chunk_bytes: float, outcome: Outcome) -> float | None:
    """Return the chunks that were not used, negated; twice all of them if there were too few (section 4.2.2)."""
    if outcome.ending is Ending.MEMORY:
        return -2.0 * memory_bytes / chunk_bytes
    peak = MEMORY.peak(outcome)
    return None if peak is None else -max(0.0, memory_bytes - peak) / chunk_bytes


def _after_kill(drawn: int, question: Question, chunk_bytes: float) -> int:
    """Return the draw if it is more than what ran out, else twice the draw, else the request."""
    if drawn * chunk_bytes > question.failed_bytes:
        return drawn
    return 2 * drawn if 2 * drawn * chunk_bytes > question.failed_bytes else CHUNKS
