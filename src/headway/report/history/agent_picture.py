"""An agent's actions, allocations and rewards over time, drawn in the terminal (after Zunker 2021, Figure A.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from msgspec import Struct, ValidationError, convert
from rich.text import Text

from headway.model.units import format_bytes

_HEIGHT = 6
_NARROWEST = 16
_BLOCKS = " ▁▂▃▄▅▆▇█"
_MARK = "•"


class AgentStep(Struct, frozen=True, array_like=True):
    """One step: the action, the allocation after it, and the reward."""

    action: str
    cores: float
    memory_bytes: float
    reward: float


class AgentTrace(Struct, frozen=True):
    """The newest steps of an agent, and totals over all its steps."""

    name: str
    count: int
    reward_sum: float
    steps: list[AgentStep]


def traces_of(state: Mapping[str, Any], category: str) -> list[AgentTrace]:
    """The agents of a category in a stored learner state; empty if there are none or the state is unreadable."""
    try:
        kept = state["learned"]["agents"][category]["traces"]
        return convert([each | {"name": name} for name, each in kept.items()], list[AgentTrace])
    except (KeyError, TypeError, AttributeError, ValidationError):
        return []


def agent_lines(trace: AgentTrace, width: int) -> Iterator[Text]:
    """Draw actions, allocated cores and memory, rewards, and cumulative rewards."""
    room = max(_NARROWEST, width - 24)
    steps = trace.steps[-room:]
    yield Text(
        f"{trace.name}: {trace.count} steps, mean reward {trace.reward_sum / max(1, trace.count):.3g}", style="bold"
    )
    if not steps:
        yield Text("no steps yet", style="dim")
        return
    first = trace.count - len(steps) + 1
    yield Text(f"steps {first} to {trace.count}", style="dim")
    yield from _actions([step.action for step in steps])
    yield from _levels("cores", [step.cores for step in steps], lambda value: f"{value:g}")
    yield from _levels("memory", [step.memory_bytes for step in steps], format_bytes)
    rewards = [step.reward for step in steps]
    yield from _levels("reward", rewards, lambda value: f"{value:.3g}")
    _, *cumulative = accumulate(rewards, initial=trace.reward_sum - sum(rewards))
    yield from _levels("all rewards", cumulative, lambda value: f"{value:.3g}")


def _actions(actions: Sequence[str]) -> Iterator[Text]:
    """One line per action, with a mark at each step that took it."""
    for action in sorted(set(actions), key=_by_number):
        marks = "".join(_MARK if each == action else " " for each in actions)
        yield Text.assemble((f"{action[:20]:>20}  ", ""), (marks, "cyan"), (f"  {actions.count(action)}", "dim"))


def _by_number(action: str) -> tuple[int, float, str]:
    try:
        return 0, float(action), ""
    except ValueError:
        return 1, 0.0, action


def _levels(title: str, values: Sequence[float], words: Callable[[float], str]) -> Iterator[Text]:
    """A curve of `_HEIGHT` lines, labelled with the highest and the lowest value."""
    low, high = min(values), max(values)
    if low == high:
        yield Text.assemble((f"{title:>20}  ", ""), ("─" * len(values), "cyan"), (f"  always {words(high)}", "dim"))
        return
    parts = _HEIGHT * 8
    heights = [1 + round((value - low) / (high - low) * (parts - 1)) for value in values]
    labels = {_HEIGHT - 1: words(high), _HEIGHT // 2: title, 0: words(low)}
    for line in range(_HEIGHT - 1, -1, -1):
        cells = "".join(_BLOCKS[max(0, min(8, height - 8 * line))] for height in heights)
        yield Text.assemble((f"{labels.get(line, ''):>20}  ", ""), (cells, "cyan"))
