"""`notified`: watches a run and tells people when it ends, at the first failure, and when nothing runs for long."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import structs

from headway.journal.folder import Project, RunFolder
from headway.model.records import Decision, Event, Finish, GiveUp
from headway.notifying.base import Target
from headway.notifying.delivery import Delivery
from headway.notifying.message import Message, Occasion, message_of
from headway.report.run.ending import last_words
from headway.report.run.summary import Failure, RunSummary

Observer = Callable[[Sequence[Event | Decision]], None]
Warn = Callable[[str], None]

_LAST_S = 45.0  # for the last messages, after the run has ended
_SAID = float("inf")  # in place of a time: that the run is stuck was said, once until something runs again


@contextmanager
def notified(
    observer: Observer, summary: RunSummary, targets: Sequence[Target], stuck_s: float, warn: Warn
) -> Iterator[Observer]:
    """Return an observer that calls `observer`, which updates `summary`, and tells the targets what happens.

    Sending goes on after the block, which may be before it arrives: when the process ends, it waits for that a while.
    """
    notifier = Notifier(observer, summary, targets, stuck_s, warn)
    try:
        yield notifier
    except BaseException as error:
        notifier.close(str(error) or type(error).__name__)
        raise
    notifier.close()


class Notifier:
    """An observer of a run, with a thread that looks whether the run is stuck and writes the messages."""

    def __init__(
        self, observer: Observer, summary: RunSummary, targets: Sequence[Target], stuck_s: float, warn: Warn
    ) -> None:
        self._observer = observer
        self._summary = summary
        self._stuck_s = stuck_s
        self._changed = threading.Condition()  # its lock is held while the summary changes or is read
        self._due: list[Occasion] = []
        self._trouble = ""
        self._idle_from: float | None = None  # by time.monotonic: since when nothing runs
        self._begun = self._failed = self._closed = False
        self._deliveries = [Delivery(target, warn) for target in targets]
        self._thread = threading.Thread(target=self._work, name="headway-notifier", daemon=True)
        self._thread.start()
        atexit.register(self.wait)

    def __call__(self, batch: Sequence[Event | Decision]) -> None:
        with self._changed:
            self._observer(batch)
            for record in batch:
                if isinstance(record, GiveUp) and not record.handed_back and not self._failed:
                    self._failed = True
                    self._due.append("failure")
                elif isinstance(record, Finish):
                    self._due.append("end")
            if self._summary.running:
                self._idle_from = None
            elif self._idle_from is None:
                self._idle_from = time.monotonic()
            self._begun = True
            self._changed.notify()

    def close(self, trouble: str = "") -> None:
        """Say, if the run did not end by itself, with which error its manager ends; then there is no more to say."""
        with self._changed:
            if trouble and self._begun and self._summary.finished is None:
                self._trouble = trouble
                self._due.append("end")
            self._closed = True
            self._changed.notify()

    def wait(self) -> None:
        """Wait until the last messages are sent or given up; Ctrl-C ends that."""
        with suppress(KeyboardInterrupt):
            self._thread.join(_LAST_S + 1)

    # --- the thread ---

    def _work(self) -> None:
        while (found := self._next()) is not None:
            message, failure = found
            self._send(message, failure)
        for delivery in self._deliveries:
            delivery.close()
        deadline = time.monotonic() + _LAST_S
        for delivery in self._deliveries:
            delivery.wait(deadline)
        atexit.unregister(self.wait)

    def _next(self) -> tuple[Message, Failure | None] | None:
        """Wait for an occasion and return its message; None when there will be no more."""
        with self._changed:
            while True:
                if self._due:
                    return message_of(self._due.pop(0), self._summary, time.time(), trouble=self._trouble)
                if self._closed:
                    return None
                left_s = self._until_stuck_s()
                if left_s is not None and left_s <= 0:
                    idle_s = self._stuck_s - left_s
                    self._idle_from = _SAID
                    return message_of("stuck", self._summary, time.time(), idle_s=idle_s)
                self._changed.wait(left_s)

    def _until_stuck_s(self) -> float | None:
        """Return in how many seconds the run counts as stuck if nothing happens; None: it does not."""
        if self._idle_from is None or self._idle_from == _SAID or self._summary.finished:
            return None
        return self._idle_from + self._stuck_s - time.monotonic()

    def _send(self, message: Message, failure: Failure | None) -> None:
        """Add the last lines of the failed task, and hand the message over."""
        if failure is not None and message.first_failure is not None:
            log = last_words(self._folder(), failure)
            message = structs.replace(message, first_failure=structs.replace(message.first_failure, log=log))
        for delivery in self._deliveries:
            delivery.put(message)

    def _folder(self) -> RunFolder:
        settings = self._summary.settings
        return Project(Path(settings.directory if settings else ".")).run(settings.run if settings else None)
