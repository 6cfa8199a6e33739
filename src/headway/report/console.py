"""Consoles that write for people."""

from __future__ import annotations

import os
from typing import TextIO

from rich.console import Console

_LOG_WIDTH = 100


class PeopleConsole(Console):
    """Raises an error if a pipe is closed: rich would end the process, and with it the run."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console_on(stream: TextIO) -> PeopleConsole:
    """Return a console that writes for people to a stream."""
    width = None if stream.isatty() or os.environ.get("COLUMNS") else _LOG_WIDTH
    return PeopleConsole(file=stream, width=width, highlight=False, markup=False, emoji=False)
