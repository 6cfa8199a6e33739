"""Machine code is kept on disk, and not used after a file of its folder has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numba")

import numba

from headway.kernels import compiled as module
from headway.kernels.compiled import Kernel, compiled, compiled_allocating

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
outer.compile_now()
assert numba.config.CACHE_DIR == {stated!r}, numba.config.CACHE_DIR
result = outer(10)
stats = outer.compile_now().stats
print(result, sum(stats.cache_hits.values()), stats.cache_path)
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

    for decorator in (compiled, compiled_allocating):
        decorator(plus).compile_now()
        assert str(tmp_path) == config.CACHE_DIR
        with pytest.raises(TypeError, match="not a function"):
            Kernel(plus, {"signature_or_function": 3}).compile_now()  # a mistake
        assert str(tmp_path) == config.CACHE_DIR


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[bool]]:
    """What listeners are told, while no kernel is given time in plain Python and nothing was compiled before."""
    told: list[bool] = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(module, "PATIENCE_S", 0.0)
    monkeypatch.setattr(module, "PATIENCE_IF_KEPT_S", 0.0)
    monkeypatch.setattr(module, "listeners", [told.append])
    yield told


def half(number: float) -> float:
    return number / 2


def test_a_kernel_that_is_not_busy_stays_plain() -> None:
    kernel = compiled(half)
    assert [kernel(3.0) for _ in range(1000)] == [1.5] * 1000
    assert kernel._machine_code is None


def test_a_busy_kernel_is_compiled_and_somebody_told(slow: list[bool]) -> None:
    kernel = compiled(half)
    assert kernel(3.0) == 1.5
    assert slow == [True]
    assert kernel._machine_code is not None
    assert kernel(3.0) == 1.5
    assert kernel.compile_now() is kernel._machine_code


def test_a_call_that_will_take_long_is_compiled_before() -> None:
    kernel = compiled(half)
    kernel.expect(100)
    assert kernel._machine_code is None
    kernel.expect(1_000_000_000)
    assert kernel._machine_code is not None


def test_without_numba_a_kernel_stays_plain_and_somebody_is_told_once(
    slow: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_numba", lambda: None)
    kernel = compiled(half)
    assert [kernel(3.0) for _ in range(10)] == [1.5] * 10
    assert slow == [False]
    assert kernel.compile_now() is half
