"""A real dashboard in a process of its own, and requests to it over real sockets."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.cli.bench import Bench

PATIENCE_S = 120.0


class Reply(NamedTuple):
    """What the server answered."""

    status: int
    headers: dict[str, str]
    body: str

    def json(self) -> Any:
        return json.loads(self.body)


class Server:
    """A dashboard that runs."""

    def __init__(self, process: subprocess.Popen[str], told: dict[str, Any]) -> None:
        self.process = process
        self.told = told
        self.token = told["url"].partition("token=")[2]
        self.host = urlsplit(told["url"]).netloc

    def connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.told["port"]), PATIENCE_S)
        connection.settimeout(PATIENCE_S)
        return connection

    def send(self, request: bytes) -> Reply:
        """Send the bytes of a request as they stand; return the answer."""
        with self.connect() as connection:
            connection.sendall(request)
            return read_reply(connection)

    def ask(self, path: str, method: str = "GET", *, token: str | None = None, **headers: str) -> Reply:
        """Send a request with the owner's token, unless there is another; a header `x_y` is called x-y."""
        asked = {"host": self.host, "connection": "close", "authorization": f"Bearer {token or self.token}"}
        asked |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in asked.items() if value), "", ""]
        return self.send("\r\n".join(lines).encode("latin-1"))

    def events(self, path: str) -> bytes:
        """The request for a stream of events."""
        return f"GET {path} HTTP/1.1\r\nhost: {self.host}\r\nauthorization: Bearer {self.token}\r\n\r\n".encode()

    def runs(self) -> dict[str, dict[str, Any]]:
        """The rows of the list, by the name and number of the run."""
        with self.connect() as connection:
            connection.sendall(self.events("/events"))
            told = read_until(connection, b"\n\n", after=b"data: ")
        found = json.loads(told.partition(b"data: ")[2])
        return {f"{row['name']} {row['run']}": row for row in found["rows"]}


def read_until(connection: socket.socket, end: bytes, after: bytes = b"") -> bytes:
    """Read until `end` stands behind `after`."""
    told = bytearray()
    while end not in told.partition(after)[2] if after else end not in told:
        block = connection.recv(65536)
        if not block:
            break
        told += block
    return bytes(told)


def read_reply(connection: socket.socket) -> Reply:
    told = bytearray()
    while block := connection.recv(65536):
        told += block
    head, _, body = bytes(told).partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return Reply(int(first.split()[1]) if first else 0, headers, body.decode())


@contextmanager
def serving(bench: Bench, *options: str) -> Iterator[Server]:
    """Serve the bench's directory; the server ends without an error."""
    process = bench.start("serve", "--json", *options)
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line == "}\n":
            break
    assert lines, process.communicate()[1]
    try:
        yield Server(process, json.loads("".join(lines)))
    finally:
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, output, errors) == (0, "", "")
