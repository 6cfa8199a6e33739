"""Calls that share processes: which worker makes which call, and what happens to a call whose worker ends.

A worker is a task of the run like any other: the engine sizes it, the supervisor measures and limits it with all its
processes, and if it exceeds its memory it is started again with more. Only the calls themselves do not pass through the
engine. A worker makes one call at a time, and only calls of one category with the same hints.
"""

from __future__ import annotations

import contextlib
import shlex
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

from msgspec import structs

from headway.integrations import shared_worker
from headway.integrations.call_book import CallBook, LogsOf, Printed
from headway.integrations.calls import CallFolder, CallSpec
from headway.integrations.listening import serve, stop
from headway.integrations.shared_groups import Group, SharedCall, Worker
from headway.integrations.shared_worker import Reply, Request
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.records import Decision, Event, GiveUp, TaskEnded, TasksAdded, TaskWithdrawn
from headway.model.resources import describe
from headway.model.task import Task
from headway.workers.short_path import short_path

_CHECK_EVERY_S = 0.1  # for calls that took too long, and for calls that wait for a worker
_TURN_S = 1.0  # a worker that made calls for so long gives way to other categories


class SharedCalls:
    """Passes calls to workers, and asks the run for as many workers as are worth having."""

    def __init__(
        self,
        folder: CallFolder,
        book: CallBook,
        tell: Callable[[Event], bool],
        new_key: Callable[[], str],
        logs_of: LogsOf,
        cores: float,
    ) -> None:
        self._folder = folder
        self._book = book
        self._tell = tell
        self._new_key = new_key
        self._logs_of = logs_of
        self._cores = cores
        self._lock = threading.Condition()  # notified when a worker has hung up
        self._groups: dict[object, Group] = {}
        self._workers: dict[str, Worker] = {}
        self._processes: set[str] = set()  # calls that wait for a process of their own
        self._closed = False
        self._busy = threading.Event()  # set while the clock has something to look after
        self._listener = socket.socket(socket.AF_UNIX)
        with short_path(folder.path, shared_worker.SOCKET) as path:
            self._listener.bind(path)
        self._listener.listen(128)
        serve(self._listener, self._listen, "headway-worker")
        threading.Thread(target=self._watch_clock, name="headway-workers", daemon=True).start()

    # --- calls ---

    def add(self, spec: CallSpec, data: bytes | None, *, is_sent: bool) -> None:
        """Make a call, now or as soon as a worker is free."""
        with self._lock:
            call = SharedCall(spec, Request(spec.key, data, is_sent))
            group = self._group(spec)
            group.put(call)
            self._dispatch(group)
            if group:
                self._busy.set()

    def is_worker(self, task_id: str) -> bool:
        """Whether a task of the run is a worker that is still wanted."""
        return task_id in self._workers

    def process_waits(self, task_id: str, waits: bool) -> None:
        """Take note that a call waits for a process of its own, or no longer does."""
        with self._lock:
            if waits:
                self._processes.add(task_id)
                if self._workers:
                    self._busy.set()
            else:
                self._processes.discard(task_id)

    def function_waits(self, task: str, waits: bool) -> None:
        """Take note that a function waits for calls that it has submitted, or goes on."""
        with self._lock:
            worker = self._workers.get(task)
            if worker is not None:
                worker.waits = waits
                self._dispatch(worker.group)

    def leave(self) -> None:
        """Let all workers end: there are no more calls."""
        with self._lock:
            self._closed = True
            for worker in list(self._workers.values()):
                self._let_go(worker)

    def close(self) -> None:
        """Hang up: the run is over."""
        stop(self._listener)
        with self._lock:
            for worker in self._workers.values():
                _hang_up(worker)
            self._workers.clear()
            self._groups.clear()
        self._busy.set()

    def _group(self, spec: CallSpec) -> Group:
        settings = spec.settings
        amounts = (tuple(sorted(each.items())) for each in (settings.hints, settings.limits))
        kind = (settings.category, *amounts, settings.malleable)
        if kind not in self._groups:
            most = int(self._cores / max(settings.hints.get("cores", 1.0), 0.01))
            self._groups[kind] = Group(spec, max(1, most))
        return self._groups[kind]

    def _dispatch(self, group: Group) -> None:
        """Give waiting calls to free workers, and ask for as many workers as are missing."""
        for worker in group.workers:
            if not group:
                return
            if worker.connection is not None and worker.call is None and not worker.leaves:
                self._next_call(worker)
        for _ in range(group.missing()):
            self._ask_for_worker(group)

    def _next_call(self, worker: Worker) -> None:
        """Give a worker its next call, unless the submitter has cancelled it."""
        while worker.group and worker.call is None and not worker.leaves:
            call = worker.group.pop()
            if self._book.may_start(call.spec.task_id):
                worker.call = call
                self._send(worker)

    def _send(self, worker: Worker) -> None:
        call, connection = worker.call, worker.connection
        if call is not None and connection is not None:
            call.began_s = time.monotonic()
            if call.limit_s is not None:
                self._busy.set()
            try:
                shared_worker.send(connection, call.request)
            except OSError:  # the worker has died before this call; the run will say how
                worker.call, worker.leaves = None, True
                worker.group.put(call)

    # --- workers ---

    def _ask_for_worker(self, group: Group) -> None:
        settings = group.spec.settings
        category = f"{settings.category}.worker"
        task_id = f"{category}[{self._new_key()}]"
        argv = [sys.executable, "-P", "-m", shared_worker.__name__, str(self._folder.path), task_id]
        worker = self._workers[task_id] = Worker(task_id, group)
        group.workers.append(worker)
        task = Task(
            id=task_id,
            category=category,
            command=f"exec {shlex.join(argv)}",
            environment=self._folder.environment,
            priority=settings.priority,
            hints=_of_a_worker(settings.hints),
            malleable=settings.malleable,
            limits=_of_a_worker(settings.limits),
        )
        self._tell(TasksAdded(time.time(), [task]))

    def _let_go(self, worker: Worker) -> None:
        """Let a worker end after its call; one that has not begun is not wanted any more."""
        worker.leaves = True
        if worker.call is not None:
            return
        if worker.connection is not None:
            with contextlib.suppress(OSError):
                worker.connection.shutdown(socket.SHUT_WR)
        else:
            self._tell(TaskWithdrawn(time.time(), worker.task))
            self._drop(worker)

    def _listen(self, connection: socket.socket) -> None:
        """Talk to one worker until it hangs up."""
        with connection, contextlib.suppress(OSError):
            hello = shared_worker.receive(connection)
            worker = self._greet(connection, *cast(tuple[str, int], hello)) if hello else None
            if worker is None:  # it is not wanted any more
                return
            try:
                while (answer := shared_worker.receive(connection)) is not None:
                    self._answered(worker, Reply(*answer))  # type: ignore[arg-type]
            finally:
                self._hung_up(worker)

    def _greet(self, connection: socket.socket, task: str, attempt: int) -> Worker | None:
        with self._lock:
            worker = self._workers.get(task)
            if worker is None:
                return None
            while worker.connection is not None:  # all that its last attempt has said must be heard first
                self._lock.wait()
            worker.connection, worker.attempt, worker.connected_s = connection, attempt, time.monotonic()
            worker.printed, worker.waits, worker.timed_out = (0, 0), False, False
            if worker.call is not None:
                self._send(worker)
            elif worker.leaves:
                self._let_go(worker)
            else:
                self._next_call(worker)
            return worker

    def _hung_up(self, worker: Worker) -> None:
        """Take note of a worker's last word; then what the run says of its end counts."""
        with self._lock:
            worker.connection = None
            self._lock.notify_all()
            records, worker.unheard = worker.unheard, []
            for record in records:
                self._take_note(worker, record)

    def _answered(self, worker: Worker, reply: Reply) -> None:
        """Give the worker its next call at once, then tell what became of the last one."""
        with self._lock:
            call, worker.call = worker.call, None
            printed = self._printed(worker, reply.printed)
            if call is None:
                return
            worker.leaves = worker.leaves or reply.leaves
            again = not reply.succeeded and call.failures < call.spec.settings.retries
            if again:
                self._again(worker.group, call)
            if not worker.leaves:
                self._next_call(worker)
            elif not reply.leaves:
                self._let_go(worker)
            if worker.leaves:
                self._dispatch(worker.group)
        if not again:
            outcome = _outcome(call, reply)
            self._book.made(call.spec.task_id, outcome, reply.data, printed, "it raised an exception")

    def _printed(self, worker: Worker, sizes: tuple[int, int]) -> Sequence[Printed]:
        before, worker.printed = worker.printed, sizes
        if sizes == before:
            return ()
        files: Iterable[Path] = self._logs_of(worker.task, worker.attempt) or ()
        return [Printed(*part) for part in zip(files, before, sizes, strict=False)]

    def _again(self, group: Group, call: SharedCall) -> None:
        call.attempt += 1
        call.failures += 1
        group.put(call)

    # --- what the run says of workers ---

    def observe(self, batch: Sequence[Event | Decision]) -> None:
        """Take note of workers that have ended. The run's driver calls this."""
        for record in batch:
            if isinstance(record, TaskEnded | GiveUp):
                task = record.task if isinstance(record, GiveUp) else record.outcome.task
                with self._lock:
                    worker = self._workers.get(task)
                    if worker is None:
                        continue
                    if worker.connection is None:
                        self._take_note(worker, record)
                    else:  # an answer may be under way, and counts
                        worker.unheard.append(record)
                        _hang_up(worker)

    def _take_note(self, worker: Worker, record: TaskEnded | GiveUp) -> None:
        if isinstance(record, GiveUp):
            self._worker_given_up(worker, record.why.text)
        else:
            self._worker_ended(worker, record.outcome)

    def _worker_ended(self, worker: Worker, outcome: Outcome) -> None:
        """An attempt of a worker has ended. What the engine repeats makes the same call first."""
        worker.last = outcome
        match outcome.ending:
            case Ending.SUCCESS:
                self._forget(worker, outcome, "its process ended without a value")
            case Ending.CANCELLED if worker.timed_out and worker.call is not None:
                allowed = describe("walltime_s", worker.call.limit_s or 0.0)
                text = f"it used up the {allowed} that 'limit' allows; raise that if it should get more"
                self._forget(worker, structs.replace(outcome, ending=Ending.TIME), text)
            case Ending.CANCELLED if worker.call is None:
                self._forget(worker, outcome, "")
            case _ if worker.call is not None:
                worker.call.attempt += 1  # unless the engine gives the worker up
                self._busy.set()

    def _worker_given_up(self, worker: Worker, text: str) -> None:
        """A worker failed for good, and so does its call.

        If it could not even begin, the others have to do; without others, the first call that waits has failed.
        """
        group, outcome = worker.group, worker.last
        if not worker.attempt and worker.call is None:
            outcome = None
            group.most = max(1, len(group.workers) - 1)
            if group and not any(each.connection for each in group.workers):
                worker.call = group.pop()
        elif worker.call is not None and outcome is not None:
            worker.call.attempt -= 1
            if outcome.ending.exhausted is None and worker.call.failures < worker.call.spec.settings.retries:
                self._again(group, worker.call)
                worker.call = None
        now = time.time()
        self._forget(worker, outcome or Outcome(worker.task, 0, Ending.LAUNCH_FAILED, now, now), text)

    def _forget(self, worker: Worker, outcome: Outcome, text: str) -> None:
        """Drop a worker that has ended; if it still had a call, that call has failed."""
        self._drop(worker)
        call = worker.call
        if call is not None:
            ending = Ending.LAUNCH_FAILED if outcome.ending is Ending.SUCCESS else outcome.ending
            ended = structs.replace(outcome, task=call.spec.task_id, attempt=call.attempt, ending=ending)
            logs = self._logs_of(worker.task, worker.attempt) or ()
            printed = [Printed(*part) for part in zip(logs, worker.printed, strict=False)]
            self._book.made(call.spec.task_id, ended, None, printed, text)
        self._dispatch(worker.group)

    def _drop(self, worker: Worker) -> None:
        del self._workers[worker.task]
        worker.group.workers.remove(worker)

    # --- the clock ---

    def _watch_clock(self) -> None:
        while True:
            self._busy.wait()
            time.sleep(_CHECK_EVERY_S)
            with self._lock:
                if not self._workers and self._closed:
                    return
                timed = self._stop_overdue()
                starving = bool(self._processes) or any(group.is_starving() for group in self._groups.values())
                if starving:
                    self._make_room()
                if not timed and not starving:
                    self._busy.clear()

    def _stop_overdue(self) -> bool:
        """End the workers whose calls took longer than they may; return whether there are calls to look after."""
        now_s = time.monotonic()
        timed = [
            worker
            for worker in self._workers.values()
            if worker.call is not None and worker.connection is not None and worker.call.limit_s is not None
        ]
        for worker in timed:
            call = worker.call
            if call is not None and not worker.timed_out and now_s > call.began_s + (call.limit_s or 0.0):
                worker.timed_out = worker.leaves = True
                self._tell(TaskWithdrawn(time.time(), worker.task))
        return bool(timed)

    def _make_room(self) -> None:
        """Let one worker go that is idle, or whose turn is over: calls that it cannot make wait for room."""
        now_s = time.monotonic()
        held = [worker for worker in self._workers.values() if not worker.leaves and not worker.group.is_starving()]
        idle = [worker for worker in held if worker.call is None and not worker.group]
        past = [worker for worker in held if worker.connection and now_s > worker.connected_s + _TURN_S]
        for worker in [*idle, *past][:1]:
            self._let_go(worker)
            self._dispatch(worker.group)  # a worker that is asked for now has its turn after those that wait


def _of_a_worker(amounts: Mapping[str, float]) -> dict[str, float]:
    """Return what holds for a worker, too: all but the time, which is that of one call."""
    return {name: amount for name, amount in amounts.items() if name != "walltime_s"}


def _hang_up(worker: Worker) -> None:
    """End the connection; what was sent before can still be read."""
    if worker.connection is not None:
        with contextlib.suppress(OSError):
            worker.connection.shutdown(socket.SHUT_RDWR)


def _outcome(call: SharedCall, reply: Reply) -> Outcome:
    """Return how a call ended that its worker has survived."""
    exact, cpu_s = Quality.EXACT, reply.cpu_s
    quality = Quality.SAMPLED if reply.peak_is_own else Quality.UPPER_BOUND
    if reply.started_processes:
        quality = Quality.LOWER_BOUND
    usage = Usage(
        wall_s=Measured(reply.wall_s, exact),
        cpu_s=Measured(cpu_s, exact),
        memory_bytes=Measured(reply.memory_bytes, quality),
        cores_average=Measured(cpu_s / reply.wall_s, exact) if reply.wall_s else None,
        method="shared",
    )
    return Outcome(
        task=call.spec.task_id,
        attempt=call.attempt,
        ending=Ending.SUCCESS if reply.succeeded else Ending.EXIT_CODE,
        started_at=reply.started_at,
        ended_at=reply.started_at + reply.wall_s,
        usage=usage,
        exit_code=0 if reply.succeeded else 1,
    )
