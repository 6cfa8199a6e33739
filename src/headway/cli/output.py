"""Where answers go: a console for people, one JSON document for programs."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_LOG_WIDTH = 100


def console_for(*, as_json: bool = False) -> Console:
    """The console for people: standard output, or standard error while that is for the JSON document."""
    from rich.console import Console

    class OurConsole(Console):
        """Leaves it to us what a closed pipe means: rich would end the process, and with it the run."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    stream = sys.stderr if as_json else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else _LOG_WIDTH
    return OurConsole(file=stream, width=width, highlight=False, markup=False, emoji=False)


def silence(stream: IO[str]) -> None:
    """Let go of a stream that nobody reads any more: what is still to be written to it vanishes without complaint."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def warn(text: str) -> None:
    """Tell people, on standard error, of trouble that stops nothing."""
    sys.stderr.write(f"headway: {text}\n")
    sys.stderr.flush()


def print_json(answer: Any) -> None:
    """One document, readable for people too."""
    sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False))
    sys.stdout.write("\n")
    sys.stdout.flush()
