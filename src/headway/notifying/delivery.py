"""`Delivery`: sends messages to one target, in a thread of its own, and tries again where that may help."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from headway.notifying.base import NotSentError, Target
from headway.notifying.message import Message

_PAUSES_S = (1.0, 5.0)  # between the tries


class Delivery:
    """Each target has a thread: one that hangs holds up neither the run nor the other targets."""

    def __init__(self, target: Target, warn: Callable[[str], None]) -> None:
        self._target = target
        self._warn = warn
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="headway-notify", daemon=True)
        self._thread.start()

    def put(self, message: Message) -> None:
        """Send a message soon."""
        self._messages.put(message)

    def close(self) -> None:
        """Send no more than what was put."""
        self._messages.put(None)

    def wait(self, deadline: float) -> None:
        """Wait until everything is sent or given up, at most until a time of `time.monotonic`."""
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive():
            self._warn(f"the last notification to {self._target.name} was given up: it takes too long")

    def _work(self) -> None:
        while (message := self._messages.get()) is not None:
            reason = self._try(message)
            if reason:
                self._warn(f"a notification ({message.event}) to {self._target.name} was not sent: {reason}")

    def _try(self, message: Message) -> str:
        """Send a message; return why it did not arrive, or nothing."""
        for pause_s in (*_PAUSES_S, None):
            try:
                self._target.send(message)
            except NotSentError as error:
                if pause_s is None or not error.again:
                    return str(error)
                time.sleep(pause_s)
            except Exception as error:  # whatever it is, the run goes on, and its text may hold the address
                return type(error).__name__
            else:
                return ""
        return ""
