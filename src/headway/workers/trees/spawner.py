"""The spawner: a small process that starts commands for the node supervisor, each with a witness of its end.

It runs as a script, `python -I -S spawner.py <fd>`. It is a process of its own for two reasons:

- `ru_maxrss` survives exec: a command forked from a supervisor of 200 MB reports at least 200 MB. Forked from here it
  reports about 5 MB, so that the figure describes the command.
- fork copies page tables: from here it takes a fraction of a millisecond, however large the supervisor is. Witnesses
  start commands without a copy (`posix_spawn`).

Therefore this file imports very little: not `logging`, and not even `signal` (which imports `enum`).

It talks to the supervisor over one inherited socket, in length-prefixed `marshal` messages. That is safe since the
socket is private and both ends run the same interpreter. Texts are sent as bytes, so that they do not depend on the
locale.

Each command has a witness while it runs: a process that the spawner has forked. It starts the command, waits for its
end, and notes on disk how it ended (`end_note`) before anyone else can know of it. It depends on no other process, so
that the end is noted whoever has died meanwhile. If a witness is killed, its command goes on: the kernel makes it a
child of the supervisor, which waits for it. Otherwise the witness waits for the next command: a new process is forked
only while all witnesses have commands. When the supervisor ends, the socket is closed and the spawner exits; idle
witnesses do, too, and the others when their commands have ended.
"""

import _signal  # type: ignore[import-not-found]  # wrapped by `signal`, which needs a megabyte more for `enum`
import marshal
import os
import select
import sys
import time

# Requests: (token, argv, changes of the environment, directory, stdout, stderr, cgroup.procs files to enter, the file
# that is renamed when the command ends, or nothing).
Request = tuple[int, list[bytes], dict[bytes, bytes | None], bytes, bytes, bytes, list[bytes], bytes]
_GROUPS = 6  # the place of the cgroups in a request
# Replies: (0, READY, floor bytes), (token, STARTED, pid, time, pid of the witness), (token, FAILED, reason, errno or
# 0), (token, ENDED, time, wait status, CPU seconds, ru_maxrss bytes, alone), and (token, UNWITNESSED): the witness was
# killed. Times are CLOCK_MONOTONIC everywhere.
READY, STARTED, FAILED, ENDED, UNWITNESSED = "ready", "started", "failed", "ended", "unwitnessed"

# Its name for the kernel, by which it is told from the spawner; at most 15 bytes. A command can have the same name, but
# not the spawner's marker in its environment.
WITNESS = b"task-witness"
_MOST_IDLE = 64  # witnesses that wait for a command
_LENGTH_BYTES = 4
_REASON_BYTES = 1000  # a reason with its prefix must fit into one atomic write to a pipe (4096 bytes)
# In /proc/<pid>/stat after the command's name: minor page faults of reaped children; clock ticks of CPU time.
_CHILD_FAULTS_FIELD = 8
_CPU_FIELDS = slice(11, 15)
_ARGUMENTS_FIELDS = slice(45, 47)  # where the arguments of a process are in its memory
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def pack(message: Request | tuple[float, Request] | tuple[int | float | str | bool, ...]) -> bytes:
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


def _crash_point(name: str) -> None:
    """Do nothing; tests put `headway.crash_points` in its place."""


class Spawner:
    """Hands each request to a witness and passes on what witnesses tell. Its one thread never waits for a command."""

    def __init__(self, channel: int) -> None:
        self._channel = channel
        os.set_inheritable(channel, False)  # commands must not hold it open
        self._environment = dict(os.environb)  # the supervisor's own
        self._idle: list[tuple[int, int]] = []  # witnesses without a command: pid, and the pipe to it
        self._busy: dict[int, tuple[int, int]] = {}  # the others by token: pid, and the pipe to it; -1 if there is none
        self._supervised = True
        self._inbox = bytearray()
        self._outbox = bytearray()
        # One pipe serves all witnesses: each message is one atomic write, and is there before its sender has ended.
        self._told, self._tell = os.pipe()
        os.set_blocking(self._told, False)
        self._tales = bytearray()  # what was read from it
        self._last_words: dict[int, tuple[object, ...]] = {}  # by pid: told by a witness that is about to end
        self._news, self._news_entry = os.pipe()  # SIGCHLD arrives here
        os.set_blocking(self._news, False)
        os.set_blocking(self._news_entry, False)
        self._arguments = tuple(map(int, _stat(os.getpid())[_ARGUMENTS_FIELDS]))

    def serve(self) -> None:
        """Serve requests until the supervisor closes the socket."""
        _clean_signals()
        _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)  # the supervisor or a witness may be gone
        _signal.set_wakeup_fd(self._news_entry, warn_on_full_buffer=False)
        _signal.signal(_signal.SIGCHLD, lambda *_: None)
        self._outbox += pack((0, READY, self._floor_bytes()))
        poller = select.poll()
        for fd in (self._channel, self._told, self._news):
            poller.register(fd, select.POLLIN)
        while self._supervised:
            self._send()
            ready = {fd for fd, _ in poller.poll()}
            if self._told in ready:
                self._listen()
            if self._news in ready:
                os.read(self._news, 4096)
                self._reap()
            if self._channel in ready:
                self._receive()
        for _, entry in self._idle:
            os.close(entry)
        for witness, _ in self._idle:
            os.waitpid(witness, 0)

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
        """Measure the `ru_maxrss` of a witness when its command is executed: smaller peaks cannot be seen."""
        pid = os.fork()
        if pid == 0:  # a folder cannot be executed
            self._witness(-1, (0, [b"/"], {}, b"/", b"/dev/null", b"/dev/null", [], b""), 0.0)
        usage = os.wait4(pid, 0)[2]
        self._tales += os.read(self._told, 1 << 16)
        unpack(self._tales)
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
        """Hand a request to an idle witness, or to a new one."""
        now_s = time.monotonic()
        is_last = bool(request[_GROUPS])  # its witness is in the command's cgroup, which has to be removed
        while self._idle and not is_last:
            witness, entry = self._idle.pop()
            try:
                _write_all(entry, pack((now_s, request)))
            except BrokenPipeError:  # it was killed
                os.close(entry)
                continue
            self._busy[request[0]] = (witness, entry)
            return
        outlet, entry = os.pipe()
        try:
            pid = os.fork()
        except OSError as error:  # the user's limit on processes is reached, or there is no memory
            self._outbox += pack((request[0], FAILED, f"cannot start another process: {error.strerror}", 0))
            os.close(outlet)
            os.close(entry)
            return
        if pid == 0:
            os.close(entry)
            self._witness(outlet, request, now_s)
        os.close(outlet)
        self._busy[request[0]] = (pid, entry)
        if is_last:
            self._dismiss(request[0])
        _crash_point("forked")

    def _listen(self) -> None:
        """Pass on what witnesses tell; one whose command has ended is idle again."""
        try:
            self._tales += os.read(self._told, 1 << 16)
        except BlockingIOError:
            return
        for message in unpack(self._tales):
            token, kind = message[:2]
            if kind != STARTED:
                if len(self._idle) >= _MOST_IDLE:
                    self._dismiss(token)  # type: ignore[arg-type]
                witness, entry = self._busy[token]  # type: ignore[index]
                if entry < 0:  # it ends, and leaves the command's cgroup
                    self._last_words[witness] = message
                    continue
                del self._busy[token]  # type: ignore[arg-type]
                self._idle.append((witness, entry))
            self._outbox += pack(message)  # type: ignore[arg-type]

    def _dismiss(self, token: int) -> None:
        """Let a witness end after its command, by closing the pipe to it."""
        witness, entry = self._busy[token]
        if entry >= 0:
            os.close(entry)
            self._busy[token] = (witness, -1)

    def _reap(self) -> None:
        """Reap witnesses that have ended, and pass on what they told, or that one was killed before it told an end."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            _crash_point("reaped")
            self._listen()  # it may have told an end before
            for token in [token for token, (witness, _) in self._busy.items() if witness == pid]:
                self._dismiss(token)
                del self._busy[token]
                self._outbox += pack(self._last_words.pop(pid, (token, UNWITNESSED)))  # type: ignore[arg-type]
            for one in [one for one in self._idle if one[0] == pid]:
                self._idle.remove(one)
                os.close(one[1])

    # In a witness

    def _witness(self, requests: int, request: Request, started_s: float) -> None:
        """In a child: run one command after the other, until the spawner is gone. Never returns."""
        try:
            self._leave()
            inbox = bytearray()
            while True:
                self._run(request, started_s)
                while not (messages := unpack(inbox)):
                    received = os.read(requests, 1 << 16) if requests >= 0 else b""
                    if not received:
                        return
                    inbox += received
                started_s, request = messages[0]  # type: ignore[assignment]
        finally:
            os._exit(0)

    def _leave(self) -> None:
        """Let go of what is the spawner's: whoever reads its socket must see that it has ended."""
        _signal.set_wakeup_fd(-1)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, _signal.valid_signals())
        _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
        null = os.open(b"/dev/null", os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        pipes = (entry for _, entry in (*self._idle, *self._busy.values()) if entry >= 0)
        for fd in (null, self._channel, self._told, self._news, self._news_entry, *pipes):
            os.close(fd)
        os.setsid()  # Ctrl-C at a terminal is for the command
        _write("/proc/self/comm", WITNESS)
        begin, end = self._arguments
        try:  # so that nobody takes it for the spawner, as which it was started
            _write("/proc/self/mem", WITNESS.ljust(end - begin, b"\0")[: end - begin], begin)
        except OSError:
            return  # this kernel forbids it

    def _run(self, request: Request, started_s: float) -> None:
        """Start a command, wait for its end and note it; tell both, or why it could not be started."""
        token, argv, changes, directory, stdout, stderr, groups, note = request
        doing = b"cannot begin"
        try:
            for group in groups:
                doing = b"cannot enter the cgroup " + os.path.dirname(group)
                _write(group, b"0")
            for path, fd in ((stdout, 1), (stderr, 2)):
                doing = b"cannot write to " + path
                mode = os.stat(os.path.dirname(path)).st_mode & 0o660  # open to a group if its folder is
                # For appending: stdout and stderr can be one file, or be truncated meanwhile.
                file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, mode)
                os.dup2(file, fd)
                os.close(file)
            doing = b"cannot start in " + directory
            os.chdir(directory)
            doing = b"cannot run " + (argv[0] if argv else b"an empty command")
            variables = {name: text for name, text in (self._environment | changes).items() if text is not None}
            command = _execute(argv, variables)
        except BaseException as error:  # the command must get an answer in any case
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            text = f"{os.fsdecode(doing)}: {why}".encode(errors="replace")[:_REASON_BYTES].decode(errors="ignore")
            number = (error.errno or 0) if isinstance(error, OSError) else 0
            _tell(self._tell, (token, FAILED, text, number))
            return
        _tell(self._tell, (token, STARTED, command, started_s, os.getpid()))
        os.chdir("/")  # the command's directory and files can be removed when it has ended
        os.dup2(0, 1)
        os.dup2(0, 2)
        _tell(self._tell, (token, ENDED, *_end_of(command, note, started_s)))


def _execute(argv: list[bytes], variables: dict[bytes, bytes]) -> int:
    """Start a command, found by its PATH, in a session of its own and with all signals; return its pid."""
    paths = [argv[0]]
    if b"/" not in argv[0]:
        path = variables.get(b"PATH", os.defpath.encode())
        paths = [os.path.join(folder, argv[0]) for folder in path.split(b":")]
    failure: OSError | None = None
    for path in paths:
        try:
            return os.posix_spawn(path, argv, variables, setsid=True, setsigmask=())
        except (FileNotFoundError, NotADirectoryError) as error:
            failure = failure or error
        except OSError as error:  # a file that cannot be executed; another one may be found
            failure = error
    raise failure or FileNotFoundError(2, "No such file or directory")


def _end_of(command: int, note: bytes, started_s: float) -> tuple[float, int, float, int, bool]:
    """Wait for a command and note its end; return when it ended, its status, CPU time, memory, and if it was alone."""
    waited = os.waitid(os.P_PID, command, os.WEXITED | os.WNOWAIT)
    now_s = time.monotonic()
    fields = _stat(command)
    if note and waited is not None:
        _note(note, _status(waited), started_s, now_s, fields)
    _crash_point("noted")
    alone = fields[_CHILD_FAULTS_FIELD : _CHILD_FAULTS_FIELD + 1] == [b"0"]
    _, status, usage = os.wait4(command, 0)
    return now_s, status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, alone


def _tell(pipe: int, message: tuple[int | float | str | bool, ...]) -> None:
    try:
        os.write(pipe, pack(message))
    except BrokenPipeError:
        return  # the spawner is gone: the note remains


def _write(path: str | bytes, text: bytes, at: int = 0) -> None:
    file = os.open(path, os.O_WRONLY)
    if at:
        os.lseek(file, at, os.SEEK_SET)
    os.write(file, text)
    os.close(file)


def _write_all(pipe: int, text: bytes) -> None:
    while text:
        text = text[os.write(pipe, text) :]


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
    """Note on disk how a command ended, by renaming a file (`end_note`); times become seconds since the epoch."""
    since_epoch_s = time.time() - time.monotonic()
    cpu_s = sum(map(int, fields[_CPU_FIELDS])) / _TICKS_PER_S
    text = f",{status},{started_s + since_epoch_s:.6f},{ended_s + since_epoch_s:.6f},{cpu_s:.2f}"
    try:
        os.rename(path, path + text.encode())
    except OSError:
        return  # the command was stopped, or has removed its folder


if __name__ == "__main__":
    if "HEADWAY_CRASH" in os.environ:
        sys.path.append(os.path.abspath(f"{__file__}/../../.."))
        from crash_points import crash_point as _crash_point  # type: ignore[import-not-found,no-redef]
    Spawner(int(sys.argv[1])).serve()
