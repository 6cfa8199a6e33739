"""`headway.current_executor()`: submit calls from within a function that an executor calls."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import wait as wait_for_all
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from headway.integrations import nested_messages as messages
from headway.integrations.calls import ISOLATION, PLACE, PROCESS, CallFolder, CallSettings
from headway.integrations.local_call import LocalCall
from headway.integrations.submitter import Call, Submitter
from headway.integrations.task_future import CallPlace, NeedError, TaskError, TaskFuture
from headway.peers import connect

Value = TypeVar("Value")

_current: NestedExecutor | None = None
_lock = threading.Lock()


def current_executor() -> NestedExecutor:
    """Return the executor that runs the function in which this is called.

    Calls submitted to it run beside the function, and go on when the function has ended. While the function waits for
    one of them, other calls may use its cores and memory.
    """
    global _current  # noqa: PLW0603 - each process has one connection to the executor
    if PLACE not in os.environ:
        raise RuntimeError("current_executor() is for functions that a headway.Executor calls")
    with _lock:
        if _current is None or _current.process != os.getpid():  # a fork needs a connection of its own
            _current = NestedExecutor(CallFolder(Path(os.environ[PLACE])))
        return _current


class NestedExecutor(Submitter):
    """Submits calls from within a call."""

    def __init__(self, folder: CallFolder) -> None:
        self.process = os.getpid()
        self._settings = CallSettings(isolation=os.environ.get(ISOLATION, PROCESS))
        self._folder = folder
        self._task, self._attempt = os.environ["HEADWAY_TASK"], int(os.environ["HEADWAY_TRY"])
        self._numbers = count(1)
        self._calls: dict[str, _Pending] = {}
        self._send_lock = threading.Lock()
        self._waiters_lock = threading.Lock()
        self._waiters = 0
        self._connection = socket.socket(socket.AF_UNIX)
        connect(self._connection, str(folder.path), messages.SOCKET, check_above=False)
        threading.Thread(target=self._listen, name="headway-connection", daemon=True).start()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for this function's calls; the executor itself stays open."""
        futures = [pending.future for pending in list(self._calls.values())]
        if cancel_futures:
            for future in futures:
                future.cancel()
        if wait:
            wait_for_all(futures)

    def _call(self, call: Call) -> TaskFuture[Any]:
        new_future = partial(_NestedFuture[Any], withdraw=self._withdraw, waits=self._waits)
        future, pickled = call.pickle(self._new_key(), self._folder, new_future)
        if pickled is not None:
            pending = _Pending(future, LocalCall(future, self._folder, pickled.needs), threading.Event())
            self._calls[future.task] = pending
            self._say(messages.Submit(pickled.spec))
            pending.accepted.wait()  # so that the run knows of the call before this function can end
        return future

    def _new_key(self) -> str:
        """Return the caller's key and a free number; other attempts and forks get other keys."""
        own = self._task.rpartition("[")[2].rstrip("]")
        while not self._folder.reserve(key := f"{own}.{next(self._numbers)}"):
            pass
        return key

    def _withdraw(self, task_id: str) -> None:
        self._say(messages.Withdraw(task_id))
        pending = self._calls.pop(task_id, None)
        if pending is not None:
            pending.call.called_off()  # so that a waiting thread learns that it is done

    def _waits(self, more: int) -> None:
        """Tell the executor when this function begins to wait, and when it goes on."""
        with self._waiters_lock:
            before = self._waiters > 0
            self._waiters += more
            now = self._waiters > 0
            if before is not now:
                with contextlib.suppress(OSError):  # the executor is gone, so no other call can use the resources
                    self._say(messages.Waits(self._task, self._attempt, now))

    def _say(self, message: messages.Message) -> None:
        with self._send_lock:
            self._connection.sendall(messages.line(message))

    def _listen(self) -> None:
        for line in self._connection.makefile("rb"):
            message = messages.from_executor.decode(line)
            pending = self._calls.get(message.task)
            if pending is None:  # it was called off
                continue
            match message:
                case messages.Accepted():
                    pending.accepted.set()
                case messages.Started():
                    pending.call.may_start()
                case messages.Done(_, outcome, error, need_failed):
                    del self._calls[message.task]
                    if not error and outcome is not None:
                        pending.call.succeeded(outcome)
                    else:
                        pending.call.failed((NeedError if need_failed else TaskError)(error, outcome))
        for pending in list(self._calls.values()):
            pending.accepted.set()
            pending.call.failed(TaskError(f"{pending.future.task}: the executor is gone"))


class _Pending(NamedTuple):
    """A call that this function has submitted."""

    future: TaskFuture[Any]
    call: LocalCall
    accepted: threading.Event


class _NestedFuture(TaskFuture[Value]):
    """A future that lends this function's cores and memory to other calls while a thread waits for it."""

    def __init__(
        self, task: str, place: CallPlace, withdraw: Callable[[str], None], waits: Callable[[int], None]
    ) -> None:
        super().__init__(task, place, withdraw)
        self._waits = waits
        self._waiters = _Waiters(waits)  # `concurrent.futures.wait` and `as_completed` append to it

    def result(self, timeout: float | None = None) -> Value:
        with self._waited_for():
            return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        with self._waited_for():
            return super().exception(timeout)

    @contextlib.contextmanager
    def _waited_for(self) -> Iterator[None]:
        if self.done():
            yield
            return
        self._waits(1)
        try:
            yield
        finally:
            self._waits(-1)


class _Waiters(list[Any]):
    """The list of waiters of a future; each waiter is counted."""

    def __init__(self, waits: Callable[[int], None]) -> None:
        super().__init__()
        self._waits = waits

    def append(self, waiter: Any) -> None:
        self._waits(1)
        super().append(waiter)

    def remove(self, waiter: Any) -> None:
        super().remove(waiter)
        self._waits(-1)
