"""A stranger who may write to a directory above a service: listens, and flips links between the real sockets and that.

`python -P -m tests.security.stranger listen FOLDER NOTED` listens at each of `NAMES` in a folder, and notes what comes.
`… flip SHARED NAME` lets the link SHARED/work lead to SHARED/real and to SHARED/fake in turns, and so the link NAME in
SHARED/fake/.headway to the real socket and to that of the stranger, as fast as it can.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import sys
from pathlib import Path

from headway.integrations import nested_messages, shared_worker
from headway.workers import protocol

SUPERVISOR = f"jobs/{protocol.SOCKET}"
NAMES = ("service", "pool", SUPERVISOR, shared_worker.SOCKET, nested_messages.SOCKET)
_FLIPS = 40  # of the socket, for each of the folder
_FIRST_WITHIN_S, _MORE_WITHIN_S = 5.0, 0.01  # a client on a busy machine takes a while between its connection and that
_GREETING = protocol.encode(protocol.Hello("here", 1, "poll", ""))  # of a supervisor, who speaks first


def listen(folder: Path, noted: Path) -> None:
    """Write all that arrives at the sockets to a file, and hang up."""
    ready = selectors.DefaultSelector()
    (folder / SUPERVISOR).parent.mkdir(exist_ok=True)
    for name in NAMES:
        listener = socket.socket(socket.AF_UNIX)
        with contextlib.chdir(folder):  # a path of at most 107 bytes
            listener.bind(name)
            os.chmod(name, 0o666)
        listener.listen(100)
        ready.register(listener, selectors.EVENT_READ, _GREETING if name == SUPERVISOR else b"")
    with noted.open("ab", buffering=0) as file:
        (folder / "listens").touch()
        while True:
            for key, _ in ready.select():
                assert isinstance(key.fileobj, socket.socket)
                connection, _ = key.fileobj.accept()
                connection.settimeout(_FIRST_WITHIN_S)
                with connection, contextlib.suppress(OSError):
                    connection.sendall(key.data)
                    while data := connection.recv(1 << 16):
                        file.write(data)
                        connection.settimeout(_MORE_WITHIN_S)


def flip(shared: Path, name: Path) -> None:
    """Exchange links for ever."""
    os.chdir(shared)
    (Path("fake/.headway") / name).parent.mkdir(exist_ok=True)
    while True:
        point("work", "real")
        for flips in range(_FLIPS):
            point(f"fake/.headway/{name}", f"{shared}/real/.headway/{name}")
            point(f"fake/.headway/{name}", f"{shared}/fake/sockets/{name}")
            if flips == _FLIPS // 4:
                point("work", "fake")


def point(link: str, target: str) -> None:
    """Let a link lead elsewhere; at no moment there is none."""
    os.symlink(target, f"{link}.new")
    os.rename(f"{link}.new", link)


if __name__ == "__main__":
    globals()[sys.argv[1]](*map(Path, sys.argv[2:]))
