"""A call whose future is in this process: the future gets the value or the error."""

from __future__ import annotations

import contextlib
import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import InvalidStateError
from typing import Any

from headway.integrations.calls import CallFolder, raised_in
from headway.integrations.task_future import TaskError, TaskFuture
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

    def failed(self, error: TaskError, data: bytes | None = None) -> None:
        raised: BaseException | None = None
        if error.outcome is not None and error.outcome.ending is Ending.EXIT_CODE:
            if data is None:
                self._has_files(self._future)
            try:
                raised = self._folder.read_failure(self._future.place.key) if data is None else raised_in(data)
            except Exception as unreadable:  # unpickling an exception may raise anything
                raised = unreadable
        self._fail(raised or error, error.outcome)

    def called_off(self) -> None:
        self.may_start()

    def _fail(self, error: BaseException, outcome: Outcome | None) -> None:
        self._future.outcome = outcome
        with contextlib.suppress(InvalidStateError):  # cancelled at this moment
            self._future.set_exception(error)
