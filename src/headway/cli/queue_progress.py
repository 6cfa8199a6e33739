"""Progress of a verb on a terminal: a bar, and the reason why it does not move during the first simulation."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

from headway.api.keywords import Tell
from headway.api.queues import scheduler_is_compiled
from headway.report.words import harmless

_COMPILING = "compiling the scheduler, once"
_SHOWN_EVERY_S = 0.1  # a simulation reports a thousand times a second


@contextmanager
def progress_bar(words: str, *, compiles: bool = False) -> Iterator[Tell]:
    """Show a bar on a terminal, nothing in a log. `compiles`: the verb needs the scheduler, which numba compiles."""
    if not sys.stderr.isatty():
        yield lambda words, done, total: None
        return
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        compiling = compiles and not scheduler_is_compiled()
        task = bar.add_task(_COMPILING if compiling else escape(harmless(words)), total=None)
        shown_at = 0.0

        def tell(words: str, done: float, total: float) -> None:
            nonlocal compiling, shown_at
            if (now := time.monotonic()) < shown_at + _SHOWN_EVERY_S:
                return
            compiling = compiling and not scheduler_is_compiled()
            if not compiling:
                shown_at = now
                bar.update(task, description=escape(harmless(words)), completed=done, total=total)

        yield tell
