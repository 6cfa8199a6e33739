"""The supervisor's end of the spawner: sends it requests to start commands and passes its replies on."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

from headway.model.errors import SiteError
from headway.workers.trees import spawner
from headway.workers.trees.processes import MARKER
from headway.workers.trees.tree import Tree

_START_TIMEOUT_S = 60.0  # for a Python that is not cached, on a slow shared file system

_log = logging.getLogger(__name__)


class Launcher(asyncio.Protocol):
    """One spawner process. If it dies, `on_lost` is called once, and a new Launcher is needed."""

    def __init__(self, marker: str, on_lost: Callable[[], None], on_unwitnessed: Callable[[Tree], None]) -> None:
        """`marker` is in the spawner's environment, by which it is found.

        `on_unwitnessed` is called with the tree of a command whose witness was killed.
        """
        self._marker = marker
        self._on_lost = on_lost
        self._on_unwitnessed = on_unwitnessed
        self._waiting: dict[int, Tree] = {}
        self._last_token = 0
        self._received = bytearray()
        self._closing = False
        self._socket: socket.socket
        self._ready: asyncio.Future[None]
        self._transport: asyncio.Transport
        self._process: subprocess.Popen[bytes]
        self.floor_bytes = 0  # `ru_maxrss` of a command that uses no memory of its own
        self.lost = False

    def spawn(self) -> int:
        """Start the spawner; return its process id."""
        self._socket, theirs = socket.socketpair()
        with theirs:
            script = str(Path(spawner.__file__).resolve())
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", script, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=os.environ | {MARKER: self._marker},
                cwd="/",  # a working directory could not be unmounted
                start_new_session=True,  # so that Ctrl-C at the supervisor's terminal does not end it
            )
        _log.debug("started the spawner as process %d", self._process.pid)
        return self._process.pid

    async def connect(self) -> None:
        """Wait until the spawner answers."""
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                self._transport, _ = await loop.create_connection(lambda: self, sock=self._socket)
                await self._ready
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise

    def launch(self, tree: Tree) -> None:
        """Ask the spawner to start a tree's command; the tree gets the replies.

        The last is `failed`, `ended`, or that its witness was killed.
        """
        spec = tree.spec
        self._last_token += 1
        self._waiting[self._last_token] = tree
        encode = os.fsencode
        request: spawner.Request = (
            self._last_token,
            [encode(argument) for argument in spec.argv],
            {encode(name): encode(value) for name, value in (spec.environment | {MARKER: spec.key}).items()}
            | {encode(name): None for name in spec.without if name not in spec.environment},
            encode(os.path.abspath(spec.directory)),  # the spawner's working directory is /
            encode(os.path.abspath(spec.stdout)),
            encode(os.path.abspath(spec.stderr)),
            [encode(path) for path in tree.group.procs_files],
            encode(os.path.abspath(spec.end_file)) if spec.end_file else b"",
        )
        self._transport.write(spawner.pack(request))

    async def close(self) -> None:
        """End the spawner. The commands that it started keep running."""
        self._closing = True
        self._transport.close()
        await asyncio.to_thread(self._process.wait)

    def data_received(self, data: bytes) -> None:
        """Handle replies from the spawner."""
        self._received += data
        for token, kind, *details in spawner.unpack(self._received):
            number = cast(int, token)
            match kind:
                case spawner.STARTED:
                    self._waiting[number].started(*cast(tuple[int, float, int], details))
                case spawner.ENDED:
                    self._waiting.pop(number).ended(*cast(tuple[float, int, float, int, bool], details))
                case spawner.FAILED:
                    self._waiting.pop(number).failed(*cast(tuple[str, int], details))
                case spawner.UNWITNESSED:
                    self._on_unwitnessed(self._waiting.pop(number))
                case spawner.READY:
                    self.floor_bytes = cast(int, details[0])
                    self._ready.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the spawner, which died or was closed."""
        self.lost = True
        if not self._ready.done():
            self._ready.set_exception(SiteError(f"the spawner did not start: {exc or 'see its messages above'}"))
        elif not self._closing:
            self._process.wait()  # its socket is closed, so it has ended or is about to
            code, running = self._process.returncode, len(self._waiting)
            _log.warning("the spawner died with code %s while %d commands were running", code, running)
            self._on_lost()
