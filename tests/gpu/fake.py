"""A driver that is not there: a library in place of NVML's, compiled for the tests, that answers from files."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("driver.c")
GB = 10**9


class FakeDriver:
    """The GPUs that processes see which are started after this one was made."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        library = folder / "libnvidia-ml.so.1"
        subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-o", library, SOURCE], check=True)
        patch.setenv("LD_LIBRARY_PATH", str(folder))
        patch.setenv("FAKE_GPUS", str(folder))
        patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def has(self, *states: str, memory_bytes: Sequence[int] = ()) -> None:
        """Say what GPUs there are: each is ok, lost or divided, and has 8 GB unless others are given."""
        sizes = memory_bytes or [8 * GB] * len(states)
        self._write("devices", "".join(f"{size} {state}\n" for size, state in zip(sizes, states, strict=True)))

    def hangs(self) -> None:
        """Let no call return any more."""
        self._write("hangs", "")

    def _write(self, name: str, text: str) -> None:
        new = self.folder / f"{name}.new"
        new.write_text(text)
        new.rename(self.folder / name)
