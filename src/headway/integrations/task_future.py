"""`TaskFuture`: a call's future, which also knows what the call used."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple, TypeVar

from headway.integrations.usage import Usage, plain_usage
from headway.model.errors import HeadwayError
from headway.model.outcome import Outcome

Value = TypeVar("Value")


class TaskError(HeadwayError):
    """A call's process ended without a value: it exceeded its memory or time, exited, or was killed."""

    def __init__(self, what: str, outcome: Outcome | None = None) -> None:
        super().__init__(what)
        self.outcome = outcome  # of the last attempt


class NeedError(TaskError):
    """A call was not made, because a call whose value is among its arguments failed or was cancelled."""


class RemoteTraceback(Exception):  # noqa: N818 - it is the cause of an error, shown below it
    """The text of a traceback in the process where an exception was raised."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class CallPlace(NamedTuple):
    """The folder and the key of a future's call."""

    folder: Path
    key: str


class TaskFuture(Future[Value]):
    """A future of `concurrent.futures`. As an argument of another call, it stands for its value."""

    def __init__(self, task: str, place: CallPlace, withdraw: Callable[[str], None]) -> None:
        super().__init__()
        self.task = task  # its name in the run, for `headway why` and `headway logs`
        self.place = place
        self.has_files = False  # that are removed with this future
        self.outcome: Outcome | None = None  # of the last attempt
        self._withdraw = withdraw

    @property
    def usage(self) -> Usage | None:
        """What the last attempt used; None before the first attempt has ended."""
        return plain_usage(self.outcome.usage) if self.outcome else None

    @property
    def attempts(self) -> int:
        """The number of attempts that have ended."""
        return self.outcome.attempt if self.outcome else 0

    def cancel(self) -> bool:
        """Cancel the call; False if it is running or done."""
        done = super().cancel()
        if done:
            self._withdraw(self.task)
        return done
