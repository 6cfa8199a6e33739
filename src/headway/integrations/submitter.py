"""The base of all executors: submit, map, and settings for the next calls."""

from __future__ import annotations

import functools
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor as StandardExecutor
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct, field, structs

from headway.integrations.calls import PROCESS, SHARED, CallFolder, CallPlace, CallSpec
from headway.integrations.shared_worker import MOST_SENT_BYTES
from headway.integrations.task_future import TaskFuture
from headway.model.checks import check_priority_and_retries
from headway.model.errors import InputError
from headway.model.hints import hints

Value = TypeVar("Value")


class CallSettings(Struct, frozen=True):
    """The category of calls, their hints, priority, retries and isolation."""

    category: str | None = None
    hints: dict[str, float] = field(default_factory=dict)
    priority: float = 0
    retries: int = 0
    malleable: bool = False
    isolation: str = PROCESS

    def check(self) -> None:
        """Raise an `InputError` for a setting that makes no sense."""
        check_priority_and_retries(self.priority, self.retries)
        if self.isolation not in (PROCESS, SHARED):
            raise InputError(
                f"{self.isolation!r} is not a kind of isolation",
                where="isolation",
                todo=f"choose {PROCESS!r} (a process for each call) or {SHARED!r} (processes that make many calls)",
            )

    def make(
        self,
        key: str,
        folder: CallFolder,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        new_future: Callable[[str, CallPlace], TaskFuture[Any]],
        *,
        may_send: bool = False,
    ) -> tuple[TaskFuture[Any], PickledCall | None]:
        """Return a call's future, and the call as bytes: on disk, unless it is small and its submitter `may_send` it.

        If the call cannot be pickled, the future has that exception, and the call is None.
        """
        category = self.category or category_of(function)
        spec = CallSpec(key, category, (), self.hints, self.priority, self.retries, self.malleable, self.isolation)
        future = new_future(spec.task_id, CallPlace(folder.path, key))
        try:
            data, needs = folder.pickled(function, args, kwargs)
            is_sent = may_send and self.isolation == SHARED and len(data) <= MOST_SENT_BYTES
            if not is_sent:
                folder.write(key, data)
        except Exception as error:  # whatever an argument does when it is pickled
            folder.remove(key)
            future.set_exception(error)
            return future, None
        if needs:
            spec = structs.replace(spec, needs=tuple(dict.fromkeys(need.task for need in needs)))
        return future, PickledCall(spec, needs, data if is_sent else None)


class PickledCall(NamedTuple):
    """A call that can be made: its spec, the futures it needs, and its bytes, unless they are on disk."""

    spec: CallSpec
    needs: list[TaskFuture[Any]]
    data: bytes | None


class Submitter(StandardExecutor):
    """An executor whose calls have settings; `using` returns the same executor with other settings."""

    _settings: CallSettings

    @abstractmethod
    def _call(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], settings: CallSettings
    ) -> TaskFuture[Any]:
        """Submit the call of a function."""

    def submit(self, fn: Callable[..., Value], /, *args: Any, **kwargs: Any) -> TaskFuture[Value]:
        """Call `fn(*args, **kwargs)` in another process, when the futures among the arguments have values."""
        return self._call(fn, args, kwargs, self._settings)

    def map(
        self, fn: Callable[..., Value], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[Value]:
        """Return values in the order of the arguments; one process makes `chunksize` calls."""
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        if chunksize == 1:
            return super().map(fn, *iterables, timeout=timeout)
        rows = zip(*iterables, strict=False)
        chunks: list[Sequence[Any]] = []
        while chunk := [row for _, row in zip(range(chunksize), rows, strict=False)]:
            chunks.append(chunk)
        whole = self.using(category=self._settings.category or category_of(fn))
        results = StandardExecutor.map(whole, functools.partial(_call_each, fn), chunks, timeout=timeout)
        return (value for values in results for value in values)

    def using(
        self,
        *,
        category: str | None = None,
        priority: float | None = None,
        retries: int | None = None,
        malleable: bool | None = None,
        isolation: str | None = None,
        **resources: float | str,
    ) -> Submitter:
        """Return this executor with other settings for the calls that are submitted through the result.

        `category` says which calls are alike (by default the function's name), `retries` how often a call that raised
        is repeated; `cores`, `memory`, `time`, `gpus` are hints: `executor.using(memory="2 GB", cores=2)`. A
        `malleable` call uses as many cores as the environment variable `HEADWAY_CORES` says. With
        `isolation="shared"` a process makes one call after the other.
        """
        changes: dict[str, Any] = {
            "category": category,
            "priority": priority,
            "retries": retries,
            "malleable": malleable,
            "isolation": isolation,
        }
        settings = structs.replace(
            self._settings,
            hints=self._settings.hints | hints(resources),
            **{name: value for name, value in changes.items() if value is not None},
        )
        settings.check()
        return _Using(self, settings)


class _Using(Submitter):
    """A view of an executor with other settings."""

    def __init__(self, base: Submitter, settings: CallSettings) -> None:
        self._base = base
        self._settings = settings

    def _call(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], settings: CallSettings
    ) -> TaskFuture[Any]:
        return self._base._call(function, args, kwargs, settings)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._base.shutdown(wait, cancel_futures=cancel_futures)


def category_of(function: Callable[..., Any]) -> str:
    """Return the function's name as a category."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    return re.sub(r"[^\w.-]", "", name) or "call"


def _call_each(function: Callable[..., Value], rows: Iterable[Sequence[Any]]) -> list[Value]:
    return [function(*row) for row in rows]
