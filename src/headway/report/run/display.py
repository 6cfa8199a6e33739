"""The display of a run's progress that suits a stream: a live picture on a terminal, lines in a log."""

from __future__ import annotations

from rich.console import Console

from headway.report.run.progress import Lines, Progress
from headway.report.run.summary import RunSummary


def display_on(console: Console) -> Progress:
    """Return a display of progress for a console."""
    if console.is_terminal and not console.is_dumb_terminal:
        from headway.report.run.live import LiveDisplay

        return LiveDisplay(RunSummary(), console)
    return Lines(RunSummary(), console)
