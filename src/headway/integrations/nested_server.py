"""The executor's end of the connections to functions that submit calls themselves."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import NamedTuple

from headway.integrations import nested_messages as messages
from headway.integrations.call_book import Submitted
from headway.integrations.calls import CallFolder, CallSpec
from headway.integrations.listening import serve, stop
from headway.integrations.task_future import NeedError, TaskError
from headway.model.outcome import Outcome
from headway.model.records import Event, TaskWaits
from headway.workers.short_path import short_path


class NestedServer:
    """Listens on a socket in the folder of calls, with one thread per connected function."""

    def __init__(
        self,
        folder: CallFolder,
        accept: Callable[[CallSpec, Submitted], None],
        withdraw: Callable[[str], None],
        tell: Callable[[Event], object],
    ) -> None:
        self._accept = accept
        self._withdraw = withdraw
        self._tell = tell
        self._listener = socket.socket(socket.AF_UNIX)
        with short_path(folder.path, messages.SOCKET) as path:
            self._listener.bind(path)
        self._listener.listen()
        serve(self._listener, self._talk, "headway-nested")

    def close(self) -> None:
        """Stop listening."""
        stop(self._listener)

    def _talk(self, connection: socket.socket) -> None:
        caller = _Caller(connection)
        with connection, contextlib.closing(caller), contextlib.suppress(OSError, ValueError, RecursionError):
            for line in connection.makefile("rb"):
                match messages.from_call.decode(line):
                    case messages.Submit(spec):
                        self._submit(spec, caller)
                    case messages.Withdraw(task):
                        self._withdraw(task)
                    case messages.Waits(task, attempt, waits):
                        self._tell(TaskWaits(time.time(), task, attempt, waits))

    def _submit(self, spec: CallSpec, caller: _Caller) -> None:
        refused = ""
        try:
            self._accept(spec, _NestedCall(spec.task_id, caller))
        except RuntimeError as error:  # the executor is shutting down
            refused = str(error)
        caller.say(messages.Accepted(spec.task_id))  # only after the run knows of the call: the caller may end now
        if refused:
            caller.say(messages.Done(spec.task_id, None, refused))


class _Caller:
    """The process of a function, as long as it listens. Sending a message never blocks."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._messages: SimpleQueue[messages.Message | None] = SimpleQueue()
        threading.Thread(target=self._write, name="headway-nested", daemon=True).start()

    def say(self, message: messages.Message) -> None:
        """Queue a message."""
        self._messages.put(message)

    def close(self) -> None:
        """Send the queued messages, then stop."""
        self._messages.put(None)

    def _write(self) -> None:
        with contextlib.suppress(OSError):  # the process has ended
            while (message := self._messages.get()) is not None:
                self._connection.sendall(messages.line(message))


class _NestedCall(NamedTuple):
    """Tells a function's process how a call ended; see `call_book.Submitted`."""

    task: str
    caller: _Caller

    def may_start(self) -> bool:
        self.caller.say(messages.Started(self.task))
        return True

    def succeeded(self, outcome: Outcome, data: bytes | None = None) -> None:
        self.caller.say(messages.Done(self.task, outcome))

    def failed(self, error: TaskError, data: bytes | None = None) -> None:
        self.caller.say(messages.Done(self.task, error.outcome, str(error), isinstance(error, NeedError)))

    def called_off(self) -> None:
        pass  # the process itself called it off
