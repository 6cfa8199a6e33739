"""A real service in a directory, and its client as scripts use it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

from headway.serving import client
from tests.cli.bench import PATIENCE_S, Bench

CLIENT = (sys.executable, "-ISE", client.__file__)
QUICK = Path(client.__file__).with_name("headway-exec")


class Service:
    """A service that this test starts, kills and starts again."""

    def __init__(self, home: Path, *options: str) -> None:
        self.bench = Bench(home / "work", home)
        self.directory = self.bench.directory
        self.client: tuple[str, ...] = CLIENT
        for program in (QUICK, Path(sys.executable).with_name("headway")):
            (home / program.name).symlink_to(program)
        self.quick = (str(home / QUICK.name),)
        self.options = ("service", "-q", "--grace", "1s", *options)
        self.process = self.start()

    def start(self) -> subprocess.Popen[str]:
        link = self.directory / ".headway" / "service"
        before = link.lstat().st_mtime_ns if link.is_symlink() else None
        self.process = self.bench.start(*self.options)
        deadline = time.monotonic() + PATIENCE_S
        while not link.exists() or link.lstat().st_mtime_ns == before:
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return self.process

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)

    def stop(self) -> int:
        """Let it end, and return its exit code."""
        if self.process.poll() is None:
            self.bench.succeeds("service", "--stop")
        return self.process.wait(PATIENCE_S)

    def begin(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        """Start the client."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = self.bench.environment | more.pop("env", {})
        return subprocess.Popen(
            [*self.client, *words], cwd=self.directory, env=environment, **{"text": True} | pipes | more
        )

    def exec(self, *words: str, **more: Any) -> tuple[int, str, str]:
        """Run the client to its end; return exit code, output and messages."""
        process = self.begin(*words, **more)
        output, messages = process.communicate(timeout=PATIENCE_S)
        return process.returncode, output, messages

    def wait_for(self, name: str) -> None:
        self.bench.wait_for_file(name)

    def connect(self) -> Talk:
        return Talk(self.directory)


class Talk:
    """A conversation of a client that a plugin's author wrote."""

    def __init__(self, directory: Path, hello: bool = True) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(PATIENCE_S)
        with chdir(directory):  # a path of at most 107 bytes
            self._socket.connect(".headway/service")
        self._lines = self._socket.makefile("rb")
        if hello:
            self.say({"do": "hello", "version": 1})
            assert self.hear()["event"] == "hello"

    def say(self, message: dict[str, Any] | bytes) -> None:
        self._socket.sendall(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    def hear(self) -> dict[str, Any]:
        line = self._lines.readline()
        assert line, "the service hung up"
        return json.loads(line)

    def until(self, *events: str) -> dict[str, Any]:
        return next(message for message in self.all() if message["event"] in events)

    def all(self) -> Iterator[dict[str, Any]]:
        while True:
            yield self.hear()

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self.say(message)
        return self.hear()

    def close(self) -> None:
        self._lines.close()
        self._socket.close()
