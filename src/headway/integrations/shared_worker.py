"""A process that makes one call after the other: `python -P -m headway.integrations.shared_worker FOLDER TASK`.

It connects to its executor's socket in the folder of calls, says which task of the run it is, and then answers each
call with the value or the error and with what the call used.
"""

from __future__ import annotations

import gc
import io
import marshal
import os
import resource
import socket
import sys
import time
from _pickle import load
from typing import Any, NamedTuple

from headway.integrations.call import CallUnpickler, described, pickled, write
from headway.peers import connect

SOCKET = "workers"  # in the folder of calls
MOST_SENT_BYTES = 64 * 1024  # larger calls and values are files
_LENGTH_BYTES = 8
_MEMORY = (b"VmHWM:", b"RssAnon:", b"RssFile:", b"RssShmem:")
# Memory that a call leaves behind: beyond this, and beyond twice what the process had after its first call, the process
# makes no further call.
_MAY_STAY_BYTES = 64 * 1024 * 1024


class Request(NamedTuple):
    """A call to make; without `data` it is a file, and so is its value."""

    key: str
    data: bytes | None
    is_sent: bool  # small values are sent, too


class Reply(NamedTuple):
    """The value of a call, or the error if it raised one, unless they are files; and what it used."""

    succeeded: bool
    data: bytes | None
    started_at: float
    wall_s: float
    cpu_s: float
    memory_bytes: int  # the peak of this process, without file pages
    peak_is_own: bool  # and not, perhaps, that of an earlier call
    started_processes: bool  # whose memory is not counted
    printed: tuple[int, int]  # the sizes of standard output and standard error now
    leaves: bool  # this process makes no further call


def send(connection: socket.socket, message: tuple[Any, ...]) -> None:
    """Send a message, whole."""
    data = marshal.dumps(tuple(message))
    connection.sendall(len(data).to_bytes(_LENGTH_BYTES, "little") + data)


def receive(connection: socket.socket) -> tuple[object, ...] | None:
    """Wait for a message; None if the other side has hung up."""
    head = _receive_bytes(connection, _LENGTH_BYTES)
    data = _receive_bytes(connection, int.from_bytes(head, "little")) if head else None
    return marshal.loads(data) if data else None  # noqa: S302 - a private socket between our own processes


def _receive_bytes(connection: socket.socket, count: int) -> bytes | None:
    received = connection.recv(count, socket.MSG_WAITALL)
    while 0 < len(received) < count:  # a signal came in between
        more = connection.recv(count - len(received), socket.MSG_WAITALL)
        if not more:
            return None
        received += more
    return received or None


class Worker:
    """Makes calls and measures each of them."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._usual_bytes = 0  # what this process holds after its first call

    def make(self, request: Request) -> Reply:
        """Make a call."""
        peak_is_own = _reset_peak()
        started_at, began = time.time(), time.perf_counter()
        self_before, children_before = _cpu_s(resource.RUSAGE_SELF), _cpu_s(resource.RUSAGE_CHILDREN)
        succeeded, data = self._answer(request)
        children_s = _cpu_s(resource.RUSAGE_CHILDREN) - children_before
        cpu_s = _cpu_s(resource.RUSAGE_SELF) - self_before + children_s
        wall_s = time.perf_counter() - began
        left = _has_children()
        peak_bytes, held_bytes = _memory()
        is_sent = request.is_sent and len(data) <= MOST_SENT_BYTES
        if not is_sent:
            write(os.path.join(self._folder, f"{request.key}.{'value' if succeeded else 'error'}"), data)
        return Reply(
            succeeded=succeeded,
            data=data if is_sent else None,
            started_at=started_at,
            wall_s=wall_s,
            cpu_s=cpu_s,
            memory_bytes=peak_bytes,
            peak_is_own=peak_is_own,
            started_processes=left or children_s > 0,
            printed=_printed(),
            leaves=left or self._keeps_memory(held_bytes),
        )

    def _answer(self, request: Request) -> tuple[bool, bytes]:
        """Return whether the call succeeded, and its value or its error."""
        try:
            with self._open(request) as file:
                directory, path = load(file)
                os.chdir(directory)
                if sys.path != path:
                    sys.path[:] = path
                function, args, kwargs = CallUnpickler(file, self._folder).load()
            return True, pickled(function(*args, **kwargs))
        except BaseException as error:
            return False, described(error)

    def _open(self, request: Request) -> io.BytesIO | io.BufferedReader:
        if request.data is not None:
            return io.BytesIO(request.data)
        base = os.path.join(self._folder, request.key)
        if os.path.exists(f"{base}.error"):  # of an earlier attempt
            os.unlink(f"{base}.error")
        return open(f"{base}.call", "rb")

    def _keeps_memory(self, held_bytes: int) -> bool:
        """Whether calls have left so much memory behind that a new process should make the next one."""
        if not self._usual_bytes:
            self._usual_bytes = held_bytes
        most_bytes = 2 * self._usual_bytes + _MAY_STAY_BYTES
        if held_bytes <= most_bytes:
            return False
        gc.collect()
        return _memory()[1] > most_bytes


def _cpu_s(whose: int) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def _reset_peak() -> bool:
    """Let the kernel forget the highest memory so far; return False where it does not."""
    try:
        fd = os.open("/proc/self/clear_refs", os.O_WRONLY)
        try:
            os.write(fd, b"5")
        finally:
            os.close(fd)
    except OSError:  # some kernels and containers do not offer this file
        return False
    return True


def _memory() -> tuple[int, int]:
    """Return the highest memory since it was reset, and the memory now, without file pages."""
    found = dict.fromkeys(_MEMORY, 0)
    fd = os.open("/proc/self/status", os.O_RDONLY)
    try:
        for line in os.read(fd, 1 << 14).splitlines():
            name, _, rest = line.partition(b"\t")
            if name in found:
                found[name] = int(rest.split()[0]) * 1024
    finally:
        os.close(fd)
    peak, anonymous, files, shared = found.values()
    return max(peak - files, anonymous + shared), anonymous + shared


def _has_children() -> bool:
    """Whether a call has left a process behind; it ends with this one."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def _printed() -> tuple[int, int]:
    """Flush what was printed; return the sizes of the files."""
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        return os.fstat(1).st_size, os.fstat(2).st_size
    except (OSError, ValueError, AttributeError):  # a function closed or replaced one of them
        return 0, 0


def main(folder: str, task: str) -> None:
    """Make calls until the executor has no more, or has ended."""
    connection = socket.socket(socket.AF_UNIX)
    connect(connection, folder, SOCKET, check_above=False)
    send(connection, (task, int(os.environ["HEADWAY_TRY"])))
    worker = Worker(folder)
    while request := receive(connection):
        reply = worker.make(Request(*request))  # type: ignore[arg-type]
        send(connection, reply)
        if reply.leaves:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
