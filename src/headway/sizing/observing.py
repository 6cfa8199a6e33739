"""How long an attempt ran, how large its inputs were, and which figures are too absurd or too short to learn from."""

from __future__ import annotations

from headway.model.limits import MOST_BYTES, MOST_SECONDS
from headway.model.outcome import Outcome
from headway.model.task import Task

ABSURD = 2.0**62  # no resource comes in such an amount
SHORTEST_S = 0.5  # shorter runs do not tell how many cores were busy


def run_s(outcome: Outcome) -> float:
    """Return the run time of an attempt in seconds; 0 where it is not known."""
    wall = outcome.usage.wall_s
    seconds = wall.value if wall else outcome.ended_at - outcome.started_at
    return seconds if 0 <= seconds <= MOST_SECONDS else 0.0


def input_bytes(task: Task) -> int | None:
    """Return the size of a task's inputs; None where it is not known, or cannot be."""
    size = task.input_bytes
    return size if size is not None and 0 <= size <= MOST_BYTES else None
