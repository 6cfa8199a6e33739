"""Calls of Python functions as bytes: functions, arguments, values and errors.

A call is a file that its submitter writes and its process reads; a value or an error is a file that the process writes
and the submitter reads. All of them lie in a folder that only its owner can enter, so that pickles of other users are
never loaded. What is small and goes to a shared worker travels over a socket in the same folder instead.
"""

from __future__ import annotations

import io
import os
import pickle
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
from msgspec import Struct

from headway.integrations import call
from headway.integrations.task_future import RemoteTraceback, TaskFuture
from headway.model.checks import check_priority_and_retries
from headway.model.errors import InputError
from headway.model.task import Task

PLACE = "HEADWAY_CALLS"  # the environment variable that tells a function's process where its executor's calls lie
ISOLATION = "HEADWAY_ISOLATION"  # the environment variable that tells it how calls of its own are isolated
PROCESS, SHARED = "process", "shared"  # a call has a process of its own, or one that made other calls before


class CallSettings(Struct, frozen=True):
    """The category of calls (by default the function's name), their hints, limits, priority, retries and isolation."""

    category: str = ""
    hints: dict[str, float] = {}
    priority: float = 0
    retries: int = 0
    malleable: bool = False
    isolation: str = PROCESS
    limits: dict[str, float] = {}

    def check(self) -> None:
        """Raise an `InputError` for a setting that makes no sense."""
        check_priority_and_retries(self.priority, self.retries)
        if self.isolation not in (PROCESS, SHARED):
            raise InputError(
                f"{self.isolation!r} is not a kind of isolation",
                where="isolation",
                todo=f"choose {PROCESS!r} (a process for each call) or {SHARED!r} (processes that make many calls)",
            )


class CallSpec(Struct, frozen=True):
    """What the run has to know of a call. `needs` are the tasks whose values are among its arguments."""

    key: str
    settings: CallSettings
    needs: tuple[str, ...] = ()

    @property
    def task_id(self) -> str:
        """The task's name in the run, such as `fit[17]`."""
        return f"{self.settings.category}[{self.key}]"

    def task(self, folder: CallFolder, parents: tuple[str, ...]) -> Task:
        """Return the call as a task: a Python process that must write a value when its `parents` have ended."""
        argv = [sys.executable, "-P", call.__file__, str(folder.path), self.key]
        return Task(
            id=self.task_id,
            category=self.settings.category,
            command=f"{shlex.join(argv)}\ntest -f {shlex.quote(str(folder.value(self.key)))}",
            environment=folder.environment,
            parents=parents,
            priority=self.settings.priority,
            hints=self.settings.hints,
            retries=self.settings.retries,
            malleable=self.settings.malleable,
            limits=self.settings.limits,
        )


def raised_in(data: bytes) -> BaseException:
    """Return what a call raised, with the remote traceback as its cause."""
    error, traceback = pickle.loads(data)  # noqa: S301 - from our own folder, see above
    error.__cause__ = RemoteTraceback(traceback)
    return error  # type: ignore[no-any-return]


class CallFolder(NamedTuple):
    """The folder with the calls of an executor."""

    path: Path
    isolation: str = PROCESS  # of calls that functions submit

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the processes that make calls."""
        return {PLACE: str(self.path), ISOLATION: self.isolation}

    def value(self, key: str) -> Path:
        """Return the file that holds what the call returned."""
        return self.path / f"{key}.value"

    def reserve(self, key: str) -> bool:
        """Take a key; False if it is taken already."""
        try:
            (self.path / f"{key}.call").touch(0o600, exist_ok=False)
        except FileExistsError:
            return False
        return True

    def pickled(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[bytes, list[TaskFuture[Any]]]:
        """Return a call as bytes, and the futures among its arguments, which their values will replace.

        The bytes also hold the directory and the module path of the caller, so that the function finds its imports.
        """
        file = io.BytesIO()
        pickle.dump((os.getcwd(), sys.path), file)
        pickler = _CallPickler(file, self)
        pickler.dump((function, tuple(args), dict(kwargs)))
        return file.getvalue(), pickler.futures

    def write(self, key: str, data: bytes) -> None:
        """Write a call."""
        (self.path / f"{key}.call").write_bytes(data)

    def keep_value(self, key: str, data: bytes) -> None:
        """Write a value that was sent, for a call that has it among its arguments."""
        call.write(str(self.value(key)), data)

    def read_value(self, key: str) -> Any:
        """Return what the call returned."""
        with open(self.value(key), "rb") as file:
            return pickle.load(file)  # noqa: S301 - from our own folder, see above

    def read_failure(self, key: str) -> BaseException | None:
        """Return what the call raised, with the remote traceback as its cause; None if its process was killed."""
        try:
            return raised_in((self.path / f"{key}.error").read_bytes())
        except FileNotFoundError:
            return None

    def remove(self, key: str) -> None:
        """Remove the files of a call whose future is gone."""
        for kind in ("call", "value", "error"):
            (self.path / f"{key}.{kind}").unlink(missing_ok=True)


class _CallPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles functions by value where they cannot be imported, and futures as references to their values."""

    def __init__(self, file: Any, folder: CallFolder) -> None:
        super().__init__(file)
        self.futures: list[TaskFuture[Any]] = []
        self._folder = folder

    def persistent_id(self, thing: Any) -> str | None:
        """Return the key of the call that a future stands for."""
        if not isinstance(thing, TaskFuture):  # an attribute of any other object might run code
            return None
        if thing.place.folder != self._folder.path:
            raise pickle.PicklingError("a future of another executor cannot be an argument; pass its result() instead")
        self.futures.append(thing)
        return thing.place.key
