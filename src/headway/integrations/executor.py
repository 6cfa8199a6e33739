"""`headway.Executor`: Python functions as measured, limited, retried tasks, behind the standard library's interface."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

from headway.api.settings import RunSettings, batch_settings
from headway.integrations.amounts import stated_amounts
from headway.integrations.call import pickled
from headway.integrations.call_book import CallBook, Submitted
from headway.integrations.calls import PROCESS, SHARED, CallFolder, CallSettings, CallSpec
from headway.integrations.local_call import LocalCall
from headway.integrations.nested_server import NestedServer
from headway.integrations.shared_calls import SharedCalls
from headway.integrations.submitter import Call, PickledCall, Submitter
from headway.integrations.task_future import TaskFuture
from headway.model import records
from headway.model.errors import InputError

_LINGER_IN_JOBS_S = 60.0  # a login node and a shared file system may be slow
_LINGER_S = 1.0  # if the program is killed, its supervisors end soon: no process can read the values


class Executor(Submitter):
    """Calls functions in other processes, as many at a time as fit the machine; by default each in its own process.

    How much each call needs is learned by category (by default the function's name); a call that ran out of memory is
    repeated with more. If a `directory` is given, the journal and the logs stay there, for `headway usage`, `why` and
    `logs`. Functions may submit calls themselves: see `headway.current_executor`.

    >>> with Executor(cores=1) as executor:
    ...     list(executor.map(pow, [2, 3], [5, 2]))
    [32, 9]
    """

    # How many calls `dask` submits at a time: tasks of one kind should wait together for the workers of that kind.
    _max_workers = 200

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
        isolation: str = PROCESS,
        on: str = RunSettings().cluster,
        plan: str = "",
        batch: Mapping[str, str] | None = None,
    ) -> None:
        """Use at most `cores` and `memory` of this machine; repeat calls that raise up to `retries` times.

        With `echo`, what functions print appears here when they have ended. With `fresh`, the history is not used.
        With `isolation="shared"`, a process makes one call after the other. With `on="slurm"`, calls run in jobs of the
        cluster whose login node this is; `batch` is what the batch system is told (`partition`, `account`, …), and
        `plan` says which jobs are submitted.
        """
        self._settings = CallSettings(retries=retries, isolation=isolation)
        self._settings.check()
        self._keep = Path(directory) if directory is not None else None
        if self._keep is not None and not self._keep.is_dir():
            raise InputError("there is no such directory", where=str(self._keep))
        self._is_local = on == RunSettings().cluster
        self._check_place(on)
        settings = RunSettings(
            **stated_amounts(cores, memory),
            sizer=sizer,
            order=order,
            seed=seed,
            keep_going=True,
            again=True,
            fresh=fresh,
            cluster=on,
            plan=plan,
            batch=dict(batch or {}) if self._is_local else batch_settings(self._keep or Path(), batch or {}, on),
            linger_s=_LINGER_S if self._is_local else _LINGER_IN_JOBS_S,
            known_as=_known_as(),
            project=_program(),
        )
        self._cores = settings.cores or len(os.sched_getaffinity(0))
        self._directory = self._keep or Path(tempfile.mkdtemp(prefix="headway-"))
        self._book = CallBook(echo=echo)
        self._keys = count(1)
        self._lock = threading.Lock()
        self._closed = False
        self._submitting = 0  # calls that are being written down
        self._nested: NestedServer | None = None
        self._shared: SharedCalls | None = None  # from the first call that shares a process
        self._sharing: set[str] = set()  # all calls that share processes; the run does not know them
        self._futures: weakref.WeakSet[TaskFuture[Any]] = weakref.WeakSet()
        self._error: BaseException | None = None
        try:
            from headway.api.growing import GrowingRun  # half a second that a program need not pay to import `Executor`

            self._run = GrowingRun(self._directory, settings, self._may_start)
        except BaseException:
            self._tidy_up()
            raise
        self._begin()

    def _check_place(self, on: str) -> None:
        """Raise an `InputError` if calls cannot run there."""
        if self._is_local:
            return
        if self._keep is None:
            raise InputError(
                "calls in jobs of a cluster are exchanged through files",
                where="directory",
                todo="give a directory that the nodes see, too: Executor('calls', on='slurm')",
            )
        self._check_isolation(self._settings)

    def _check_isolation(self, settings: CallSettings) -> None:
        if settings.isolation == SHARED and not self._is_local:
            raise InputError(
                "calls share processes on this machine only",
                where="isolation",
                todo="leave it out; `chunksize` of map lets a process of a job make many calls",
            )

    def _begin(self) -> None:
        """Start the run's thread and wait until the run has begun."""
        self._manager = threading.Thread(target=self._manage, name="headway-manager", daemon=True)
        self._manager.start()
        self._run.attached.wait()
        if self._run.path is None or self._error is not None:
            self._manager.join()
            raise self._error or RuntimeError("the run did not begin")
        self._book.logs_of = self._run.logs_of
        self._calls = CallFolder(self._run.path / "calls", self._settings.isolation)
        self._calls.path.mkdir(mode=0o700)
        self._book.keep_value = self._calls.keep_value
        self._book.when_empty = lambda: self._no_more_if_closed(0)
        self._nested = NestedServer(self._calls, self._accept_nested, self._withdraw, self._tell)
        _LIVE.add(self)

    # --- submitting and calling off ---

    def _call(self, call: Call) -> TaskFuture[Any]:
        self._check_isolation(call.settings)
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._submitting += 1
            key = str(next(self._keys))
        try:
            new_future = partial(TaskFuture[Any], withdraw=self._withdraw)
            future, made = call.pickle(key, self._calls, new_future, may_send=True)
            if made is not None:
                self._submit_pickled(future, made)
            return future
        finally:
            self._no_more_if_closed(-1)

    def _submit_pickled(self, future: TaskFuture[Any], call: PickledCall) -> None:
        if call.data is None:
            self._remove_files_with(future)
        for need in call.needs:
            if need.task in self._sharing:  # its value becomes a file
                self._remove_files_with(need)
        submitted = LocalCall(future, self._calls, call.needs, self._remove_files_with)
        self._accept(call.spec, submitted, call.needs, call.data)
        self._futures.add(future)

    def _remove_files_with(self, future: TaskFuture[Any]) -> None:
        """Remove a call's files when its future is gone."""
        if future.has_files:
            return
        future.has_files = True
        weakref.finalize(future, self._calls.remove, future.place.key).atexit = False

    def _accept_nested(self, spec: CallSpec, submitted: Submitted) -> None:
        self._accept(spec, submitted, (), None)

    def _accept(
        self, spec: CallSpec, submitted: Submitted, needs: Sequence[TaskFuture[Any]], data: bytes | None
    ) -> None:
        """Add a call to the run, or pass it to the workers that calls share, when what it needs is there."""
        if spec.settings.isolation == SHARED:
            self._sharing.add(spec.task_id)
            self._book.add(spec, submitted, partial(self._begin_shared, spec, needs, data), spec.needs)
        else:
            waits_for = [need for need in spec.needs if need in self._sharing]
            self._book.add(spec, submitted, partial(self._begin_process, spec, needs), waits_for)

    def _begin_process(self, spec: CallSpec, needs: Sequence[TaskFuture[Any]]) -> None:
        self._keep_values(needs)
        if self._shared is not None:
            self._shared.process_waits(spec.task_id, True)
        parents = tuple(need for need in spec.needs if need not in self._sharing)
        self._run.tell(records.TasksAdded(time.time(), [spec.task(self._calls, parents)]))

    def _begin_shared(self, spec: CallSpec, needs: Sequence[TaskFuture[Any]], data: bytes | None) -> None:
        self._keep_values(needs)
        with self._lock:
            if self._shared is None:
                self._shared = SharedCalls(
                    self._calls,
                    self._book,
                    self._run.tell,
                    lambda: str(next(self._keys)),
                    self._run.logs_of,
                    self._cores,
                )
        self._shared.add(spec, data, is_sent=spec.key.isdecimal())  # a nested call's submitter reads files

    def _keep_values(self, needs: Sequence[TaskFuture[Any]]) -> None:
        """Write values that were sent to files, for a call that has them among its arguments."""
        for need in needs:
            place = need.place
            if need.task in self._sharing and not self._calls.value(place.key).exists() and need.exception() is None:
                self._calls.keep_value(place.key, pickled(need.result()))

    def _may_start(self, task_id: str) -> bool:
        if self._shared is not None:
            if self._shared.is_worker(task_id):
                return True
            self._shared.process_waits(task_id, False)
        return self._book.may_start(task_id)

    def _tell(self, event: records.Event) -> bool:
        """Pass on what functions say of themselves."""
        if isinstance(event, records.TaskWaits) and self._shared is not None:
            self._shared.function_waits(event.task, event.waits)
        return self._run.tell(event)

    def _withdraw(self, task_id: str) -> None:
        if task_id not in self._sharing:
            self._run.tell(records.TaskWithdrawn(time.time(), task_id))
            if self._shared is not None:
                self._shared.process_waits(task_id, False)
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
        if over and self._shared is not None:
            over = self._book.is_empty()  # until then, a worker may have to be replaced
            if over:
                self._shared.leave()
        if over:
            self._run.tell(records.NoMoreTasks(time.time()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for all calls; after Ctrl-C, stop them."""
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.stop()
        else:
            self.shutdown()

    def stop(self) -> None:
        """Take no more calls, and stop those that run."""
        if any(not future.done() for future in list(self._futures)):
            self._run.tell(records.UserCancel(time.time(), "now"))
        self.shutdown(cancel_futures=True)

    # --- the run, in its own thread ---

    def _manage(self) -> None:
        try:
            self._run.drive(self._observe)
        except BaseException as error:  # such as a full disk; threads that wait for a value are told
            self._error = error
        finally:
            with self._lock:
                self._closed = True
            self._run.close()
            self._book.close(self._error)
            self._tidy_up()

    def _observe(self, batch: Sequence[records.Event | records.Decision]) -> None:
        self._book.observe(batch)
        if self._shared is not None:
            self._shared.observe(batch)

    def _tidy_up(self) -> None:
        if self._shared is not None:
            self._shared.close()
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


# `atexit` is too late: by then no thread can be started. Python's own executors do the same. The last to register ends
# first: that of the run's threads has to end after this.
import_module("concurrent.futures.thread")
threading._register_atexit(_finish_all)  # type: ignore[attr-defined]
