"""How far a simulation is, on a terminal: a bar, and why it does not move the first time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Tell = Callable[[str, float, float], None]  # what is being done, how much of it is done, of how much

_COMPILING = "compiling the scheduler, once"
_SHOWN_EVERY_S = 0.1  # a simulation tells a thousand times a second


@contextmanager
def queue_progress(words: str) -> Iterator[Tell]:
    """A bar on a terminal; nothing in a log."""
    if not sys.stderr.isatty():
        yield lambda words, done, total: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    from headway.report.words import harmless

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(harmless(words)) if _is_compiled() else _COMPILING, total=None)
        shown_at = 0.0

        def tell(words: str, done: float, total: float) -> None:
            nonlocal shown_at
            if (now := time.monotonic()) >= shown_at + _SHOWN_EVERY_S:
                shown_at = now
                bar.update(task, description=escape(harmless(words)), completed=done, total=total)

        yield tell


def _is_compiled() -> bool:
    """Whether the scheduler was compiled before: numba keeps an index beside what it compiled."""
    from headway.kernels.batch import events

    advance: Any = events.advance
    kept: str | None = advance.stats.cache_path
    return bool(advance.signatures) or (kept is not None and any(Path(kept).glob("events.advance-*.nbi")))
