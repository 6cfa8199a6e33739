"""The spawner: a small process that starts commands for the node supervisor and reaps them.

It runs as a script, `python -I -S spawner.py <fd>`. It is a process of its own for two reasons:

- `ru_maxrss` survives exec: a command forked from a supervisor of 200 MB reports at least 200 MB. Forked from here it
  reports about 5 MB, so that the figure describes the command.
- fork copies page tables: from here it takes a fraction of a millisecond, however large the supervisor is.

Therefore this file imports very little: not `logging`, and not even `signal` (which imports `enum`).

It talks to the supervisor over one inherited socket, in length-prefixed `marshal` messages. That is safe since the
socket is private and both ends run the same interpreter. Texts are sent as bytes, so that they do not depend on the
locale.

Before it reaps a command it notes on disk how the command ended (`end_note`). When the supervisor ends, the socket is
closed. The spawner then waits for the commands that still run, so that their ends are noted too, and exits.
"""

import _signal  # type: ignore[import-not-found]  # wrapped by `signal`, which needs a megabyte more for `enum`
import marshal
import os
import select
import sys
import time

# Requests: (token, argv, changes of the environment, directory, stdout, stderr, cgroup.procs files to enter, the file
# in which the end is noted, or nothing).
Request = tuple[int, list[bytes], dict[bytes, bytes | None], bytes, bytes, bytes, list[bytes], bytes]
# Replies: (0, READY, floor bytes), (token, STARTED, pid, time), (token, FAILED, reason, errno or 0) and
# (token, ENDED, time, wait status, CPU seconds, ru_maxrss bytes, alone). Times are CLOCK_MONOTONIC in both processes.
READY, STARTED, FAILED, ENDED = "ready", "started", "failed", "ended"

_LENGTH_BYTES = 4
_REASON_BYTES = 1000  # a reason with its prefix must fit into one atomic write to a pipe (4096 bytes)
_NOT_LAUNCHED = 127
# In /proc/<pid>/stat after the command's name: minor page faults of reaped children; clock ticks of CPU time.
_CHILD_FAULTS_FIELD = 8
_CPU_FIELDS = slice(11, 15)
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def pack(message: Request | tuple[int | float | str | bool, ...]) -> bytes:
    """Encode one message."""
    body = marshal.dumps(message)
    return len(body).to_bytes(_LENGTH_BYTES, "little") + body


def unpack(received: bytearray) -> list[tuple[object, ...]]:
    """Decode all whole messages at the front of `received` and remove them from it."""
    messages = []
    start = 0
    while len(received) - start >= _LENGTH_BYTES:
        body = start + _LENGTH_BYTES
        end = body + int.from_bytes(received[start:body], "little")
        if len(received) < end:
            break
        messages.append(marshal.loads(received[body:end]))  # noqa: S302 - a private socket between our own processes
        start = end
    del received[:start]
    return messages


def create_note(path: bytes, text: bytes) -> None:
    """Create a file with one short text, as open to others as its folder is; without effect if there is one."""
    try:
        mode = os.stat(os.path.dirname(path)).st_mode & 0o660
        note = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except OSError:  # there is one, the disk is full, or the command has removed its folder
        return
    try:
        os.write(note, text)
    except OSError:
        pass
    finally:
        os.close(note)


def _crash_point(name: str) -> None:
    """Do nothing; tests put `headway.crash_points` in its place."""


class Spawner:
    """Forks on request and reports what ended. Its one thread has one poll loop, which never waits for a command."""

    def __init__(self, channel: int) -> None:
        self._channel = channel
        os.set_inheritable(channel, False)  # commands must not hold it open
        self._environment = dict(os.environb)  # the supervisor's own
        self._running: dict[int, tuple[int, float, bytes]] = {}  # by pid: token, start, file for the note
        self._supervised = True
        self._inbox = bytearray()
        self._outbox = bytearray()
        # A child writes to this pipe why it could not execute its command. One pipe serves all children: a reason is
        # one atomic write, and is in the pipe before the child can be reaped. So the spawner never waits for an exec.
        self._reasons, self._reason_entry = os.pipe()
        os.set_blocking(self._reasons, False)
        self._given_reasons: dict[int, tuple[str, int]] = {}
        self._news, self._news_entry = os.pipe()  # SIGCHLD arrives here
        os.set_blocking(self._news, False)
        os.set_blocking(self._news_entry, False)

    def serve(self) -> None:
        """Serve requests until the supervisor closes the socket and the last command has ended."""
        _clean_signals()
        _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)  # the supervisor may be gone; `_become` undoes it
        _signal.set_wakeup_fd(self._news_entry, warn_on_full_buffer=False)
        _signal.signal(_signal.SIGCHLD, lambda *_: None)
        self._outbox += pack((0, READY, self._floor_bytes()))
        poller = select.poll()
        poller.register(self._channel, select.POLLIN)
        poller.register(self._news, select.POLLIN)
        while self._supervised or self._running:
            self._send()
            ready = {fd for fd, _ in poller.poll()}
            if self._news in ready:
                os.read(self._news, 4096)
            if self._channel in ready:
                self._receive()
                if not self._supervised:
                    poller.unregister(self._channel)
            self._reap()

    def _receive(self) -> None:
        try:
            received = os.read(self._channel, 1 << 16)
        except ConnectionResetError:  # the supervisor died and left replies unread
            received = b""
        self._supervised = bool(received)
        self._inbox += received
        for request in unpack(self._inbox):
            self._start(request)  # type: ignore[arg-type]

    def _floor_bytes(self) -> int:
        """Measure the `ru_maxrss` of a child just before exec: smaller peaks of commands cannot be seen."""
        pid = os.fork()
        if pid == 0:
            self._become((0, [b"/"], {}, b"/", b"/dev/null", b"/dev/null", [], b""))  # a folder cannot be executed
        usage = os.wait4(pid, 0)[2]
        self._reason(0)
        return usage.ru_maxrss * 1024

    def _send(self) -> None:
        try:
            while self._outbox and self._supervised:
                sent = os.write(self._channel, self._outbox)
                del self._outbox[:sent]
                _crash_point("told")
        except (BrokenPipeError, ConnectionResetError):  # the supervisor is gone, as the next read will say
            self._outbox.clear()

    def _start(self, request: Request) -> None:
        token = request[0]
        now_s = time.monotonic()  # before the fork: a quick child can end before fork returns in the parent
        try:
            pid = os.fork()
        except OSError as error:  # the user's limit on processes is reached, or there is no memory
            self._outbox += pack((token, FAILED, f"cannot start another process: {error.strerror}", 0))
            return
        if pid == 0:
            self._become(request)
        self._running[pid] = (token, now_s, request[-1])
        _crash_point("forked")
        self._outbox += pack((token, STARTED, pid, now_s))

    def _become(self, request: Request) -> None:
        """In the child: execute the command, or report why that failed. Never returns."""
        token, argv, changes, directory, stdout, stderr, groups, _ = request
        doing = b"cannot begin"
        try:
            _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
            os.setsid()
            for group in groups:
                doing = b"cannot enter the cgroup " + os.path.dirname(group)
                entry = os.open(group, os.O_WRONLY)
                os.write(entry, b"0")
                os.close(entry)
            doing = b"cannot start in " + directory
            os.chdir(directory)
            doing = b"cannot read /dev/null"
            os.dup2(os.open(b"/dev/null", os.O_RDONLY), 0)
            for path, fd in ((stdout, 1), (stderr, 2)):
                doing = b"cannot write to " + path
                mode = os.stat(os.path.dirname(path)).st_mode & 0o660  # open to a group if its folder is
                # For appending: stdout and stderr can be one file, or be truncated meanwhile.
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, mode), fd)
            doing = b"cannot run " + (argv[0] if argv else b"an empty command")
            variables = {name: text for name, text in (self._environment | changes).items() if text is not None}
            os.execvpe(argv[0], argv, variables)  # noqa: S606 - no shell is the point
        except BaseException as error:  # this process must end here in any case
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            text = f"{os.fsdecode(doing)}: {why}".encode(errors="replace")[:_REASON_BYTES].decode(errors="ignore")
            number = (error.errno or 0) if isinstance(error, OSError) else 0
            os.write(self._reason_entry, pack((token, text, number)))
        finally:
            os._exit(_NOT_LAUNCHED)

    def _reap(self) -> None:
        while self._running:
            waitable = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if waitable is None:
                return
            token, started_s, note = self._running[waitable.si_pid]
            now_s = time.monotonic()
            failure = self._reason(token) if _status(waitable) == _NOT_LAUNCHED << 8 else None
            fields = _stat(waitable.si_pid)
            if note and failure is None:  # while it is not reaped, its end cannot be lost: our parent would inherit it
                _note(note, _status(waitable), started_s, now_s, fields)
            _crash_point("noted")
            alone = fields[_CHILD_FAULTS_FIELD : _CHILD_FAULTS_FIELD + 1] == [b"0"]
            pid, status, usage = os.wait4(waitable.si_pid, 0)
            del self._running[pid]
            _crash_point("reaped")
            if failure is not None:
                self._outbox += pack((token, FAILED, *failure))
                continue
            cpu_s = usage.ru_utime + usage.ru_stime
            self._outbox += pack((token, ENDED, now_s, status, cpu_s, usage.ru_maxrss * 1024, alone))

    def _reason(self, token: int) -> tuple[str, int] | None:
        """Return why a command could not be executed, with the errno; None if it was."""
        try:
            received = bytearray(os.read(self._reasons, 1 << 16))
        except BlockingIOError:
            received = bytearray()
        for failed, reason, number in unpack(received):
            self._given_reasons[failed] = (reason, number)  # type: ignore[index,assignment]
        return self._given_reasons.pop(token, None)


def _clean_signals() -> None:
    """Reset all signals to their defaults and unblock them, so that commands start so, too.

    Ignored signals survive exec, handlers do not. Python itself ignores SIGPIPE and SIGXFSZ; nohup ignores SIGHUP.
    """
    for number in _signal.valid_signals() - {_signal.SIGKILL, _signal.SIGSTOP}:
        if _signal.getsignal(number) is not None:  # None: reserved by the C library
            _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())


def _status(waitable: os.waitid_result) -> int:
    """Return the wait status of a process that has ended and is not reaped yet."""
    if waitable.si_code == os.CLD_EXITED:
        return waitable.si_status << 8
    return waitable.si_status | (0x80 if waitable.si_code == os.CLD_DUMPED else 0)


def _stat(pid: int) -> list[bytes]:
    """Return the fields of /proc/<pid>/stat after the command's name.

    A process that has waited for no child has a child fault count of 0, and its `ru_maxrss` is the tree's: every child
    causes page faults, and reaping it adds them to its parent's count.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as stat:
            return stat.read(4096).rpartition(b")")[2].split()
    except OSError:
        return []


def _note(path: bytes, status: int, started_s: float, ended_s: float, fields: list[bytes]) -> None:
    """Note on disk how a command ended; times are converted to seconds since the epoch."""
    since_epoch_s = time.time() - time.monotonic()
    cpu_s = sum(map(int, fields[_CPU_FIELDS])) / _TICKS_PER_S
    create_note(path, f"{status} {started_s + since_epoch_s:.6f} {ended_s + since_epoch_s:.6f} {cpu_s:.2f}\n".encode())


if __name__ == "__main__":
    if "HEADWAY_CRASH" in os.environ:
        sys.path.append(os.path.abspath(f"{__file__}/../../.."))
        from crash_points import crash_point as _crash_point  # type: ignore[import-not-found,no-redef]
    Spawner(int(sys.argv[1])).serve()
