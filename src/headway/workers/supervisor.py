"""The node supervisor: one long-lived process on each node. It is started apart from the manager and outlives it.

`python -m headway.workers.supervisor FOLDER` reads its settings from that folder and listens on a unix socket there. It
logs to its standard error, which the starter redirects to a file in the job's folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import signal
import socket
import sys
import time
from pathlib import Path

from headway import locks
from headway.crash_points import crash_point
from headway.log_setup import LEVEL_VARIABLE, set_up_logging
from headway.model.errors import HeadwayError, is_disk_full
from headway.model.outcome import Ending, Outcome
from headway.workers import protocol
from headway.workers.gpus import Found, find_devices
from headway.workers.protocol import LOCK, LONGEST_LINE_BYTES, SOCKET, STARTED, SupervisorSettings
from headway.workers.runner import Runner
from headway.workers.trees import ProcessTrees

_HISTORY = "HEADWAY_HISTORY"
_SIGNAL_AGAIN_S = 0.02

_log = logging.getLogger("headway.workers.supervisor")  # this module runs as __main__


class Supervisor:
    """Runs the attempts that a manager asks for, and repeats each outcome until a manager acknowledges it."""

    def __init__(self, settings: SupervisorSettings, trees: ProcessTrees, gpus: Found) -> None:
        self._settings = settings
        self._gpus = gpus
        self._trees = trees
        self._stop_signalled = asyncio.Event()  # the batch system may have signalled the tasks as well
        self._runner = Runner(settings, trees, self._stop_signalled, gpus)
        self._running: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._signalling: set[asyncio.Task[None]] = set()
        self._unacknowledged: dict[tuple[str, int], Outcome] = {}
        self._manager: asyncio.StreamWriter | None = None
        self._leaving = asyncio.Event()
        self._activity = asyncio.Event()
        self._idle_since_s = 0.0  # by the loop's clock: the last sign of a manager, or the end of the last attempt

    async def serve(self, listener: socket.socket) -> None:
        """Serve managers until told to end, or until there was no manager and no work for `linger_s`."""
        loop = asyncio.get_running_loop()
        for stop_signal in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(stop_signal, self._end_by_signal)
        server = await asyncio.start_unix_server(self._serve_manager, sock=listener, limit=LONGEST_LINE_BYTES)
        watch = asyncio.create_task(self._leave_when_idle())
        await self._leaving.wait()
        watch.cancel()
        server.close()
        for task, attempt in self._running:
            self._runner.stop(task, attempt)
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        if self._manager is not None:
            self._manager.close()
        _log.info("ended")

    def _end_by_signal(self) -> None:
        _log.info("told to end by a signal, with %d attempts running", len(self._running))
        self._stop_signalled.set()
        self._leaving.set()

    async def _leave_when_idle(self) -> None:
        loop = asyncio.get_running_loop()
        self._note_activity(loop.time())
        while not self._leaving.is_set():
            self._activity.clear()
            is_idle = not self._running and self._manager is None
            left_s = self._idle_since_s + self._settings.linger_s - loop.time() if is_idle else math.inf
            if left_s <= 0.0:
                _log.info("no manager and no work for %g s: leaving", self._settings.linger_s)
                self._leaving.set()
                return
            with contextlib.suppress(TimeoutError):
                # A pause that is too short for the clock would be repeated for ever.
                await asyncio.wait_for(self._activity.wait(), None if left_s == math.inf else max(left_s, 0.01))

    def _note_activity(self, at_s: float) -> None:
        self._idle_since_s = max(self._idle_since_s, at_s)
        self._activity.set()

    async def _serve_manager(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection. Messages go to the newest one only: the manager of an older one is gone."""
        self._manager, loop = writer, asyncio.get_running_loop()
        silent_s = 0.0  # how long it was silent before its connection ended
        _log.info("a manager connected; %d outcomes are not acknowledged", len(self._unacknowledged))
        about = (self._settings.node, os.getpid(), self._trees.method, self._trees.reason)
        self._send(protocol.Hello(*about, self._gpus.devices))
        for outcome in self._unacknowledged.values():
            self._send(protocol.Ended(outcome))
        try:
            while line := await reader.readline():
                message = protocol.decode_from_manager(line)
                if isinstance(message, protocol.Silent):
                    silent_s = message.for_s
                else:
                    self._handle(message)
        except (ConnectionError, ValueError) as error:  # an invalid line ends the connection, too
            _log.warning("lost the manager: %s", error)
        else:
            _log.info("the manager disconnected")
        finally:
            writer.close()
            if self._manager is writer:
                self._manager = None
                self._note_activity(loop.time() - silent_s)

    def _send(self, message: protocol.Message) -> None:
        if self._manager is not None and not self._manager.is_closing():
            self._manager.write(protocol.encode(message))

    def _handle(self, message: protocol.ToSupervisor) -> None:
        match message:
            case protocol.Start():
                self._start(message)
            case protocol.Stop():
                self._runner.stop(message.task, message.attempt)
            case protocol.Signal() | protocol.GiveNotice():
                signalling = asyncio.create_task(self._signal(message))
                self._signalling.add(signalling)
                signalling.add_done_callback(self._signalling.discard)
            case protocol.Noted():
                for task, attempt in message.attempts:
                    self._unacknowledged.pop((task, attempt), None)
            case protocol.Produced():
                self._runner.sources.add_produced(message.paths)
            case protocol.Leave():
                _log.info("the manager has no more work: leaving")
                self._leaving.set()

    def _start(self, start: protocol.Start) -> None:
        key = (start.task.id, start.attempt)
        if key in self._unacknowledged:
            self._send(protocol.Ended(self._unacknowledged[key]))
        elif key not in self._running:
            self._running[key] = asyncio.create_task(self._attempt(key, start))

    async def _signal(self, message: protocol.Signal | protocol.GiveNotice) -> None:
        """Send a signal to an attempt, as soon as it has processes, or give it notice, as soon as its command runs."""
        while (message.task, message.attempt) in self._running and not self._runner.tell(message):
            await asyncio.sleep(_SIGNAL_AGAIN_S)

    async def _attempt(self, key: tuple[str, int], start: protocol.Start) -> None:
        _log.info("attempt %s/%d starts", *key)
        loop = asyncio.get_running_loop()
        try:
            outcome = await self._runner.run(start)
        except Exception as error:  # no fault of the task: the manager stops, and starts it again when it is resumed
            _log.exception("attempt %s/%d could not be run", *key)
            what, where, todo = _in_words(error)
            text, place = f"cannot run tasks: {what}", str(where or start.directory)
            if start.task.work is None:
                self._send(protocol.Trouble(text, place, todo, is_disk_full(error)))
                if self._runner.own_folder.is_deleted:
                    self._leaving.set()
            else:  # the trouble of one of a pool's workflows, perhaps of its directory
                now = time.time()
                failed = Outcome(*key, Ending.LAUNCH_FAILED, now, now, message=f"{place}: {text}")
                self._unacknowledged[key] = failed
                self._send(protocol.Ended(failed))
        else:
            _log.info("attempt %s/%d ended: %s %s", *key, outcome.ending.value, outcome.message)
            self._unacknowledged[key] = outcome
            if not self._stop_signalled.is_set():  # otherwise the manager reads the result from disk when the job ends
                self._send(protocol.Ended(outcome))
            crash_point("reported")
        finally:
            del self._running[key]
            self._note_activity(loop.time())


def _in_words(error: Exception) -> tuple[str | None, str | None, str]:
    """Return what is wrong, where, and what to do, as far as the error says it."""
    if isinstance(error, HeadwayError):
        return error.what, error.where, error.todo
    return (error.strerror, error.filename, "") if isinstance(error, OSError) else (str(error), None, "")


def take_job(folder: Path) -> int | None:
    """Lock a job's folder while this process lives; None if another supervisor has or had the job.

    A job is served once. The file STARTED stays after its supervisor has ended, so that a supervisor that was slow to
    start does not take up a job that is over.
    """
    handle = locks.take(folder / LOCK, str(os.getpid()))
    if handle is None:
        return None
    try:
        os.close(os.open(folder / STARTED, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        os.close(handle)
        return None
    return handle


def listen() -> socket.socket:
    """Listen on the socket in the current directory, by a relative name: its path is limited to 107 bytes."""
    Path(SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(SOCKET)
    Path(SOCKET).chmod(0o600)
    listener.listen()
    return listener


async def supervise(folder: Path) -> None:
    """Be the supervisor of the job in this folder."""
    settings = SupervisorSettings.read(folder)
    trees = ProcessTrees(method=settings.method, marker=f"{settings.uid}/")
    await trees.start()
    about = (settings.tag, settings.node, os.getpid(), trees.method, trees.reason)
    _log.info("supervising job %s on %s as process %d; tasks are measured by %s (%s)", *about)
    gpus = await asyncio.to_thread(find_devices)
    if gpus.trouble:
        _log.warning("%s", gpus.trouble)
    try:
        listener = listen()
        await Supervisor(settings, trees, gpus).serve(listener)
    finally:
        await trees.close()
        Path(SOCKET).unlink(missing_ok=True)


def main() -> None:
    """Entry point of the supervisor process."""
    folder = Path(sys.argv[1])
    set_up_logging()
    os.environ.pop(LEVEL_VARIABLE, None)  # tasks inherit this environment, and the level is not meant for them
    if take_job(folder) is None:
        _log.info("another supervisor has or had this job")
        return
    os.chdir(folder)
    if "://" in os.environ.get(_HISTORY, ""):  # the URL can hold a password, which tasks must not see
        del os.environ[_HISTORY]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    asyncio.run(supervise(folder))


if __name__ == "__main__":
    main()
