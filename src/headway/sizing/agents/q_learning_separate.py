"""`q-learning-separate`: one agent for cores and one for memory, with finer steps."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from msgspec import Struct, field

from headway.model.outcome import Ending, Outcome
from headway.model.records import Figure, Why
from headway.sizing.agents.agent_trace import Trace, traces
from headway.sizing.agents.malleable import Agent, Choice, Learned, MalleableAllocator, Question, given, unused_cores
from headway.sizing.agents.q_values import LEAST_UNUSED_CORES, Grid, QValues, epsilon_in_steps, unused_with_floor
from headway.sizing.observing import run_s
from headway.sizing.resource_rules import MEMORY

CHUNKS = 10
MOST_OF_DEFAULT_MEMORY = 1.5
MOST_OF_DEFAULT_CORES = 2


class QLearningSeparate(MalleableAllocator):
    """As `q-learning`, with one agent for cores and one for memory, and finer steps (Zunker 2021, section 6.1).

    Single cores up to twice, and tenths of the memory up to 1.5 times what the workflow asks for. The cores agent is
    rewarded -max(0.1, unused cores) times slowdown, the memory agent by its unused chunks, as the prose describes them
    (the parts of equation 4.2), and by twice all chunks for a kill. A killed attempt teaches the cores agent nothing.
    """

    name = "q-learning-separate"

    def new_agent(self, category: str) -> Agent:
        return _TwoWalkers()


class _Walker(Struct):
    """The agent of one of the two resources."""

    q: QValues = field(default_factory=QValues)
    at: list[int] | None = None

    def choose(self, grid: Grid, default: int, failed: int | None, draw: float) -> tuple[int, int, str, Why]:
        """Return the state it moves from, the state it moves to, the action, and why."""
        epsilon = epsilon_in_steps(self.q.updates)
        state, action, rule = self.q.move(grid, grid.nearest(self.at or [default]), failed, epsilon, draw)
        figures: dict[str, Figure] = {
            "from": state[0],
            "action": action,
            "of": grid.most[0],
            "epsilon": epsilon,
            "runs": self.q.updates,
        }
        why = Why(QLearningSeparate.name, rule, figures, f"{action} from {state[0]} of {grid.most[0]}: {rule}")
        return state[0], grid.after(state, action)[0], action, why


class _Walked(Learned):
    """The two agents of a category, and their steps."""

    walkers: dict[str, _Walker] = field(default_factory=lambda: {"cores": _Walker(), "memory": _Walker()})
    traces: dict[str, Trace] = traces("cores", "memory")


class _TwoWalkers(Agent):
    """The agent of a category, which asks one for each resource."""

    def __init__(self) -> None:
        self.learned: _Walked = _Walked()

    def choose(self, question: Question) -> Choice:
        chunk_bytes = question.default_bytes / CHUNKS
        failed = {"cores": None, "memory": ceil(question.failed_bytes / chunk_bytes) or None}
        most = {
            "cores": max(1, min(int(MOST_OF_DEFAULT_CORES * question.default_cores), question.most_cores)),
            "memory": max(
                1, min(int(MOST_OF_DEFAULT_MEMORY * CHUNKS), int(question.limits.memory_bytes / chunk_bytes))
            ),
        }
        default = {"cores": round(question.default_cores), "memory": CHUNKS}
        ticket: dict[str, Figure] = {"chunk_bytes": chunk_bytes}
        why: dict[str, Why] = {}
        places: dict[str, int] = {}
        for name, walker in self.learned.walkers.items():
            grid = Grid((name,), (most[name],))
            origin, places[name], action, why[name] = walker.choose(
                grid, default[name], failed[name], question.draws[name]
            )
            ticket |= {
                f"{name}_from": float(origin),
                f"{name}_to": float(places[name]),
                f"{name}_most": float(most[name]),
                f"{name}_action": action,
            }
        cores = min(float(places["cores"]), question.limits.cores)
        memory_bytes = ceil(places["memory"] * chunk_bytes)
        return Choice(cores, memory_bytes, {"cores": why["cores"], "memory_bytes": why["memory"]}, ticket)

    def learn(self, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        memory_bytes, chunk_bytes = given(ticket, "given_memory_bytes"), given(ticket, "chunk_bytes")
        if memory_bytes is None or not chunk_bytes:
            return
        unused = unused_cores(ticket, outcome)
        killed = outcome.ending is Ending.MEMORY
        mean_s = self.learned.mean_s
        if outcome.ending is Ending.SUCCESS and unused is not None and mean_s > 0:
            self._learn("cores", ticket, -max(LEAST_UNUSED_CORES, unused) * (run_s(outcome) / mean_s))
        chunks = memory_bytes / chunk_bytes
        peak = MEMORY.peak(outcome)
        on_grid = abs((given(ticket, "memory_to") or 0.0) * chunk_bytes - memory_bytes) <= 1
        if on_grid and killed:
            self._learn("memory", ticket, -2.0 * chunks)
        elif on_grid and peak is not None:
            self._learn("memory", ticket, -chunks * unused_with_floor(peak / memory_bytes))

    def _learn(self, name: str, ticket: Mapping[str, Figure], reward: float) -> None:
        origin, place, most = (given(ticket, f"{name}_{what}") for what in ("from", "to", "most"))
        action = ticket.get(f"{name}_action")
        if not (origin and place and most and isinstance(action, str)):
            return
        walker = self.learned.walkers[name]
        walker.q.learn(Grid((name,), (int(most),)), (int(origin),), action, reward)
        walker.at = [int(place)]
        cores, memory_bytes = given(ticket, "given_cores") or 0.0, given(ticket, "given_memory_bytes") or 0.0
        self.learned.traces[name].add(action, cores, memory_bytes, reward)
