"""The base of all executors: submit, map, and settings for the next calls."""

from __future__ import annotations

import functools
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor as StandardExecutor
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from msgspec import structs

from headway.integrations.calls import SHARED, CallFolder, CallSettings, CallSpec
from headway.integrations.shared_worker import MOST_SENT_BYTES
from headway.integrations.task_future import CallPlace, TaskFuture
from headway.model.hints import hints, limits

Value = TypeVar("Value")
NewFuture = Callable[[str, CallPlace], TaskFuture[Any]]  # makes the future of a task


class PickledCall(NamedTuple):
    """A call that can be made: its spec, the futures it needs, and its bytes, unless they are on disk."""

    spec: CallSpec
    needs: list[TaskFuture[Any]]
    data: bytes | None


class Call(NamedTuple):
    """A call to be submitted."""

    function: Callable[..., Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    settings: CallSettings

    def pickle(
        self, key: str, folder: CallFolder, new_future: NewFuture, *, may_send: bool = False
    ) -> tuple[TaskFuture[Any], PickledCall | None]:
        """Return the call's future, and the call as bytes: on disk, unless it is small and its submitter `may_send` it.

        If the call cannot be pickled, the future has that exception, and the call is None.
        """
        category = self.settings.category or category_of(self.function, self.args)
        spec = CallSpec(key, structs.replace(self.settings, category=category))
        future = new_future(spec.task_id, CallPlace(folder.path, key))
        try:
            data, needs = folder.pickled(self.function, self.args, self.kwargs)
            is_sent = may_send and self.settings.isolation == SHARED and len(data) <= MOST_SENT_BYTES
            if not is_sent:
                folder.write(key, data)
        except Exception as error:  # whatever an argument does when it is pickled
            folder.remove(key)
            future.set_exception(error)
            return future, None
        if needs:
            spec = structs.replace(spec, needs=tuple(dict.fromkeys(need.task for need in needs)))
        return future, PickledCall(spec, needs, data if is_sent else None)


class Submitter(StandardExecutor):
    """An executor whose calls have settings; `using` returns the same executor with other settings."""

    _settings: CallSettings

    @abstractmethod
    def _call(self, call: Call) -> TaskFuture[Any]:
        """Submit a call."""

    def submit(self, fn: Callable[..., Value], /, *args: Any, **kwargs: Any) -> TaskFuture[Value]:
        """Call `fn(*args, **kwargs)` in another process, when the futures among the arguments have values."""
        return self._call(Call(fn, args, kwargs, self._settings))

    def map(
        self, fn: Callable[..., Value], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[Value]:
        """Return values in the order of the arguments; one process makes `chunksize` calls."""
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        if chunksize == 1:
            return super().map(fn, *iterables, timeout=timeout)
        rows = zip(*iterables, strict=False)
        chunks = list(iter(lambda: list(islice(rows, chunksize)), []))
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
        limit: Mapping[str, float | str] | None = None,
        **resources: float | str,
    ) -> Submitter:
        """Return this executor with other settings for the calls that are submitted through the result.

        `category` says which calls are alike (by default the function's name), `retries` how often a call that raised
        is repeated; `cores`, `memory`, `time`, `gpus` are hints: `executor.using(memory="2 GB", cores=2)`. A call
        that exceeds its `limit`, such as `{"time": "5m"}`, fails. A `malleable` call uses as many cores as the
        environment variable `HEADWAY_CORES` says. With `isolation="shared"` a process makes one call after the other.
        """
        changes = {
            "category": category,
            "priority": priority,
            "retries": retries,
            "malleable": malleable,
            "isolation": isolation,
        }
        settings = structs.replace(
            self._settings,
            hints=self._settings.hints | hints(resources),
            limits=self._settings.limits | limits(limit or {}),
            **{name: value for name, value in changes.items() if value is not None},
        )
        settings.check()
        return _Using(self, settings)


class _Using(Submitter):
    """A view of an executor with other settings."""

    def __init__(self, base: Submitter, settings: CallSettings) -> None:
        self._base = base
        self._settings = settings

    def _call(self, call: Call) -> TaskFuture[Any]:
        return self._base._call(call)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._base.shutdown(wait, cancel_futures=cancel_futures)


def category_of(function: Callable[..., Any], args: Sequence[Any] = ()) -> str:
    """Return the function's name as a category."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    if name == "batch_execute_tasks" and getattr(function, "__module__", "") == "dask.local":
        from dask.utils import key_split

        name = key_split(args[0][0][0])  # the key of the first task, such as `mean-0a1b…`: dask's name for the function
    return re.sub(r"[^\w.-]", "", name) or "call"


def _call_each(function: Callable[..., Value], rows: Iterable[Sequence[Any]]) -> list[Value]:
    return [function(*row) for row in rows]
