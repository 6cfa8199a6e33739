"""Short paths for unix sockets, whose addresses are limited to 107 bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def short_path(folder: Path, name: str) -> Iterator[str]:
    """Give a short path of `folder/name` for binding or connecting; valid inside the `with` block only."""
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{name}"
    finally:
        os.close(handle)
