"""A service and its callers: the kernel says whose process is at the other end."""

from __future__ import annotations

import os
import socket
import tempfile

import pytest

from headway.model.errors import InputError
from headway.serving.feed_server import check_user

NOBODY = 65534


def calls_as(uid: int, path: str) -> int:
    """Connect from a process of another user, which stays until it hears something; return its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setuid(uid)
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(path)
            caller.recv(1)
    finally:
        os._exit(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_another_user_is_refused_whatever_the_sockets_mode_is() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        os.chmod(folder, 0o755)
        listener.bind(f"{folder}/socket")
        os.chmod(f"{folder}/socket", 0o777)
        listener.listen()
        for uid, is_refused in ((0, False), (NOBODY, True)):
            pid = calls_as(uid, f"{folder}/socket")
            with listener.accept()[0] as connection:
                if is_refused:
                    with pytest.raises(InputError, match="belongs to another user"):
                        check_user(connection, "service")
                else:
                    check_user(connection, "service")
            os.waitpid(pid, 0)
