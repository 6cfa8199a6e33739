"""Number work in plain Python that becomes machine code, by numba, once that is worth the time to compile it.

`compiled` makes a `Kernel`; `inner`, `inlined` and `spliced` mark the functions that kernels call. Plain or compiled, a
kernel computes the same to the last bit. So numba is needed for speed only, and is imported when a kernel is compiled.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# Seconds that a kernel spends in plain Python before it is compiled, which takes from 1 to 30 s, or before machine code
# that an earlier process kept on disk is loaded, which takes 1 s. Most runs and many simulations end before.
PATIENCE_S = 5.0
PATIENCE_IF_KEPT_S = 0.3
_STEP_S = 1e-6  # of plain Python, about

# The functions that kernels call, with numba's options for them.
_MARKED: dict[Callable[..., Any], dict[str, Any]] = {}

# Told when a kernel turns out to be slow: whether it is compiled now; otherwise numba is missing.
listeners: list[Callable[[bool], None]] = []


class Kernel(Generic[Arguments, Result]):
    """A function that is compiled when it has been busy for long. The machine code is kept on disk.

    The function may use numbers and numpy arrays, and call no functions of ours but marked ones. `plain` and
    `compile_now` are for tests, benchmarks and callers who know that a call will take long.
    """

    def __init__(self, function: Callable[Arguments, Result], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.plain = function
        self._options = options
        self._machine_code: Callable[Arguments, Result] | None = None
        self._spent_s = 0.0  # in plain Python
        self._is_kept: bool | None = None  # whether machine code is on disk; None: nobody looked

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if self._machine_code is not None:
            return self._machine_code(*args, **kwargs)
        began = time.perf_counter()
        result = self.plain(*args, **kwargs)
        self._spent_s += time.perf_counter() - began
        self._compile_after(self._spent_s)
        return result

    def expect(self, steps: int) -> None:
        """Prepare for a call that takes so many steps: a long call is not begun in plain Python."""
        if self._machine_code is None:
            self._compile_after(steps * _STEP_S)

    def _compile_after(self, seconds: float) -> None:
        if seconds <= PATIENCE_IF_KEPT_S:
            return
        if self._is_kept is None:
            self._is_kept = _is_kept(self.plain)
        if self._is_kept or seconds > PATIENCE_S:
            self.compile_now()

    def compile_now(self) -> Callable[Arguments, Result]:
        """Have the function compiled by its next call, unless that was done; without numba it stays as it is."""
        if self._machine_code is not None:
            return self._machine_code
        has_numba = _numba() is not None
        for listener in () if self._is_kept and has_numba else listeners:
            listener(has_numba)
        if not has_numba:
            self._spent_s = -math.inf
            return self.plain
        self._machine_code = _compiled(self.plain, **self._options)
        return self._machine_code


def compiled(function: Callable[Arguments, Result]) -> Kernel[Arguments, Result]:
    """Decorator: a kernel that allocates nothing.

    Without allocations numba does not count references to arrays, which for a function with a dozen arrays would take
    far longer than its work.
    """
    return Kernel(function, {"_nrt": False, "no_cfunc_wrapper": True})


def compiled_allocating(function: Callable[Arguments, Result]) -> Kernel[Arguments, Result]:
    """Decorator: a kernel that may create arrays."""
    return Kernel(function, {})


def inner(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator: compiled for kernels only. Python cannot call the machine code, which makes compiling faster."""
    return _marked(function, _nrt=False, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def inlined(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator: compiled into each function that calls it; for short functions that are called often."""
    return _marked(function, _nrt=False, no_cfunc_wrapper=True, no_cpython_wrapper=True, forceinline=True)


def spliced(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator: a step of a kernel that may create arrays; its source becomes a part of the kernel's."""
    return _marked(function, inline="always")


def spliced_as(
    machine_code: Callable[Arguments, Any],
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Decorator: where the kernel is compiled, another function takes this one's place, to the same effect."""
    return lambda function: _marked(function, instead=machine_code, inline="always")


def _marked(function: Callable[Arguments, Result], **options: Any) -> Callable[Arguments, Result]:
    _MARKED[function] = options
    return function


def _compiled(function: Callable[Arguments, Result], **options: Any) -> Callable[Arguments, Result]:
    numba = _numba()
    folder = Path(function.__code__.co_filename).parent
    function = _calling_machine_code(function)
    with _kept_by_content(numba.config, folder):
        try:
            result: Callable[Arguments, Result] = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # the result can be kept neither beside the code nor in the home directory
            result = numba.njit(**options)(function)
    return result


@functools.cache
def _marked_code(function: Callable[..., Any]) -> Callable[..., Any]:
    options = dict(_MARKED[function])
    return _compiled(options.pop("instead", function), **options)


def _calling_machine_code(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a copy of the function that calls the machine code of kernels and marked functions."""
    machine_code: dict[str, Callable[..., Any]] = {}
    for name in {step.argval for step in dis.get_instructions(function) if step.opname == "LOAD_GLOBAL"}:
        value = function.__globals__.get(name)
        if isinstance(value, Kernel):
            machine_code[name] = value.compile_now()
        elif isinstance(value, FunctionType) and value in _MARKED:
            machine_code[name] = _marked_code(value)
    if not machine_code:
        return function
    copy = FunctionType(function.__code__, function.__globals__ | machine_code, function.__name__)
    return functools.update_wrapper(copy, function)


@functools.cache
def _numba() -> Any:
    """Return the module numba; None where it is not installed, or does not fit the numpy that is."""
    try:
        import numba
    except ImportError:
        return None
    return numba


@contextmanager
def _kept_by_content(config: Any, folder: Path) -> Iterator[None]:
    """Keep what is compiled meanwhile under a name that changes with any file of the folder.

    numba itself looks only at the file of the function that it compiles and would miss a change in a function that this
    one calls. Functions call only others of their folder.
    """
    before = config.CACHE_DIR
    config.CACHE_DIR = str(_place(before, folder))
    try:
        yield
    finally:
        config.CACHE_DIR = before


def _is_kept(function: Callable[..., Any]) -> bool:
    """Whether an earlier process has compiled the function: numba keeps an index beside the machine code."""
    file = Path(function.__code__.co_filename)
    place = _place(os.environ.get("NUMBA_CACHE_DIR", ""), file.parent)
    return any(place.rglob(f"{file.stem}.{function.__qualname__}-*.nbi"))


def _place(stated: str, folder: Path) -> Path:
    """Return where machine code is kept: where the user says, beside the code, or in the home directory."""
    if stated:
        base = Path(stated)
    elif os.access(folder, os.W_OK):
        base = folder / "__pycache__"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "headway"
    return base / _fingerprint(folder)


@functools.cache
def _fingerprint(folder: Path) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return f"kernels-{digest.hexdigest()}"
