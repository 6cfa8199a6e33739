"""`compiled_when_busy`: plain Python for the first calls, machine code for the thousands after them.

`compiled`: machine code from the first call on, for functions that call each other.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class CompiledWhenBusy(Generic[Arguments, Result]):
    """A function that is compiled (by numba, once for all: the result is kept on disk) when it has been called often.

    Importing numba takes half a second and compiling as much again: a short run never pays for either, a long one once.
    Both ways compute the same to the last bit. `plain` and `compile_now` are for tests and benchmarks.
    """

    def __init__(self, function: Callable[Arguments, Result], calls: int) -> None:
        functools.update_wrapper(self, function)
        self.plain = function
        self._left = calls
        self._current = function

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if self._left:
            self._left -= 1
            if not self._left:
                self.compile_now()
        return self._current(*args, **kwargs)

    def compile_now(self) -> Callable[Arguments, Result]:
        """The compiled function, used from now on."""
        if self._current is self.plain:
            self._left = 0
            self._current = _compiled(self.plain)
        return self._current


def compiled_when_busy(
    calls: int,
) -> Callable[[Callable[Arguments, Result]], CompiledWhenBusy[Arguments, Result]]:
    """Decorator: compile after so many calls. The function may use numpy arrays and numbers, and call no other."""
    return lambda function: CompiledWhenBusy(function, calls)


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator: machine code, kept on disk. The function may call others that are compiled, and allocates nothing.

    Without allocations nobody has to count who refers to an array, which for a function that is given a dozen of them
    takes far longer than what it does.
    """
    return _compiled(function, _nrt=False, no_cfunc_wrapper=True)


def inner(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator: compiled for compiled functions only. Python cannot call it, which saves compiling."""
    return _compiled(function, _nrt=False, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def inlined(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator: compiled into each function that calls it, for what is short and called often."""
    return _compiled(function, _nrt=False, no_cfunc_wrapper=True, no_cpython_wrapper=True, forceinline=True)


def _compiled(function: Callable[Arguments, Result], **options: bool) -> Callable[Arguments, Result]:
    import numba

    njit: Any = numba.njit
    folder = Path(function.__code__.co_filename).parent
    with _kept_by_content(numba.config, folder):
        try:
            result: Callable[Arguments, Result] = njit(cache=True, **options)(function)
        except RuntimeError:  # there is no place to keep the result: neither beside the code nor at home
            result = njit(**options)(function)
    return result


@contextmanager
def _kept_by_content(config: Any, folder: Path) -> Iterator[None]:
    """What is compiled meanwhile is kept under a name that changes with any file of its folder.

    numba itself looks only at the file of the function that is called: a change in a function which that one calls
    would go unnoticed. Functions call others of their folder only.
    """
    before = config.CACHE_DIR
    config.CACHE_DIR = str(_place(before, folder) / _fingerprint(folder))
    try:
        yield
    finally:
        config.CACHE_DIR = before


def _place(stated: str, folder: Path) -> Path:
    if stated:
        return Path(stated)
    if os.access(folder, os.W_OK):
        return folder / "__pycache__"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "headway"


@functools.cache
def _fingerprint(folder: Path) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return f"kernels-{digest.hexdigest()}"
