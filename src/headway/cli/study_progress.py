"""Progress of a study: a bar with the remaining time on a terminal, a line a minute in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.console import Console

from headway.model.units import format_duration

if TYPE_CHECKING:
    from headway.api.compare import Progress, Tell

_SAID_EVERY_S = 60.0


@contextmanager
def study_progress(kept: bool = False, doing: str = "simulating") -> Iterator[Tell]:
    """Show the progress and what is done; after Ctrl-C, if results are `kept`, say how to continue."""
    try:
        with _shown(doing) as tell:
            yield tell
    except KeyboardInterrupt:
        if kept:
            click.echo("stopped: what is done is kept, and the same command goes on from there", err=True)
        raise


@contextmanager
def _shown(doing: str) -> Iterator[Tell]:
    def words(at: Progress) -> str:
        return "" if at.left_s is None else f", {format_duration(at.left_s)} left"

    if not sys.stderr.isatty():
        said_at = time.monotonic()

        def log(at: Progress) -> None:
            nonlocal said_at
            if (now := time.monotonic()) >= said_at + _SAID_EVERY_S:
                said_at = now
                click.echo(f"{at.done:,} of {at.total:,} runs done{words(at)}", err=True)

        yield log
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda at: bar.update(task, completed=at.done, total=at.total, description=words(at).removeprefix(", "))
