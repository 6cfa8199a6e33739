"""`compiled_when_busy`: plain Python for the first calls, machine code for the thousands after them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

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
            import numba

            self._left = 0
            try:
                self._current = numba.njit(cache=True)(self.plain)
            except RuntimeError:  # there is no place to keep the result: neither beside the code nor at home
                self._current = numba.njit(cache=False)(self.plain)
        return self._current


def compiled_when_busy(
    calls: int,
) -> Callable[[Callable[Arguments, Result]], CompiledWhenBusy[Arguments, Result]]:
    """Decorator: compile after so many calls. The function may use numpy arrays and numbers, and call no other."""
    return lambda function: CompiledWhenBusy(function, calls)
