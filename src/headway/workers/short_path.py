"""A unix socket's name may have 107 bytes at most; through an open directory any path is short."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def short_path(folder: Path, name: str) -> Iterator[str]:
    """The path of `name` in `folder`, to bind or to connect to while this lasts."""
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{name}"
    finally:
        os.close(handle)
