"""The client of a service: runs one command there, as `srun` would. `headway exec` is this file.

It starts for each command, so it imports only what Python has built in or loads in a fraction of a millisecond: `json`
alone would take longer than all of this, and `signal` and `socket` import `enum`. It also runs as a script:
`python -ISE client.py …`.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import os
import sys
import time
from _json import encode_basestring_ascii, make_scanner
from binascii import a2b_base64

if __name__ == "__main__":  # -I: Python looks for nothing beside the script
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from headway.peers import UntrustedError, connect, open_ours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

VERSION = 1
VARIABLE = "HEADWAY_SERVICE"  # the directory of the service, for commands that are run elsewhere
FAILED = 125  # of the client itself, as of `env`, `timeout` and `docker run`
INTERRUPTED = 130
PATIENCE_S = 60.0  # for a service that was killed to be started again
_AGAIN_S = 0.1
_CHUNK_BYTES = 1 << 16
_PASSED_ON = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT, _signal.SIGUSR1, _signal.SIGUSR2)
_QUIET = ("success", "exit-code", "signal", "cancelled")  # the exit code says it

# Options with a value, and what they are called in the message.
HINTS = {
    "--cores": "cores",
    "--memory": "memory_bytes",
    "--time": "walltime_s",
    "--disk": "disk_bytes",
    "--gpus": "gpus",
}
_WISHES = ("--partition", "--constraint", "--account", "--qos", "--gpu-type")
_TEXTS = {"--category": "category", "--name": "name", "--on-exhausted": "on_exhausted"}
_PLACES = ("--in", "--service")


class Interrupted(BaseException):
    """A signal came before the command was accepted, or what reads our output is gone; with the exit code."""


class ServiceError(Exception):
    """The service cannot be reached, or does not do what it was asked for; one sentence."""


class _Scanned:
    """How `_json` is to read: as `json.loads` does."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    parse_constant = float
    memo: "dict[str, str]" = {}  # noqa: RUF012


_scan = make_scanner(_Scanned)  # type: ignore[arg-type]


def to_json(value: "Any") -> str:
    """Write a message as JSON."""
    if isinstance(value, str):
        return str(encode_basestring_ascii(value))
    if isinstance(value, dict):
        return "{%s}" % ",".join(f"{to_json(str(name))}:{to_json(each)}" for name, each in value.items())  # noqa: UP031
    if isinstance(value, list | tuple):
        return f"[{','.join(map(to_json, value))}]"
    return {"True": "true", "False": "false", "None": "null"}.get(repr(value), repr(value))


def message_of(line: bytes) -> "dict[str, Any]":
    """Read a message of the service; `ServiceError` if it is none."""
    try:
        message = _scan(line.decode(), 0)[0]
    except (StopIteration, ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise ServiceError("the service answered with something that is no message; is it another program?")
    return message


class Connection:
    """A conversation with a service: messages as dictionaries."""

    def __init__(self, place: str) -> None:
        """Connect to a socket; `ServiceError` if there is no service, or it is another user's."""
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._received = b""
        folder, name = os.path.split(place)
        try:
            connect(self._socket, folder or ".", name)
        except OSError as error:
            self._socket.close()
            if isinstance(error, UntrustedError):
                raise ServiceError(str(error)) from error
            if isinstance(error, PermissionError):
                raise ServiceError(f"{place} belongs to another user: start a service of your own") from error
            raise
        self.send({"do": "hello", "version": VERSION})

    def send(self, message: "Mapping[str, Any]") -> None:
        """Send a message."""
        self._socket.sendall(to_json(message).encode() + b"\n")

    def receive(self) -> "Iterator[dict[str, Any]]":
        """Yield messages until the service closes the connection."""
        while data := self._socket.recv(_CHUNK_BYTES):
            *lines, self._received = (self._received + data).split(b"\n")
            for line in lines:
                yield message_of(line)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def find(stated: str = "") -> str:
    """Return the path of the service's socket: of a stated directory, else of the nearest one above that has one."""
    stated = stated or os.environ.get(VARIABLE, "")
    if stated:
        return stated if not os.path.isdir(stated) else os.path.join(stated, ".headway", "service")
    folder = os.getcwd()
    while not os.path.lexists(os.path.join(folder, ".headway", "service")):
        if folder == os.path.dirname(folder):
            raise ServiceError(f"no service is at work in {os.getcwd()} or above: start one with `headway service &`")
        folder = os.path.dirname(folder)
    return os.path.join(folder, ".headway", "service")


class Call:
    """One command: submitted, followed to its end, also over a restart of the service."""

    def __init__(self, request: "dict[str, Any]", place: str, output: "Callable[[str, bytes], object]") -> None:
        """It runs in this directory and with this environment, unless the request has others.

        `output` is called with the name of a stream and bytes.
        """
        if not all(map(_is_text, request.get("argv", ()))):
            raise ServiceError("the command's words are not all UTF-8: let a script hold them")
        self.key = request.get("key") or f"{os.getpid()}-{time.time_ns()}"
        variables = request.get("environment", os.environ)
        environment = {name: value for name, value in variables.items() if _is_text(name + value)}
        here = {"do": "submit", "key": self.key, "directory": os.getcwd()}
        self.request: dict[str, Any] = here | request | {"environment": environment}
        self.place = place
        self._copy: tuple[int, str] | None = None  # of standard input: a folder's handle, and the path from there
        self.patience_s = PATIENCE_S
        self.task = ""
        self._output = output
        self._connection: Connection | None = None
        self._signalled = 0

    def give_stdin(self, *, from_pipe: bool) -> None:
        """Give the command standard input: a file of which nothing was read, or what a pipe holds until its end."""
        try:
            path = os.readlink("/proc/self/fd/0")
            if os.path.isfile(path) and not os.lseek(0, 0, 1):
                self.request["stdin"] = path
                return
        except OSError:
            pass
        if from_pipe:
            self._copy_stdin()

    def _copy_stdin(self) -> None:
        """Copy standard input into the run's folder, or where the socket is; by a handle that leads nowhere else."""
        folder, name = os.path.split(self.place)
        try:
            above = open_ours(folder or ".")
        except UntrustedError as error:
            raise ServiceError(str(error)) from error
        try:
            run = os.path.dirname(os.readlink(name, dir_fd=above))
        except OSError:  # not a link
            run = ""
        path = os.path.join(run, f"stdin-{self.key}")
        self.request["stdin"] = os.path.join(os.path.realpath(folder), path)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=above)
        self._copy = (above, path)
        while data := os.read(0, _CHUNK_BYTES):
            write_all(handle, data)
        os.close(handle)

    def run(self) -> "dict[str, Any]":
        """Run it; return the message about its end."""
        try:
            return self._run()
        finally:
            if self._copy is not None:
                above, path = self._copy
                os.unlink(path, dir_fd=above)
                os.close(above)

    def _run(self) -> "dict[str, Any]":
        try:
            self._connection = Connection(self.place)
        except ConnectionRefusedError:  # it was killed
            pass
        except FileNotFoundError as error:
            raise ServiceError(f"no service is at work {self._where}: start one with `headway service &`") from error
        while True:
            try:
                if self._connection is not None:
                    self._connection.send(self.request)
                    for message in self._connection.receive():
                        if (ended := self._take(message)) is not None:
                            return ended
            except ConnectionError:
                pass
            self._connect_again()

    @property
    def _where(self) -> str:
        folder, name = os.path.split(self.place)
        return f"in {os.path.dirname(folder)}" if name == "service" else f"at {self.place}"

    def pass_on(self, number: int) -> None:
        """Pass a signal on to the command; the second one that interrupts cancels it."""
        again, self._signalled = self._signalled, number
        if self._connection is None or not self.task:
            raise Interrupted(128 + number)
        if again == _signal.SIGINT == number:
            self._connection.send({"do": "cancel", "task": self.task})
        else:
            self._connection.send({"do": "signal", "task": self.task, "signal": number})

    def cancel(self) -> None:
        """Cancel the command if it has been accepted; another thread than the one in `run` may call this."""
        if self._connection is not None and self.task:
            self._connection.send({"do": "cancel", "task": self.task})

    def _take(self, message: "dict[str, Any]") -> "dict[str, Any] | None":
        """Do what a message says; return it if it is the last."""
        match message["event"]:
            case "output":
                data = a2b_base64(message["data"])
                self.request[message["stream"]] = self.request.get(message["stream"], 0) + len(data)
                self._output(message["stream"], data)
            case "submitted":
                self.task = message["task"]
            case "started":
                self.request |= {"attempt": message["attempt"], "stdout": 0, "stderr": 0}
            case "ended":
                if message["cause"] == "cancelled" and self._signalled:
                    message["exit_code"] = 128 + self._signalled
                return message
            case "error" | "stopping":
                raise ServiceError(message["message"])
        return None

    def _connect_again(self) -> None:
        """Wait for a service that was killed: its command goes on, and the service knows it when it is back."""
        if self.patience_s:
            _say(f"the service {self._where} is gone; waiting {self.patience_s:g} s for `headway service` to go on")
        until = time.monotonic() + self.patience_s
        while time.monotonic() < until:
            time.sleep(_AGAIN_S)
            try:
                self._connection = Connection(self.place)
            except (FileNotFoundError, ConnectionError):
                continue
            return
        raise ServiceError(f"the service {self._where} is gone; `headway service` goes on with its commands")


def parse(words: "Sequence[str]") -> "tuple[dict[str, Any], dict[str, Any]] | None":
    """Return the request that options and command mean, and settings of the client; None if that needs explaining."""
    request: dict[str, Any] = {}
    hints: dict[str, str] = {}
    wish: dict[str, str] = {}
    own: dict[str, Any] = {"place": "", "stdin": False}
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        flag, equals, value = rest.pop(0).partition("=")
        if flag in ("--keep", "--stdin") and not equals:
            (request if flag == "--keep" else own)[flag[2:]] = True
            continue
        if not equals:
            if not rest:
                return None
            value = rest.pop(0)
        if flag in HINTS:
            hints[HINTS[flag]] = value
        elif flag in _WISHES:
            wish[flag[2:]] = value
        elif flag in _TEXTS:
            request[_TEXTS[flag]] = value
        elif flag in _PLACES:
            own["place"] = value
        elif flag in ("--retries", "--wait") and value.isdecimal():
            (request if flag == "--retries" else own)[flag[2:]] = int(value)
        elif flag == "--again":
            request |= _again(value)
        else:
            return None
    if rest[:1] == ["--"]:
        del rest[0]
    return (request | {"argv": rest, "hints": hints, "wish": wish}, own) if rest else None


def _again(told: str) -> "dict[str, Any]":
    """Return what `headway-exec` knows of a command that it has submitted: the service is gone."""
    key, *numbers = told.split(",")
    return {"key": key} | dict(zip(("attempt", "stdout", "stderr"), map(int, numbers), strict=True))


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def write_all(handle: int, data: bytes) -> None:
    """Write all bytes."""
    while data:
        data = data[os.write(handle, data) :]


def _repeat(stream: str, data: bytes) -> None:
    try:
        write_all(1 if stream == "stdout" else 2, data)
    except BrokenPipeError:
        raise Interrupted(128 + _signal.SIGPIPE) from None


def _say(text: str) -> None:
    write_all(2, f"headway exec: {text}\n".encode())


def main(words: "Sequence[str]") -> "int | None":
    """Run a command in the service; return its exit code, or None if the words need explaining."""
    parsed = parse(words)
    if parsed is None:
        return None
    request, own = parsed
    try:
        place = find(own["place"])
        call = Call(request, place, _repeat)
        call.give_stdin(from_pipe=own["stdin"])
        call.patience_s = own.get("wait", PATIENCE_S)
        for number in _PASSED_ON:
            if _signal.getsignal(number) != _signal.SIG_IGN:
                _signal.signal(number, lambda number, frame: call.pass_on(number))
        ended = call.run()
    except Interrupted as interrupted:
        return int(interrupted.args[0])
    except KeyboardInterrupt:
        return INTERRUPTED
    except (ServiceError, OSError) as error:
        _say(str(error))
        return FAILED
    if ended["cause"] not in _QUIET and ended.get("message"):
        _say(f"{ended['task']}: {ended['message']}")
    return int(ended["exit_code"])


if __name__ == "__main__":
    code = main(sys.argv[1:])
    if code is None:
        _say("usage: headway exec [OPTIONS] -- COMMAND; see `headway exec --help`")
    sys.stdout.flush()
    os._exit(2 if code is None else code)
