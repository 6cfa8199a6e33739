"""A call whose future is in this process: the future gets the value or the error."""

from __future__ import annotations

import contextlib
import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import InvalidStateError
from typing import Any

from headway.integrations.calls import CallFolder, failure_in
from headway.integrations.task_future import RemoteTraceback, TaskError, TaskFuture
from headway.model.outcome import Ending, Outcome


class LocalCall:
    """Updates a future; see `call_book.Submitted`."""

    def __init__(
        self,
        future: TaskFuture[Any],
        folder: CallFolder,
        needs: Sequence[TaskFuture[Any]],
        has_files: Callable[[TaskFuture[Any]], None] = lambda future: None,
    ) -> None:
        """`has_files` is called when a value or an error has come as a file."""
        self._future = future
        self._has_files = has_files
        self._folder = folder
        self._needs = needs  # their values stay on disk as long as these futures exist
        self._lock = threading.Lock()
        self._may_start: bool | None = None

    def may_start(self) -> bool:
        with self._lock:  # a future may be asked only once
            if self._may_start is None:
                self._may_start = self._future.set_running_or_notify_cancel()
            return self._may_start

    def succeeded(self, outcome: Outcome, data: bytes | None = None) -> None:
        if data is None:
            self._has_files(self._future)
        try:
            value = self._folder.read_value(self._future.place.key) if data is None else pickle.loads(data)  # noqa: S301
        except Exception as error:  # unpickling a value may raise anything
            self._fail(error, outcome)
        else:
            self._future.outcome = outcome
            with contextlib.suppress(InvalidStateError):  # cancelled at this moment
                self._future.set_result(value)

    def failed(self, error: TaskError, outcome: Outcome | None, data: bytes | None = None) -> None:
        raised = outcome is not None and outcome.ending is Ending.EXIT_CODE
        if raised and data is None:
            self._has_files(self._future)
        self._fail((self._raised(data) if raised else None) or error, outcome)

    def called_off(self) -> None:
        self.may_start()

    def _raised(self, data: bytes | None) -> BaseException | None:
        """Return what the function raised, with the remote traceback as its cause."""
        try:
            failure = self._folder.read_failure(self._future.place.key) if data is None else failure_in(data)
        except Exception as error:  # unpickling an exception may raise anything
            return error
        if failure is None:
            return None
        failure.error.__cause__ = RemoteTraceback(failure.traceback)
        return failure.error

    def _fail(self, error: BaseException, outcome: Outcome | None) -> None:
        self._future.outcome = outcome
        with contextlib.suppress(InvalidStateError):  # cancelled at this moment
            self._future.set_exception(error)
