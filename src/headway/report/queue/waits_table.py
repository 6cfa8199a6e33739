"""The accuracy of wait models as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from rich.text import Text

from headway.model.units import format_duration
from headway.model.wait_score import WaitScore
from headway.report.columns import Field, table_lines
from headway.report.words import count, share


class ModelScores(Struct, frozen=True):
    """A model's scores on the jobs that the scheduler's plan makes wait, and on all jobs."""

    to_wait: WaitScore
    all: WaitScore


def waits_table(scored: Sequence[ModelScores], width: int) -> list[Text]:
    """One line per model."""
    fields = [
        Field("mean error", "absolute", lambda row: lasting(row.to_wait.absolute_error_s), 90),
        Field("mean error", "of plan's", lambda row: ratio(row.to_wait.to_plan), 85),
        Field("mean error", "signed", lambda row: lasting(row.to_wait.error_s), 30),
        Field("within", "50%", lambda row: share(row.to_wait.covered["0.5"]), 60),
        Field("within", "90%", lambda row: share(row.to_wait.covered["0.9"]), 80),
        Field("within", "95%", lambda row: share(row.to_wait.covered["0.95"]), 70),
        Field("", "pinball", lambda row: lasting(row.to_wait.mean_pinball_s), 52),
        Field("all jobs", "error", lambda row: lasting(row.all.absolute_error_s), 25),
        Field("all jobs", "90%", lambda row: share(row.all.covered["0.9"]), 20),
    ]
    return table_lines("model", [row.to_wait.name for row in scored], scored, fields, width, total=False)


def waits_headline(scored: Sequence[ModelScores]) -> str:
    """One sentence: the model with the smallest error, and how it compares with the scheduler's own plan."""
    best = min((row.to_wait for row in scored), key=lambda each: each.absolute_error_s)
    words = f"{best.name} has the smallest error: {lasting(best.absolute_error_s)} on average"
    if best.to_plan is not None and best.to_plan != 1:
        words += f", {ratio(best.to_plan)} times the error of the scheduler's own plan"
    jobs = f"{count(best.jobs, 'job')} that the plan made wait"
    return f"{words}; {jobs} waited {lasting(best.mean_wait_s)} on average"


def lasting(seconds: float) -> str:
    """A duration that may be negative: `0 s`, `1h 32m`, `-5m 10s`."""
    if abs(seconds) < 0.05:
        return "0 s"
    return f"-{format_duration(-seconds)}" if seconds < 0 else format_duration(seconds)


def ratio(value: float | None) -> str:
    """`0.48`; a dash for None."""
    return "-" if value is None else f"{value:.2f}"
