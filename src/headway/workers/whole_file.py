"""Files that appear whole: a reader sees all of a file, or none of it."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: bytes, *, durable: bool = False, mode: int = 0o600) -> None:
    """Write a file that only its owner can read, or by `mode`; a `durable` one survives a crash of the machine."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    draft.rename(path)
