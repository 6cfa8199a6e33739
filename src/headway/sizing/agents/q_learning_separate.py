"""`q-learning-separate`: one agent for cores and one for memory, with finer steps."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from headway.model.outcome import Ending, Outcome
from headway.model.records import Figure, Why
from headway.sizing.agents.agent_trace import Trace
from headway.sizing.agents.malleable import Agent, Choice, MalleableAllocator, Question, given, unused_cores
from headway.sizing.agents.q_rewards import cores_only_reward, memory_only_reward, unused_with_floor
from headway.sizing.agents.q_values import Grid, QValues, State, epsilon_in_steps
from headway.sizing.observing import run_s
from headway.sizing.resource_rules import MEMORY

CHUNKS = 10
MOST_OF_DEFAULT_MEMORY = 1.5
MOST_OF_DEFAULT_CORES = 2


class QLearningSeparate(MalleableAllocator):
    """As `q-learning`, with one agent for cores and one for memory, and finer steps (Zunker 2021, section 6.1).

    Single cores up to twice, and tenths of the memory up to 1.5 times what the workflow asks for. The cores agent is
    rewarded -max(0.1, unused cores) times slowdown, the memory agent by its unused chunks, as the prose describes them,
    and by twice all chunks for a kill. A killed attempt teaches the cores agent nothing.
    """

    name = "q-learning-separate"

    def new_agent(self, category: str) -> Agent:
        return _TwoWalkers()


class _Walker:
    """The agent of one of the two resources."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values = QValues()
        self.at: State | None = None
        self.trace = Trace()

    def choose(self, most: int, default: int, failed: int, draw: float) -> tuple[int, int, str, Why]:
        """Return the state it moves from, the state it moves to, the action, and why."""
        grid = Grid((self.name,), (most,))
        state = grid.nearest(self.at or (default,))
        epsilon = epsilon_in_steps(self.values.updates)
        if failed:
            state = grid.nearest((failed,))
            action, rule = (f"more-{self.name}" if state[0] < most else "stay"), "after-kill"
        else:
            action, rule = self.values.choose(grid, state, epsilon, draw)
        (place,) = grid.after(state, action)
        figures: dict[str, Figure] = {
            "from": state[0],
            "action": action,
            "of": most,
            "epsilon": epsilon,
            "runs": self.values.updates,
        }
        why = Why(QLearningSeparate.name, rule, figures, f"{action} from {state[0]} of {most}: {rule}")
        return state[0], place, action, why

    def learn(self, ticket: Mapping[str, Figure], reward: float) -> None:
        origin, place, most = (given(ticket, f"{self.name}_{what}") for what in ("from", "to", "most"))
        action = ticket.get(f"{self.name}_action")
        if not (origin and place and most and isinstance(action, str)):
            return
        self.values.learn(Grid((self.name,), (int(most),)), (int(origin),), action, reward)
        self.at = (int(place),)
        cores, memory_bytes = given(ticket, "given_cores") or 0.0, given(ticket, "given_memory_bytes") or 0.0
        self.trace.add(action, cores, memory_bytes, reward)

    def state(self) -> dict[str, Any]:
        return {"q": self.values.state(), "at": None if self.at is None else list(self.at)}

    def restore(self, state: Mapping[str, Any], trace: Mapping[str, Any]) -> None:
        self.values.restore(state["q"])
        self.at = None if state["at"] is None else tuple(state["at"])
        self.trace.restore(trace)


class _TwoWalkers(Agent):
    """The two agents of a category."""

    def __init__(self) -> None:
        super().__init__()
        self._walkers = {name: _Walker(name) for name in ("cores", "memory")}

    def choose(self, question: Question) -> Choice:
        chunk_bytes = question.default_bytes / CHUNKS
        failed = ceil(question.failed_bytes / chunk_bytes)
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
        for name, walker in self._walkers.items():
            ran_out = failed if name == "memory" else 0
            origin, places[name], action, why[name] = walker.choose(
                most[name], default[name], ran_out, question.draws[name]
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
        if outcome.ending is Ending.SUCCESS and unused is not None and self.mean_s > 0:
            self._walkers["cores"].learn(ticket, cores_only_reward(unused, run_s(outcome) / self.mean_s))
        chunks = memory_bytes / chunk_bytes
        peak = MEMORY.peak(outcome)
        on_grid = abs((given(ticket, "memory_to") or 0.0) * chunk_bytes - memory_bytes) <= 1
        if on_grid and (killed or peak is not None):
            share = 0.0 if peak is None else peak / memory_bytes
            reward = -2.0 * chunks if killed else memory_only_reward(chunks, share, unused_with_floor)
            self._walkers["memory"].learn(ticket, reward)

    def state(self) -> dict[str, Any]:
        walkers = {name: walker.state() for name, walker in self._walkers.items()}
        return {"walkers": walkers, "traces": {name: it.trace.state() for name, it in self._walkers.items()}}

    def restore(self, state: Mapping[str, Any]) -> None:
        for name, walker in self._walkers.items():
            walker.restore(state["walkers"][name], state["traces"][name])
