"""Run `headway` in processes that are forked from one that has imported it.

Most of what a short command costs is its start: Python imports five hundred modules. The tests run a thousand commands.
A forked command is a process of its own, with its own directory, environment and output, and runs all of `headway`'s
code from its entry point on. Commands in an environment that changes how Python starts get an interpreter of their own.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.left_processes import VARIABLE, mark_forked

# What `headway run` and the verbs that look at a run import.
MODULES = (
    "headway.api.preview",
    "headway.api.start",
    "headway.api.usage",
    "headway.api.why",
    "headway.cli.detached",
    "headway.cli.main",
    "headway.cli.resume",
    "headway.cli.run",
    "headway.cli.status",
    "headway.cli.usage",
    "headway.cli.watching",
    "headway.cli.why",
    "headway.formats.headway_yaml",
    "headway.report.run.ending",
    "importlib.metadata",
)
# Variables that count when a process starts.
AT_START = ("PYTHON", "LC_", "LANG", "TZ", "LD_", "HEADWAY_CRASH", "NUMBA")
HARMLESS = ("PYTHONUNBUFFERED",)


def run_headway(
    words: tuple[str, ...], directory: Path, environment: Mapping[str, str], timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, as `subprocess.run` does with captured output."""
    output, errors = _Reader(), _Reader()
    command = start_headway(words, directory, environment, output.end, errors.end)
    output.begin()
    errors.begin()
    try:
        status = command.wait(timeout_s)
    except subprocess.TimeoutExpired:
        command.kill()
        raise
    return subprocess.CompletedProcess(words, status, output.text(timeout_s), errors.text(timeout_s))


def start_headway(
    words: Sequence[str], directory: Path, environment: Mapping[str, str], output: int, errors: int
) -> Forked | subprocess.Popen[bytes]:
    """Start a command whose output and errors go to two open files."""
    if _at_start(environment) == _parent().environment:
        return _parent().fork(words, directory, environment, output, errors)
    return subprocess.Popen(
        [sys.executable, "-m", "headway", *words],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
    )


class Forked:
    """A command that was started; it can do what the tests need of `subprocess.Popen`."""

    def __init__(self, words: Sequence[str], connection: socket.socket) -> None:
        self._words = words
        self._connection = connection
        self.pid = self._read()
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._connection], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(list(self._words), timeout or 0.0)
            self.returncode = self._read()
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def _read(self) -> int:
        number = self._connection.recv(4, socket.MSG_WAITALL)
        assert len(number) == 4, "the process that forks, or waits for the command, was killed"
        return int.from_bytes(number, "big", signed=True)


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(AT_START) and name not in HARMLESS}


@functools.cache
def _parent() -> _Parent:
    return _Parent()


class _Parent:
    """The process that forks; it ends when ours does, which closes its standard input."""

    def __init__(self) -> None:
        self.environment = _at_start(os.environ)
        self._folder = tempfile.TemporaryDirectory(prefix="forked-")
        self._address = f"{self._folder.name}/socket"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.forked", self._address],
            cwd=Path(__file__).parents[1],
            # It serves many tests and must survive a failed one. Threads do not survive a fork.
            env={name: value for name, value in os.environ.items() if name != VARIABLE} | {"OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def fork(
        self, words: Sequence[str], directory: Path, environment: Mapping[str, str], output: int, errors: int
    ) -> Forked:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._address)
        order = json.dumps([words, str(directory), dict(environment), _umask()]).encode()
        socket.send_fds(connection, [len(order).to_bytes(4, "big")], [output, errors])
        connection.sendall(order)
        command = Forked(words, connection)
        mark_forked(command.pid, environment.get(VARIABLE, ""))
        return command


def _umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found


class _Reader:
    """One end of a pipe for the child, and what it writes there."""

    def __init__(self) -> None:
        self._file, self.end = os.pipe()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._content = b""

    def begin(self) -> None:
        os.close(self.end)
        self._thread.start()

    def _read(self) -> None:
        with open(self._file, "rb") as file:
            self._content = file.read()

    def text(self, timeout_s: float) -> str:
        self._thread.join(timeout_s)
        assert not self._thread.is_alive(), "a process that the command left holds its output open"
        return self._content.decode().replace("\r\n", "\n")


# --- the process that forks ---


class _Order(NamedTuple):
    words: list[str]
    directory: str
    environment: dict[str, str]
    umask: int
    output: int
    errors: int


def _serve(address: str) -> _Order | None:
    """Return an order in each forked child, and None in this process at its end."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    print("ready", flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the keepers
    while listener in select.select([listener, 0], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork():
            connection.close()
            continue
        listener.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        order = _receive(connection)
        if child := os.fork():
            _keep(child, connection, order)
        connection.close()
        return order
    return None


def _receive(connection: socket.socket) -> _Order:
    head, fds, _, _ = socket.recv_fds(connection, 4, 2)
    with connection.makefile("rb") as file:
        text: list[Any] = json.loads(file.read(int.from_bytes(head, "big")))
    return _Order(*text, *fds)


def _keep(child: int, connection: socket.socket, order: _Order) -> None:
    """Tell who asked the child's process id and, when it has ended, its exit code."""
    os.close(order.output)
    os.close(order.errors)
    with contextlib.suppress(OSError):
        connection.sendall(child.to_bytes(4, "big", signed=True))
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
    os._exit(0)


def _become(order: _Order) -> None:
    """Be as if Python had just been started in the order's directory, environment, and with its streams."""
    os.chdir(order.directory)
    os.umask(order.umask)
    os.environ.clear()
    os.environ.update(order.environment)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (order.output, 1), (order.errors, 2)):
        os.dup2(source, target)
        os.close(source)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.path[0] = order.directory
    sys.argv = ["headway", *order.words]


if __name__ == "__main__":
    for module in MODULES:
        importlib.import_module(module)
    gc.freeze()
    ordered = _serve(sys.argv[1])
    if ordered is not None:
        _become(ordered)
        runpy.run_module("headway", run_name="__main__", alter_sys=True)
