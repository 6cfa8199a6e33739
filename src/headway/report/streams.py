"""Output streams whose reader may go away."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import IO


def silence(stream: IO[str]) -> None:
    """Send everything that is still written to `stream` to /dev/null: its reader is gone."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
