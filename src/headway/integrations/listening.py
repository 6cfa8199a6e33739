"""A socket on which processes that this program started call back: one thread for each connection."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable


def serve(listener: socket.socket, talk: Callable[[socket.socket], None], name: str) -> None:
    """Call `talk` with each connection, in a thread of this name, until `stop`; return at once."""

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), name=name, daemon=True).start()

    threading.Thread(target=accept, name=name, daemon=True).start()


def stop(listener: socket.socket) -> None:
    """Accept no more connections."""
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()
