"""`headway.Executor`: Python functions as measured, limited, retried tasks, behind the standard library's interface."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
import weakref
from functools import partial
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

from headway.api.growing import GrowingRun
from headway.api.settings import RunSettings
from headway.integrations.amounts import stated_amounts
from headway.integrations.call_book import CallBook, Submitted
from headway.integrations.calls import CallFolder, CallSettings, CallSpec
from headway.integrations.local_call import LocalCall
from headway.integrations.nested_server import NestedServer
from headway.integrations.submitter import Call, Submitter
from headway.integrations.task_future import TaskFuture
from headway.model import records
from headway.model.checks import check_priority_and_retries
from headway.model.errors import InputError

_LINGER_S = 1.0  # if the program is killed, its supervisors end soon: no process can read the values


class Executor(Submitter):
    """Calls functions in processes of their own, as many at a time as fit the machine.

    How much each call needs is learned by category (by default the function's name); a call that ran out of memory is
    repeated with more. If a `directory` is given, the journal and the logs stay there, for `headway usage`, `why` and
    `logs`. Functions may submit calls themselves: see `headway.current_executor`.

    >>> with Executor(cores=1) as executor:
    ...     list(executor.map(pow, [2, 3], [5, 2]))
    [32, 9]
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        *,
        cores: float | None = None,
        memory: float | str | None = None,
        sizer: str = RunSettings().sizer,
        order: str = RunSettings().order,
        seed: int = 0,
        retries: int = 0,
        fresh: bool = False,
        echo: bool = True,
    ) -> None:
        """Use at most `cores` and `memory` of this machine; repeat calls that raise up to `retries` times.

        With `echo`, what functions print appears here when they have ended. With `fresh`, the history is not used.
        """
        check_priority_and_retries(0, retries)
        self._settings = CallSettings(retries=retries)
        self._keep = Path(directory) if directory is not None else None
        if self._keep is not None and not self._keep.is_dir():
            raise InputError("there is no such directory", where=str(self._keep))
        settings = RunSettings(
            **stated_amounts(cores, memory),
            sizer=sizer,
            order=order,
            seed=seed,
            keep_going=True,
            again=True,
            fresh=fresh,
            linger_s=_LINGER_S,
            known_as=_known_as(),
            project=_program(),
        )
        self._directory = self._keep or Path(tempfile.mkdtemp(prefix="headway-"))
        self._book = CallBook(echo=echo)
        self._keys = count(1)
        self._lock = threading.Lock()
        self._closed = False
        self._submitting = 0  # calls that are being written down
        self._nested: NestedServer | None = None
        self._futures: weakref.WeakSet[TaskFuture[Any]] = weakref.WeakSet()
        self._error: BaseException | None = None
        try:
            self._run = GrowingRun(self._directory, settings, self._book.may_start)
        except BaseException:
            self._tidy_up()
            raise
        self._begin()

    def _begin(self) -> None:
        """Start the run's thread and wait until the run has begun."""
        self._manager = threading.Thread(target=self._manage, name="headway-manager", daemon=True)
        self._manager.start()
        self._run.attached.wait()
        if self._run.path is None or self._error is not None:
            self._manager.join()
            raise self._error or RuntimeError("the run did not begin")
        self._book.logs_of = self._run.logs_of
        self._calls = CallFolder(self._run.path / "calls")
        self._calls.path.mkdir(mode=0o700)
        self._nested = NestedServer(self._calls, self._accept, self._withdraw, self._run.tell)
        _LIVE.add(self)

    # --- submitting and calling off ---

    def _call(self, call: Call) -> TaskFuture[Any]:
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._submitting += 1
            key = str(next(self._keys))
        try:
            future, spec, needs = call.write(key, self._calls, partial(TaskFuture, withdraw=self._withdraw))
            if spec is not None:
                weakref.finalize(future, self._calls.remove, key).atexit = False  # its value can be removed
                self._accept(spec, LocalCall(future, self._calls, needs))
                self._futures.add(future)
            return future
        finally:
            self._no_more_if_closed(-1)

    def _accept(self, spec: CallSpec, submitted: Submitted) -> None:
        """Add a call to the run."""
        if self._book.add(spec, submitted):
            self._run.tell(records.TasksAdded(time.time(), [spec.task(self._calls)]))

    def _withdraw(self, task_id: str) -> None:
        self._run.tell(records.TaskWithdrawn(time.time(), task_id))
        self._book.call_off(task_id)

    # --- the end ---

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; `wait` until all are done, including calls that functions submitted."""
        with self._lock:
            self._closed = True
        if cancel_futures:
            for future in list(self._futures):
                future.cancel()
        self._no_more_if_closed(0)
        if wait and not self._book.is_telling():
            self._manager.join()

    def _no_more_if_closed(self, change: int) -> None:
        """Let the run end if the executor is closed and no thread is submitting a call."""
        with self._lock:
            self._submitting += change
            over = self._closed and not self._submitting
        if over:
            self._run.tell(records.NoMoreTasks(time.time()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for all calls; after Ctrl-C, stop them."""
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self._run.tell(records.UserCancel(time.time(), "now"))
            self.shutdown(cancel_futures=True)
        else:
            self.shutdown()

    # --- the run, in its own thread ---

    def _manage(self) -> None:
        try:
            self._run.drive(self._book.observe)
        except BaseException as error:  # such as a full disk; threads that wait for a value are told
            self._error = error
        finally:
            with self._lock:
                self._closed = True
            self._run.close()
            self._book.close(self._error)
            self._tidy_up()

    def _tidy_up(self) -> None:
        if self._nested is not None:
            self._nested.close()
            shutil.rmtree(self._calls.path, ignore_errors=True)
        if self._keep is None:
            shutil.rmtree(self._directory, ignore_errors=True)


def _known_as() -> str:
    """Return the name of this program's calls in the history: functions of one name differ between programs."""
    program = Path(sys.argv[0]).name if sys.argv else ""
    return f"calls in {program}" if program not in ("", "-c", "-m") else "calls"


def _program() -> str:
    """Return the file of this program, whose calls learn from each other; without one, the current directory."""
    return os.path.abspath(getattr(sys.modules.get("__main__"), "__file__", None) or "")


_LIVE: weakref.WeakSet[Executor] = weakref.WeakSet()


def _finish_all() -> None:
    """Wait for all calls when the program ends, as the standard executors do."""
    for executor in list(_LIVE):
        executor.shutdown()


# `atexit` is too late: by then no thread can be started. Python's own executors do the same.
threading._register_atexit(_finish_all)  # type: ignore[attr-defined]
