"""For all tests: patience, since a machine may be busy, a disk that is soon full, and a history of each test's own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


# What is made once for many tests neither learns from anything nor teaches.
os.environ["HEADWAY_HISTORY"] = "none"


@pytest.fixture(autouse=True)
def own_history(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test's runs keep what they learned; nobody's real history is read or written."""
    place = tmp_path_factory.mktemp("history") / "history.db"
    monkeypatch.setenv("HEADWAY_HISTORY", str(place))
    return place


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of three megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", place], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("needs permission to mount a small file system")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)
