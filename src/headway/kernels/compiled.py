"""Decorators that turn number work into machine code by numba, which is imported only when a kernel is compiled.

`compiled_when_busy`: plain Python for the first calls, machine code for the thousands after them.
`compiled`, `inner`, `inlined`: machine code from the first call on, for functions that call each other.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class CompiledWhenBusy(Generic[Arguments, Result]):
    """A function that is compiled after a number of calls; the machine code is kept on disk for later processes.

    Importing numba takes half a second and compiling as much again: a short run never pays for either, a long one once.
    Both ways compute the same to the last bit. `plain` and `compile_now` are for tests and benchmarks.
    """

    def __init__(
        self, function: Callable[Arguments, Result], calls: int, steps: Sequence[Callable[..., Any]] = ()
    ) -> None:
        functools.update_wrapper(self, function)
        self.plain = function
        self._left = calls
        self._steps = steps
        self._current = function

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if self._left:
            self._left -= 1
            if not self._left:
                self.compile_now()
        return self._current(*args, **kwargs)

    def compile_now(self) -> Callable[Arguments, Result]:
        """Compile the function, if that has not been done, and return the machine code."""
        if self._current is self.plain:
            self._left = 0
            self._current = _compiled(_calling(self.plain, self._steps))
        return self._current


def compiled_when_busy(
    calls: int, steps: Sequence[Callable[..., Any]] = ()
) -> Callable[[Callable[Arguments, Result]], CompiledWhenBusy[Arguments, Result]]:
    """Decorator: compile after so many calls.

    The function may use numpy arrays and numbers, and call no function of ours but its `steps`, which are compiled
    with it and call none.
    """
    return lambda function: CompiledWhenBusy(function, calls, steps)


def _calling(function: Callable[Arguments, Result], steps: Sequence[Callable[..., Any]]) -> Callable[Arguments, Result]:
    """Return a copy of the function that calls the machine code of its steps."""
    if not steps or not isinstance(function, FunctionType):
        return function
    machine_code = {step.__name__: _compiled(step, inline="always") for step in steps}
    copy = FunctionType(function.__code__, function.__globals__ | machine_code, function.__name__)
    return functools.update_wrapper(copy, function)


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator: machine code, kept on disk. The function may call others that are compiled, and allocates nothing.

    Without allocations numba does not count references to arrays, which for a function with a dozen arrays would take
    far longer than its work.
    """
    return _compiled(function, _nrt=False, no_cfunc_wrapper=True)


def inner(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator: compiled for compiled functions only. Python cannot call it, which makes compiling faster."""
    return _compiled(function, _nrt=False, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def inlined(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator: compiled into each function that calls it; for short functions that are called often."""
    return _compiled(function, _nrt=False, no_cfunc_wrapper=True, no_cpython_wrapper=True, forceinline=True)


def _compiled(function: Callable[Arguments, Result], **options: bool | str) -> Callable[Arguments, Result]:
    import numba

    njit: Any = numba.njit
    folder = Path(function.__code__.co_filename).parent
    with _kept_by_content(numba.config, folder):
        try:
            result: Callable[Arguments, Result] = njit(cache=True, **options)(function)
        except RuntimeError:  # the result can be kept neither beside the code nor in the home directory
            result = njit(**options)(function)
    return result


@contextmanager
def _kept_by_content(config: Any, folder: Path) -> Iterator[None]:
    """Keep what is compiled meanwhile under a name that changes with any file of the folder.

    numba itself looks only at the file of the function that it compiles and would miss a change in a function that this
    one calls. Functions call only others of their folder.
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
