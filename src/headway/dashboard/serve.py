"""`serve`: the dashboard's server, from its socket to its end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import uvicorn

from headway.api.answers import Answer
from headway.api.receive import token_in
from headway.api.whole_files import check_target, write_whole
from headway.dashboard.app import Dashboard
from headway.dashboard.connections import limits
from headway.dashboard.guard import Keys
from headway.dashboard.shelf import Shelf
from headway.model.errors import HeadwayError, InputError, SiteError

HOST = "127.0.0.1"
METRICS_EVERY_S = 15.0
_LONGEST_SOCKET = 107  # bytes of a path that Linux takes for a socket


class Serving(Answer, frozen=True):
    """Where the dashboard is: `url` with its token, `share` for others to look, and the socket if it is one."""

    folder: str
    url: str
    share: str | None
    port: int | None
    socket: str | None
    pid: int


def serve(
    folder: str | os.PathLike[str] = ".",
    *,
    port: int = 0,
    socket_path: str | os.PathLike[str] | None = None,
    share: bool = False,
    token_file: str | os.PathLike[str] | None = None,
    metrics_file: str | os.PathLike[str] | None = None,
    after: int | None = None,
    until_closed: int | None = None,
    listening: Callable[[Serving], object] = lambda where: None,
    warn: Callable[[str], object] = lambda text: None,
) -> None:
    """Serve the runs below `folder` until Ctrl-C or SIGTERM; `listening` is called when a browser may come.

    With `after`, only runs of the folder itself with a higher number are shown. With `until_closed`, a file
    descriptor, the server also ends when the other end of that pipe is closed.
    """
    if not Path(folder).is_dir():
        raise InputError("there is no such directory", where=str(folder))
    if metrics_file is not None:
        check_target(Path(metrics_file), force=True)
    keys = Keys.of(token_in(Path(token_file)) if token_file else None, shared=share)
    dashboard = Dashboard(Shelf(Path(folder), after), keys)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # refused requests are no news
    with _listening(port, socket_path) as (listener, number):
        at = f"http://{HOST}:{number}" if number else "http://localhost:8080"
        where = Serving(
            str(dashboard.shelf.folder),
            f"{at}/?token={quote(keys.owner, safe='')}",
            f"{at}/?token={keys.reader}" if share else None,
            number,
            str(socket_path) if socket_path is not None else None,
            os.getpid(),
        )

        async def beside(board: Dashboard) -> None:
            listening(where)
            if metrics_file is not None:
                await _write_metrics(board, Path(metrics_file), warn)

        server = _Server(uvicorn.Config(dashboard.app(beside), **limits()))
        server.until_closed = until_closed
        server.run([listener])


async def _write_metrics(board: Dashboard, file: Path, warn: Callable[[str], object]) -> None:
    """Write the metrics again and again; node-exporter reads a whole file or none."""
    said = ""
    while True:
        try:
            text = await board.metrics_now()
            await asyncio.to_thread(write_whole, file, [text], mode=0o644)
            said = ""
        except HeadwayError as error:  # a full disk may have room again
            if str(error) != said:
                warn(said := str(error))
        await asyncio.sleep(METRICS_EVERY_S)


class _Server(uvicorn.Server):
    """A server that ends without an error after Ctrl-C, and when a pipe is closed."""

    until_closed: int | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at the first signal; a second one ends the process."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, self._stop)
        if self.until_closed is not None:
            loop.add_reader(self.until_closed, self._stop)
        yield

    def _stop(self) -> None:
        loop = asyncio.get_running_loop()
        if self.until_closed is not None:
            loop.remove_reader(self.until_closed)
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(each)
        self.should_exit = True


@contextmanager
def _listening(port: int, path: str | os.PathLike[str] | None) -> Iterator[tuple[socket.socket, int | None]]:
    """A socket that listens: at a port of the loopback device, or at a path that only its owner may use."""
    if path is None:
        with socket.socket(socket.AF_INET) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((HOST, port))
                listener.listen()  # from here on a browser may come
            except OSError as error:
                todo = "name another --port, or none for any that is free"
                raise SiteError(f"cannot listen at port {port}: {error.strerror}", todo=todo) from error
            yield listener, listener.getsockname()[1]
        return
    name = os.path.abspath(path)
    _make_room(name)
    with socket.socket(socket.AF_UNIX) as listener:
        before = os.umask(0o177)
        try:
            listener.bind(name)
            listener.listen()
        except OSError as error:
            raise SiteError(f"cannot listen here: {error.strerror or error}", where=name) from error
        finally:
            os.umask(before)
        made = os.stat(name).st_ino
        try:
            yield listener, None
        finally:
            with suppress(OSError):  # another server may have taken the place
                if os.stat(name).st_ino == made:
                    os.unlink(name)


def _make_room(name: str) -> None:
    """Remove a socket that nobody listens at; complain about anything else in its place."""
    if len(os.fsencode(name)) > _LONGEST_SOCKET:
        raise InputError(
            f"the path of a socket has at most {_LONGEST_SOCKET} bytes", where=name, todo="use a shorter one"
        )
    try:
        kind = os.lstat(name).st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(kind):
        raise InputError("this exists and is no socket", where=name, todo="name another path")
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(name)
        except ConnectionRefusedError:
            os.unlink(name)
            return
        except OSError as error:
            raise SiteError(f"this socket cannot be used: {error.strerror}", where=name) from error
    raise InputError("another server listens here", where=name, todo="name another path, or end that server")
