"""Where results are printed: a console for people, one JSON document for programs."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from rich.console import Console

_LOG_WIDTH = 100


class _Console(Console):
    """Raises an error if a pipe is closed: rich would end the process, and with it the run."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console_for(*, as_json: bool = False) -> Console:
    """Return the console for people: standard output, or standard error if standard output is for a JSON document."""
    stream = sys.stderr if as_json else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else _LOG_WIDTH
    return _Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def warn(text: str) -> None:
    """Print a warning to standard error."""
    sys.stderr.write(f"headway: {text}\n")
    sys.stderr.flush()


def print_json(answer: Any) -> None:
    """Print one JSON document, indented."""
    sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False))
    sys.stdout.write("\n")
    sys.stdout.flush()
