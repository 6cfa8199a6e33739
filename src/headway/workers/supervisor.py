"""The node supervisor: one long-lived process a node, started apart from the manager and outliving it.

`python -m headway.workers.supervisor JOB-FOLDER` reads its order from that folder and listens on a unix socket there.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

from headway import locks
from headway.model.outcome import Outcome
from headway.workers import protocol
from headway.workers.protocol import LOCK, LONGEST_LINE_BYTES, SOCKET, STARTED, SupervisorSettings
from headway.workers.runner import Runner
from headway.workers.trees import ProcessTrees

_HISTORY = "HEADWAY_HISTORY"


class Supervisor:
    """Runs what a manager asks for, remembers what it has not been told is noted, and leaves when nobody needs it."""

    def __init__(self, order: SupervisorSettings, trees: ProcessTrees) -> None:
        self._order = order
        self._trees = trees
        self._stop_signalled = asyncio.Event()  # by a signal: perhaps everything else here was, too
        self._runner = Runner(order, trees, self._stop_signalled)
        self._running: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._unnoted: dict[tuple[str, int], Outcome] = {}
        self._manager: asyncio.StreamWriter | None = None
        self._leaving = asyncio.Event()
        self._something_happened = asyncio.Event()

    async def serve(self, listener: socket.socket) -> None:
        """Work until released, told to stop, or alone and idle for too long."""
        loop = asyncio.get_running_loop()
        for stop_signal in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(stop_signal, self._end)
        server = await asyncio.start_unix_server(self._talk, sock=listener, limit=LONGEST_LINE_BYTES)
        watch = asyncio.create_task(self._leave_when_idle())
        await self._leaving.wait()
        watch.cancel()
        server.close()
        for task, attempt in self._running:
            self._runner.stop(task, attempt)
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        if self._manager is not None:
            self._manager.close()

    def _end(self) -> None:
        self._stop_signalled.set()
        self._leaving.set()

    async def _leave_when_idle(self) -> None:
        while True:
            self._something_happened.clear()
            try:
                await asyncio.wait_for(self._something_happened.wait(), self._order.linger_s)
            except TimeoutError:
                if not self._running and self._manager is None:
                    self._leaving.set()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a manager. The newest one is the one that counts: an older one is dead or about to be."""
        self._manager = writer
        hello = protocol.Hello(self._order.node, os.getpid(), self._trees.method, self._trees.reason)
        self._say(hello)
        for outcome in self._unnoted.values():
            self._say(protocol.Ended(outcome))
        try:
            while line := await reader.readline():
                self._do(protocol.decode_from_manager(line))
        except (ConnectionError, ValueError) as error:  # a broken line is as good as a broken connection
            print(f"lost the manager: {error}", file=sys.stderr)
        finally:
            writer.close()
            if self._manager is writer:
                self._manager = None
            self._something_happened.set()

    def _say(self, message: protocol.Message) -> None:
        if self._manager is not None and not self._manager.is_closing():
            self._manager.write(protocol.encode(message))

    def _do(self, message: protocol.ToSupervisor) -> None:
        match message:
            case protocol.Start():
                self._start(message)
            case protocol.Stop():
                self._runner.stop(message.task, message.attempt)
            case protocol.Noted():
                for task, attempt in message.attempts:
                    self._unnoted.pop((task, attempt), None)
            case protocol.Produced():
                self._runner.sources.add_produced(message.paths)
            case protocol.Leave():
                self._leaving.set()

    def _start(self, start: protocol.Start) -> None:
        key = (start.task.id, start.attempt)
        if key in self._unnoted:
            self._say(protocol.Ended(self._unnoted[key]))
        elif key not in self._running:
            self._running[key] = asyncio.create_task(self._attempt(key, start))

    async def _attempt(self, key: tuple[str, int], start: protocol.Start) -> None:
        try:
            outcome = await self._runner.run(start)
        except Exception as error:  # nothing that the task did: the manager will stop, and ask again when it is resumed
            what, where = (error.strerror, error.filename) if isinstance(error, OSError) else (str(error), None)
            self._say(protocol.Trouble(f"cannot run tasks: {what}", str(where or start.directory)))
        else:
            self._unnoted[key] = outcome
            if not self._stop_signalled.is_set():  # else whoever finds that the job has ended also finds the result
                self._say(protocol.Ended(outcome))
        finally:
            del self._running[key]
            self._something_happened.set()


def take_job(folder: Path) -> int | None:
    """The lock of a job's folder, held while this process lives; None if a twin has or had the job.

    A job is served once. Its mark stays after its supervisor has ended, so that a twin which was slow to start does not
    take up again what is over.
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
    """The socket in the current directory: a relative name, since a unix socket's may have 107 bytes at most."""
    Path(SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(SOCKET)
    Path(SOCKET).chmod(0o600)
    listener.listen()
    return listener


async def supervise(folder: Path) -> None:
    """Be the supervisor of that job."""
    order = SupervisorSettings.read(folder)
    trees = ProcessTrees(method=order.method)
    await trees.start()
    try:
        listener = listen()
        await Supervisor(order, trees).serve(listener)
    finally:
        await trees.close()
        Path(SOCKET).unlink(missing_ok=True)


def main() -> None:
    """Entry point of the supervisor process."""
    folder = Path(sys.argv[1])
    if take_job(folder) is None:
        return
    os.chdir(folder)
    if "://" in os.environ.get(_HISTORY, ""):  # it may hold a password, which is not for tasks
        del os.environ[_HISTORY]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    asyncio.run(supervise(folder))


if __name__ == "__main__":
    main()
