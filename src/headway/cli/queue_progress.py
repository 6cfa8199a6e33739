"""Progress of a verb on a terminal: a bar, and the reason why it does not move; and what would make the verb faster."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import click
from rich.console import Console
from rich.markup import escape

from headway.api.keywords import Tell
from headway.api.queues import when_slow
from headway.report.words import harmless

_COMPILING = "compiling, once on this machine"
_SHOWN_EVERY_S = 0.1  # a simulation reports a thousand times a second


@contextmanager
def progress_bar(words: str) -> Iterator[Tell]:
    """Show a bar on a terminal, nothing in a log. In both, say if numba is missed."""
    if not sys.stderr.isatty():
        with when_slow(lambda compiles: None if compiles else ask_for_numba()):
            yield lambda words, done, total: None
        return
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(harmless(words)), total=None)
        shown_at = 0.0

        def tell(words: str, done: float, total: float) -> None:
            nonlocal shown_at
            if (now := time.monotonic()) >= shown_at + _SHOWN_EVERY_S:
                shown_at = now
                bar.update(task, description=escape(harmless(words)), completed=done, total=total)

        def slow(compiles: bool) -> None:
            nonlocal shown_at
            if compiles:
                shown_at = time.monotonic()  # what is told before compiling begins does not hide this
                bar.update(task, description=_COMPILING, refresh=True)
            else:
                ask_for_numba()

        with when_slow(slow):
            yield tell


@cache
def ask_for_numba() -> None:
    """Say once what makes a long simulation fast."""
    click.echo("without numba this takes long; `pip install 'headway[simulate]'` installs it", err=True)
