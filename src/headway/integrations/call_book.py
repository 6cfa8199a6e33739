"""The calls of one executor that have not ended, and their submitters."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple, Protocol

from msgspec import Struct

from headway.integrations.calls import CallSpec
from headway.integrations.task_future import NeedError, TaskError
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, GiveUp, TaskEnded

_LOG = logging.getLogger(__name__)

# The files with the standard output and the standard error of an attempt, as soon as the run has begun.
LogsOf = Callable[[str, int], tuple[Path, Path] | None]


class Printed(NamedTuple):
    """A part of a file that holds what a call printed; to the end of the file if `end` is None."""

    file: Path
    begin: int = 0
    end: int | None = None

    def text(self) -> str:
        """Read it."""
        with self.file.open("rb") as file:
            file.seek(self.begin)
            return file.read(-1 if self.end is None else self.end - self.begin).decode(errors="replace")


class Submitted(Protocol):
    """The submitter of a call, in this process or in the process of another call."""

    def may_start(self) -> bool:
        """The call is about to begin; return False if it was cancelled."""

    def succeeded(self, outcome: Outcome, data: bytes | None = None) -> None:
        """The call has a value: `data`, or in the call's folder."""

    def failed(self, error: TaskError, data: bytes | None = None) -> None:
        """The call has no value. If the function raised an exception, it is in `data` or in the call's folder."""

    def called_off(self) -> None:
        """The call was cancelled, and the run knows it."""


class _Call(Struct, eq=False):
    """A call under way."""

    spec: CallSpec
    submitted: Submitted
    begin: Callable[[], object]
    last: Outcome | None = None  # of its attempts
    dependants: list[str] = []
    waits_for: set[str] = set()  # calls that must have values before it is begun
    data: bytes | None = None  # its value or its error, if a shared worker sent it
    printed: Sequence[Printed] | None = None  # if a shared worker made it; otherwise it has logs of its own


# How a call ended: with a value, without one, or (None) by its submitter.
Fate = Outcome | TaskError | None


class CallBook:
    """Follows a run's records and lets submitters know how their calls ended.

    It does so in a thread of its own: reading a large value, or what a user does when a call is done, must not hold up
    the run.
    """

    def __init__(self, *, echo: bool) -> None:
        self.logs_of: LogsOf = lambda task, attempt: None
        self.keep_value: Callable[[str, bytes], None] = lambda key, data: None  # for calls that need a sent value
        self.when_empty: Callable[[], object] = lambda: None  # called when the last call has ended
        self._echo = echo
        self._lock = threading.Lock()
        self._calls: dict[str, _Call] = {}
        self._have_values: set[str] = set()
        self._hopeless: set[str] = set()  # calls that will have no value, and whose submitters do not know it yet
        self._closed = False
        self._news: SimpleQueue[tuple[str, Fate] | None] = SimpleQueue()
        self._teller = threading.Thread(target=self._tell_all, name="headway-results", daemon=True)
        self._teller.start()

    def is_empty(self) -> bool:
        """Whether all calls have ended."""
        return not self._calls

    def is_telling(self) -> bool:
        """Whether this is the thread that tells submitters, which cannot wait for its own end."""
        return threading.current_thread() is self._teller

    def add(
        self, spec: CallSpec, submitted: Submitted, begin: Callable[[], object], waits_for: Collection[str] = ()
    ) -> None:
        """Follow a call and begin it when the calls in `waits_for` have values.

        If a call that it needs has failed, it is not begun, and its submitter is told.
        """
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            call = self._calls[spec.task_id] = _Call(spec, submitted, begin)
            for need in spec.needs:
                if need in self._calls:
                    self._calls[need].dependants.append(spec.task_id)
            call.waits_for.update(need for need in waits_for if need not in self._have_values)
            may_begin = not call.waits_for
            doomed = next((need for need in spec.needs if not self._may_have_value(need)), None)
            if doomed is not None:
                self._hopeless.add(spec.task_id)
        if doomed is not None:
            self._news.put((spec.task_id, _need_error(spec.task_id, doomed)))
        elif may_begin:
            begin()

    def _may_have_value(self, task_id: str) -> bool:
        return task_id in self._have_values or (task_id in self._calls and task_id not in self._hopeless)

    def may_start(self, task_id: str) -> bool:
        """Whether an attempt may begin; if so, its submitter is told."""
        call = self._calls.get(task_id)
        return call is not None and call.submitted.may_start()

    def call_off(self, task_id: str) -> None:
        """Take note that the submitter has cancelled the call."""
        self._without_value(task_id, None)

    def observe(self, batch: Sequence[Event | Decision]) -> None:
        """Take note of records. The run's driver calls this, so it only queues the news."""
        for record in batch:
            if isinstance(record, TaskEnded):
                call = self._calls.get(record.outcome.task)
                if call is not None:
                    call.last = record.outcome
                if record.outcome.ending is Ending.SUCCESS:
                    self._news.put((record.outcome.task, record.outcome))
            elif isinstance(record, GiveUp):
                call = self._calls.get(record.task)
                error = TaskError(f"{record.task}: {record.why.text}", call.last if call else None)
                self._without_value(record.task, error)

    def made(self, task_id: str, outcome: Outcome, data: bytes | None, printed: Sequence[Printed], text: str) -> None:
        """Take note of how a shared worker's last attempt at a call ended, and of what it sent."""
        call = self._calls.get(task_id)
        if call is None:
            return
        call.last, call.data, call.printed = outcome, data, printed
        if outcome.ending is Ending.SUCCESS:
            self._news.put((task_id, outcome))
        else:
            self._without_value(task_id, TaskError(f"{task_id}: {text}", outcome))

    def _without_value(self, task_id: str, fate: TaskError | None) -> None:
        with self._lock:
            if task_id in self._calls:
                self._hopeless.add(task_id)
        self._news.put((task_id, fate))

    def close(self, error: BaseException | None) -> None:
        """End with the run: tell the submitters of all remaining calls that there will be no value."""
        with self._lock:
            self._closed = True
        self._news.put(None)
        self._teller.join()
        reason = f"the executor broke down: {error}" if error else "the executor was stopped"
        for call in list(self._calls.values()):
            call.submitted.failed(TaskError(f"{call.spec.task_id} did not end: {reason}", call.last))
        self._calls.clear()

    # --- in the teller's thread ---

    def _tell_all(self) -> None:
        while (news := self._news.get()) is not None:
            try:
                if self._close_call(*news) and not self._calls:
                    self.when_empty()
            except BaseException:  # a user's callback may raise anything; the other calls must still be told
                _LOG.exception("while telling how %s ended", news[0])

    def _close_call(self, task_id: str, fate: Fate) -> bool:
        """Tell a call's submitter how it ended; return False if it had been told before."""
        with self._lock:
            call = self._calls.pop(task_id, None)
            self._hopeless.discard(task_id)
            if call is not None and isinstance(fate, Outcome):
                self._have_values.add(task_id)
        if call is None:
            return False
        if self._echo:
            self._repeat_output(call)
        if isinstance(fate, Outcome):
            if call.dependants and call.data is not None:
                self.keep_value(call.spec.key, call.data)
            call.submitted.succeeded(fate, call.data)
            self._begin_dependants(call)
            return True
        if fate is None:
            call.submitted.called_off()
        else:
            call.submitted.failed(fate, call.data)
        for dependant in call.dependants:
            self._without_value(dependant, _need_error(dependant, task_id))
        return True

    def _begin_dependants(self, call: _Call) -> None:
        """Begin the calls that only waited for this one."""
        with self._lock:
            waiting = [self._calls[task_id] for task_id in call.dependants if task_id in self._calls]
            waiting = [each for each in waiting if call.spec.task_id in each.waits_for]
            for each in waiting:
                each.waits_for.discard(call.spec.task_id)
        for each in waiting:
            if not each.waits_for:
                each.begin()

    def _repeat_output(self, call: _Call) -> None:
        """Repeat what a function printed, when it has ended."""
        printed = call.printed
        if printed is None and call.last is not None:
            printed = [Printed(path) for path in self.logs_of(call.spec.task_id, call.last.attempt) or ()]
        for part, stream in zip(printed or (), (sys.stdout, sys.stderr), strict=False):
            with contextlib.suppress(Exception):  # it printed nothing, or this process has no such stream
                stream.write(part.text())
                stream.flush()


def _need_error(task_id: str, need: str) -> NeedError:
    return NeedError(f"{task_id} was not called: {need}, whose value is among its arguments, has none")
