"""Calls of Python functions on disk: functions, arguments, values and errors.

A call is a file that its submitter writes and its process reads; a value or an error is a file that the process writes
and the submitter reads. All of them lie in a folder that only its owner can enter, so that pickles of other users are
never loaded.
"""

from __future__ import annotations

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
from headway.model.task import Task

PLACE = "HEADWAY_CALLS"  # the environment variable that tells a function's process where its executor's calls lie


class CallSettings(Struct, frozen=True):
    """The category of calls (by default the function's name), their hints, priority and retries."""

    category: str = ""
    hints: dict[str, float] = {}
    priority: float = 0
    retries: int = 0
    malleable: bool = False


class CallSpec(Struct, frozen=True):
    """What the run has to know of a call. `needs` are the tasks whose values are among its arguments."""

    key: str
    settings: CallSettings
    needs: tuple[str, ...] = ()

    @property
    def task_id(self) -> str:
        """The task's name in the run, such as `fit[17]`."""
        return f"{self.settings.category}[{self.key}]"

    def task(self, folder: CallFolder) -> Task:
        """Return the call as a task: a Python process that must write a value."""
        argv = [sys.executable, "-P", call.__file__, str(folder.path), self.key]
        return Task(
            id=self.task_id,
            category=self.settings.category,
            command=f"{shlex.join(argv)}\ntest -f {shlex.quote(str(folder.value(self.key)))}",
            environment={PLACE: str(folder.path)},
            parents=self.needs,
            priority=self.settings.priority,
            hints=self.settings.hints,
            retries=self.settings.retries,
            malleable=self.settings.malleable,
        )


class CallFolder(NamedTuple):
    """The folder with the calls of an executor."""

    path: Path

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

    def write(
        self, key: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> list[TaskFuture[Any]]:
        """Write a call; return the futures among its arguments, which their values will replace.

        The file also holds the directory and the module path of the caller, so that the function finds its imports.
        """
        with open(self.path / f"{key}.call", "wb") as file:
            pickle.dump((os.getcwd(), sys.path), file)
            pickler = _CallPickler(file, self)
            pickler.dump((function, tuple(args), dict(kwargs)))
        return pickler.futures

    def read_value(self, key: str) -> Any:
        """Return what the call returned."""
        with open(self.value(key), "rb") as file:
            return pickle.load(file)  # noqa: S301 - from our own folder, see above

    def read_failure(self, key: str) -> BaseException | None:
        """Return what the call raised, with the remote traceback as its cause; None if its process was killed."""
        try:
            with open(self.path / f"{key}.error", "rb") as file:
                error, traceback = pickle.load(file)  # noqa: S301 - the same
        except FileNotFoundError:
            return None
        error.__cause__ = RemoteTraceback(traceback)
        return error  # type: ignore[no-any-return]

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
