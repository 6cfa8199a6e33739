"""`FeedServer`: the part that all servers of growing runs share, their thread and their socket."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
from abc import abstractmethod
from collections.abc import Collection, Sequence

from headway.drivers.feed import Feed
from headway.journal.folder import Project, RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.model import records
from headway.model.errors import InputError, SiteError
from headway.peers import peer_of
from headway.workers.group_access import give_to_group
from headway.workers.short_path import short_path

SOCKET = "socket"  # in the run's folder
_BACKLOG = 1024  # clients that connect at the same moment
_FLUSH_S = 5.0  # at the end, for clients to take what they are told


class FeedServer(Feed):
    """Serves clients in a thread of its own while another one drives the run, whose records `observe` takes.

    Everything but `observe` and `close` happens in the server's thread.
    """

    link: str  # in the folder .headway, for clients that do not know the run
    longest_line_bytes: int
    group: int | None = None  # whose users may connect, besides the owner

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="headway-server", daemon=True)
        self._watch: asyncio.Task[None] | None = None
        self._server: asyncio.Server | None = None

    # --- in the thread that drives the run ---

    def observe(self, batch: Sequence[records.Event | records.Decision]) -> None:
        """Take records that are in the journal; the first ones mean that the run has begun."""
        if self._server is None:
            self._begin(batch)
            return
        self._loop.call_soon_threadsafe(self._take, batch)

    def _begin(self, batch: Sequence[records.Event | records.Decision]) -> None:
        if any(isinstance(record, records.Resumed) for record in batch):
            journal = SqliteJournal(self.known_folder.journal, read_only=True)
            self._take(list(journal.replay()))
            journal.close()
            self._caught_up()
        else:
            self._take(batch)
        listener = _listen(self.known_folder, self.link, self.group)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._serve(listener), self._loop).result()

    def close(self, message: str, *, ended: bool = True) -> None:
        """Tell the clients that still wait why they do in vain, and stop serving. One that `ended` has no link."""
        self.detach()
        if self._server is None:  # the run did not begin
            self._loop.close()
            return
        if ended:
            (Project(self.known_folder.directory).path / self.link).unlink(missing_ok=True)
        asyncio.run_coroutine_threadsafe(self._end(message), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        (self.known_folder.path / SOCKET).unlink(missing_ok=True)

    @property
    def known_folder(self) -> RunFolder:
        """The run's folder; an error before the run has begun."""
        if self.folder is None:
            raise RuntimeError("the run has not begun")
        return self.folder

    def _caught_up(self) -> None:
        """The records of a run that is resumed have been taken."""

    @abstractmethod
    def _take(self, batch: Sequence[records.Event | records.Decision]) -> None:
        """Take records that are in the journal."""

    # --- in the server's thread ---

    async def _serve(self, listener: socket.socket) -> asyncio.Server:
        self._watch = asyncio.create_task(self._look_around())
        return await asyncio.start_unix_server(self._talk, sock=listener, limit=self.longest_line_bytes)

    @abstractmethod
    async def _look_around(self) -> None:
        """See to what nobody asks for, until this is cancelled."""

    @abstractmethod
    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client."""

    async def _end(self, message: str) -> None:
        """Tell all clients that still wait that the server ends."""
        if self._server is not None:
            self._server.close()
        if self._watch is not None:
            self._watch.cancel()


async def hang_up(writers: Collection[asyncio.StreamWriter]) -> None:
    """Let clients take what was sent, and close the connections."""
    for writer in writers:
        writer.close()
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(_FLUSH_S):
            await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)


def check_user(connection: socket.socket, what: str) -> None:
    """Refuse other users, whatever the permissions of the socket are."""
    if peer_of(connection)[1] != os.geteuid():
        raise InputError(f"this {what} belongs to another user", todo=f"start one of your own with `headway {what}`")


def _listen(folder: RunFolder, name: str, group: int | None) -> socket.socket:
    """Listen on a socket in the run's folder, and link to it from the project's.

    Only the owner can enter these folders. The users of a `group` can enter but not list them, and use the socket.
    """
    listener = socket.socket(socket.AF_UNIX)
    link = folder.path.parents[1] / name
    fresh = link.with_name(f".{name}.{os.getpid()}")
    try:
        (folder.path / SOCKET).unlink(missing_ok=True)
        with short_path(folder.path, SOCKET) as path:
            listener.bind(path)
            os.chmod(path, 0o600)
        if group is not None:
            for above in (folder.path, *folder.path.parents[:3]):
                give_to_group(above, group, 0o710)
            give_to_group(folder.path / SOCKET, group, 0o660)
        listener.listen(_BACKLOG)
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(os.path.relpath(folder.path / SOCKET, link.parent))
        fresh.replace(link)  # at no time there is none
    except OSError as error:
        listener.close()
        raise SiteError(f"cannot make a socket here: {error.strerror}", where=str(folder.path)) from error
    return listener
