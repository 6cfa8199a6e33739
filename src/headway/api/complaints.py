"""Errors as the line and the exit code with which a process ends."""

from __future__ import annotations

from headway.model.errors import HeadwayError

BUG = 70


def line_and_code(error: Exception) -> tuple[str, int]:
    """Return the sentence for standard error and the exit code; anything that is not a `HeadwayError` is a bug."""
    if isinstance(error, HeadwayError):
        return str(error), error.exit_code
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    todo = "nothing is lost, but this is a bug: please report it with what HEADWAY_DEBUG=1 shows"
    return f"{what}; {todo}", BUG
