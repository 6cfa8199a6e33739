"""Requests for the two servers that speak HTTP, given to their own code without a network between."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from headway.dashboard.app import Dashboard
from headway.dashboard.guard import Keys
from headway.dashboard.shelf import Shelf
from headway.model.observation import Observation
from headway.serving.receiver import Receiver, _Handler
from tests.fuzz.watching import unwatched

TOKEN = "secret"
_FOLDER = tempfile.TemporaryDirectory(prefix="headway-fuzz-")  # in which no run is
_HEAD = "Host: 127.0.0.1\r\nAuthorization: Bearer secret\r\n"
_TASK = (
    '{"tasks": [{"taskId": 3, "hash": "ab/12", "process": "ALIGN", "tag": "s1", "name": "ALIGN (s1)", "status": '
    '"COMPLETED", "exit": "0", "attempt": 1, "start": 1794742549000, "complete": 1794742649000, "realtime": 90000, '
    '"pcpu": 180.5, "peakRss": 1200000000, "cpus": 2, "memory": 2000000000}]}'
)
TOWER = (
    f"POST /trace/create HTTP/1.1\r\n{_HEAD}Content-Length: 2\r\n\r\n{{}}".encode(),
    f"PUT /trace/ab12/progress HTTP/1.1\r\n{_HEAD}Content-Length: {len(_TASK)}\r\n\r\n{_TASK}".encode(),
    b"PUT /trace/ab12/begin?x=1 HTTP/1.1\r\nAuthorization: Basic QHRva2VuOnNlY3JldA==\r\nContent-Length: 2\r\n\r\n{}",
)
PAGES = (
    f"GET /runs/1/tasks/0/log?stream=stderr&after=0&attempt=1 HTTP/1.1\r\n{_HEAD}\r\n".encode(),
    f"GET /runs/1/tasks/0/why?width=80 HTTP/1.1\r\n{_HEAD}Cookie: headway-ab=secret\r\n\r\n".encode(),
    f"POST /runs/1/cancel HTTP/1.1\r\n{_HEAD}X-Headway-CSRF: {Keys.of(TOKEN, shared=False).csrf}\r\n\r\n".encode(),
    f"GET /static/run.js HTTP/1.1\r\n{_HEAD}\r\n".encode(),
    f"GET /?token={TOKEN}&a=b HTTP/1.1\r\n{_HEAD}Origin: http://127.0.0.1\r\n\r\n".encode(),
    f"GET /metrics HTTP/1.1\r\n{_HEAD}\r\n".encode(),
    f"GET /history HTTP/1.1\r\n{_HEAD}Content-Length: 5\r\n\r\nhello".encode(),
)


class UncleanError(Exception):
    """A server that answered as no server of ours may."""


def _learned(observations: Sequence[Observation]) -> None:
    for seen in observations:
        seen.as_outcome()


def received(data: bytes) -> None:
    """Let the receiver of Nextflow's events handle one connection."""
    ours, theirs = socket.socketpair()  # no address: nothing is touched outside
    server = SimpleNamespace(token=TOKEN, learn=_learned, see="here")
    try:
        theirs.settimeout(5.0)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        theirs.sendall(data[:100_000])
        theirs.shutdown(socket.SHUT_WR)
        _Handler(ours, ("127.0.0.1", 1), cast(Receiver, server))
        ours.close()
        answer = b""
        with suppress(ConnectionError):  # it has hung up before it had read everything
            answer = theirs.recv(1 << 16)
    finally:
        ours.close()
        theirs.close()
    if answer.startswith(b"HTTP/1.0 5") and not answer.startswith((b"HTTP/1.0 501", b"HTTP/1.0 505")):
        raise UncleanError(answer[:200].decode(errors="replace"))


@cache
def _application() -> tuple[Any, asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    keys = Keys.of(TOKEN, shared=True)

    async def make() -> Any:
        return Dashboard(Shelf(Path(_FOLDER.name)), keys).app()

    return loop.run_until_complete(make()), loop


def dashboard(data: bytes) -> None:
    """Give a request to the dashboard as its HTTP server does: split, with lower names of headers."""
    with unwatched():
        application, loop = _application()
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    method, target, *_ = (*first.split(b" "), b"", b"")
    path, _, query = target.partition(b"?")
    pairs = [line.partition(b":") for line in lines if b":" in line]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method.decode("latin-1").upper(),
        "scheme": "http",
        "path": path.decode("utf-8", errors="replace") or "/",
        "raw_path": path,
        "query_string": query,
        "headers": [(name.strip().lower(), value.strip()) for name, _, value in pairs],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    if scope["path"].endswith("/events"):  # an answer without end
        return
    told: list[dict[str, Any]] = []
    parts = [{"type": "http.request", "body": body, "more_body": False}, {"type": "http.disconnect"}]

    async def receive() -> dict[str, Any]:
        return parts.pop(0) if len(parts) > 1 else parts[0]

    async def send(message: dict[str, Any]) -> None:
        told.append(message)

    loop.run_until_complete(application(scope, receive, send))
    if not told or told[0]["status"] == 500:
        raise UncleanError(str(told)[:200])
