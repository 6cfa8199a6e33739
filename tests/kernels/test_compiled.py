"""Machine code is kept on disk, and not used after a file of its folder has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest

from headway.kernels.compiled import compiled, compiled_when_busy, inlined, inner

OUTER = """
from headway.kernels.compiled import compiled
from small.inside import twice

@compiled
def outer(number):
    return twice(number) + 1
"""
INSIDE = """
from headway.kernels.compiled import inner

@inner
def twice(number):
    return number * {factor}
"""
CALL = """
import numba
from small.outside import outer
assert numba.config.CACHE_DIR == {stated!r}, numba.config.CACHE_DIR
print(outer(10), sum(outer.stats.cache_hits.values()), outer.stats.cache_path)
"""


class Small:
    """A package of two files in which one function calls another, run in a process of its own."""

    def __init__(self, place: Path, factor: int = 2) -> None:
        self.place = place
        self.folder = place / "small"
        self.folder.mkdir()
        (self.folder / "__init__.py").touch()
        (self.folder / "outside.py").write_text(OUTER)
        self.write(factor)

    def write(self, factor: int) -> None:
        (self.folder / "inside.py").write_text(INSIDE.format(factor=factor))

    def call(self, stated: str = "") -> tuple[int, int, Path]:
        """Return the result, how many functions came from the cache, and the cache's folder."""
        environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        environment |= {"PYTHONPATH": os.pathsep.join([str(self.place), *sys.path])}
        environment |= {"NUMBA_CACHE_DIR": stated} if stated else {}
        done = subprocess.run(
            [sys.executable, "-c", CALL.format(stated=stated)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        result, hits, kept = done.stdout.split()
        return int(result), int(hits), Path(kept)


def test_a_change_in_a_function_that_another_calls_is_noticed(tmp_path: Path) -> None:
    small = Small(tmp_path)
    result, hits, kept = small.call()
    assert (result, hits) == (21, 0)
    assert small.folder / "__pycache__" in kept.parents
    assert small.call() == (21, 1, kept), "it is compiled once"
    small.write(factor=3)
    result, hits, elsewhere = small.call()
    assert (result, hits) == (31, 0)
    assert elsewhere != kept
    small.write(factor=2)
    assert small.call() == (21, 1, kept), "as it was before"


def test_any_file_of_the_folder_counts(tmp_path: Path) -> None:
    small = Small(tmp_path)
    before = small.call()[2]
    (small.folder / "another.py").write_text("WIDTH = 3\n")
    assert small.call()[2] != before


def test_the_user_may_choose_the_cache_folder(tmp_path: Path) -> None:
    small = Small(tmp_path)
    stated = tmp_path / "elsewhere"
    result, hits, kept = small.call(str(stated))
    assert (result, hits) == (21, 0)
    assert stated in kept.parents
    assert not list(small.folder.rglob("*.nbi"))
    assert small.call(str(stated)) == (21, 1, kept)


def test_numba_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config: Any = numba.config
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def plus(number: int) -> int:
        return number + 1

    for decorator in (compiled, inner, inlined):
        decorator(plus)
        assert str(tmp_path) == config.CACHE_DIR
        with pytest.raises(TypeError, match="jit decorator"):
            decorator(numba.njit(plus))  # a mistake
        assert str(tmp_path) == config.CACHE_DIR


def test_compiled_after_a_number_of_calls() -> None:
    @compiled_when_busy(calls=3)
    def half(number: float) -> float:
        return number / 2

    plain = half.plain
    assert half(3.0) == 1.5
    assert half._current is plain
    assert [half(3.0), half(3.0)] == [1.5, 1.5]
    assert half._current is not plain
    assert half.compile_now() is half._current
