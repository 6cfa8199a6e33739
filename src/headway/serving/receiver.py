"""A receiver for what Nextflow sends to Seqera Platform (once Tower), from any run that is told to send it here.

The messages are those of Nextflow's plugin nf-tower: `POST /trace/create` returns an id, then come
`PUT /trace/ID/begin`, `progress` (the tasks that changed), `heartbeat` and `complete`.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
from msgspec import Struct

from headway.formats.nextflow_records import observations
from headway.model.errors import HeadwayError, InputError, SiteError
from headway.model.observation import Observation

LARGEST_BYTES = 16 * 1024 * 1024  # of a message; Nextflow sends at most 100 tasks at once
_MOST_DIGITS = 20  # of a length; Python refuses to read a number of thousands
_CHUNK_BYTES = 64 * 1024
_PATIENCE_S = 30.0  # for a client to send what it has begun
_USER = "@token:"  # before the token, where a password would have a user's name
_PATH = re.compile(r"/trace/(?:(create)|([0-9A-Za-z_-]{1,64})/(begin|progress|heartbeat|complete))(?:\?.*)?")

Learn = Callable[[Sequence[Observation]], None]


class _Progress(Struct):
    """The part of a message `progress` that teaches something."""

    tasks: list[dict[str, Any]] = []


class RefusedError(HeadwayError):
    """A request that gets another answer than "bad request"."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self.status = status


class Receiver(ThreadingHTTPServer):
    """Listens at an address, and hands what tasks teach to `learn`, which may be called by several threads at once.

    Every request must carry the token. A request that is refused gets one sentence, and the next one is served.
    """

    daemon_threads = True

    def __init__(self, host: str, port: int, token: str, learn: Learn, see: str) -> None:
        """`see` is what Nextflow shows to its user as the place where the run can be watched."""
        self.token = token
        self.learn = learn
        self.see = see
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            todo = "choose another with --port, or 0 for any that is free"
            raise SiteError(f"cannot listen: {error}", where=f"{host}:{port}", todo=todo) from error


class _Handler(BaseHTTPRequestHandler):
    server: Receiver
    timeout = _PATIENCE_S

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def _serve(self) -> None:
        try:
            self._check_token()
            self._answer(200, self._received())
        except RefusedError as error:
            self._answer(error.status, {"message": str(error)})
            self._drop_rest()
        except SiteError as error:  # Nextflow tries again later
            self._answer(503, {"message": str(error)})
        except HeadwayError as error:
            self._answer(400, {"message": str(error)})

    def _check_token(self) -> None:
        kind, _, said = self.headers.get("Authorization", "").partition(" ")
        if kind == "Basic":
            try:
                said = base64.b64decode(said, validate=True).decode(errors="replace").removeprefix(_USER)
            except (binascii.Error, ValueError):  # ValueError: not even ASCII
                said = ""
        if kind not in ("Basic", "Bearer") or not hmac.compare_digest(said.encode(), self.server.token.encode()):
            raise RefusedError(
                401, "the token is missing or wrong; set TOWER_ACCESS_TOKEN to that of `headway receive`"
            )

    def _received(self) -> dict[str, str]:
        """Take a message, and return the answer to it."""
        found = _PATH.fullmatch(self.path)
        if found is None or self.command != ("POST" if found[1] else "PUT"):
            raise RefusedError(404, f"nothing is received by {self.command} at {self.path[:100]!r}")
        body = self._body()
        if found[1]:
            return {"workflowId": secrets.token_hex(8)}
        run, kind = found[2], found[3]
        if kind == "progress":
            try:
                tasks = msgspec.json.decode(body, type=_Progress).tasks
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                what = f"this is not a message of Nextflow: {' '.join(str(error).split())}"
                raise InputError(what, where=self.path) from error
            self.server.learn(observations(tasks, run, self.path))
        return {"watchUrl": self.server.see} if kind == "begin" else {}

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()):
            raise RefusedError(411, "the request does not say how long it is")
        if len(length) > _MOST_DIGITS or int(length) > LARGEST_BYTES:
            raise RefusedError(413, f"a message has at most {LARGEST_BYTES} bytes")
        try:
            body = self.rfile.read(int(length))
        except OSError as error:
            raise InputError(f"the message has not come: {error}") from error
        if len(body) < int(length):
            raise InputError("the message is not whole")
        return body

    def _answer(self, status: int, document: dict[str, str]) -> None:
        text = json.dumps(document).encode()
        self.close_connection = True
        with suppress(OSError):  # the client may be gone
            self.send_response(status)
            if status == 401:
                self.send_header("WWW-Authenticate", 'Basic realm="headway"')
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    def _drop_rest(self) -> None:
        """Read what a refused client still sends: many look for the answer only when they have sent everything."""
        left = 2 * LARGEST_BYTES
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            while left > 0 and (dropped := self.rfile.read1(_CHUNK_BYTES)):
                left -= len(dropped)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what matters is said by those who learn."""
