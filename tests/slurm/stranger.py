"""Another user of the machine, who tries to look into a run and to talk to its pool.

Run as root: `python -m tests.slurm.stranger` reads from its input what to try, and prints what it got.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

NOBODY = 65534
_ANSWER_WITHIN_S = 30.0


class Attempts(Struct, frozen=True):
    """What to try, on paths and on ports, with which keys."""

    paths: list[str] = []
    addresses: list[tuple[str, int]] = []
    keys: dict[str, str] = {}  # folders of key and certificate, by whose they are


class Success(Struct, frozen=True):
    """What somebody else got."""

    opened: list[str]
    answered: list[tuple[str, str, int]]  # how, and who


def try_as_stranger(attempts: Attempts) -> Success:
    """Let somebody else try."""
    words = [sys.executable, "-m", "tests.slurm.stranger"]
    root = Path(__file__).parents[2]
    done = subprocess.run(words, input=msgspec.json.encode(attempts), cwd=root, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=Success)


def _opens(path: str) -> bool:
    """Whether anything can be done with it: read, write, list, connect."""
    with contextlib.suppress(OSError):
        kind = os.stat(path).st_mode
        ways: list[Callable[[], object]]
        if stat.S_ISDIR(kind):
            ways = [lambda: os.listdir(path), lambda: Path(path, "stranger").touch()]
        elif stat.S_ISSOCK(kind):
            ways = [lambda: socket.socket(socket.AF_UNIX).connect(path)]
        else:
            ways = [lambda: os.open(path, os.O_RDONLY), lambda: os.open(path, os.O_WRONLY)]
        for way in ways:
            with contextlib.suppress(PermissionError):
                way()
                return True
    return False


def _answers(address: tuple[str, int], context: ssl.SSLContext | None) -> bool:
    """Whether who listens there says anything: Dask says who it is when it has let somebody in."""
    try:
        with socket.socket() as plain:
            plain.settimeout(_ANSWER_WITHIN_S)
            plain.connect(address)
            talk = context.wrap_socket(plain) if context is not None else plain
            if context is None:
                talk.sendall(b"\0" * 64)
            return bool(talk.recv(1)) and context is not None  # what answers without TLS is a TLS alert
    except OSError:
        return False


def _context(keys: str | None) -> ssl.SSLContext:
    """TLS that does not care who answers, with a key or without."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if keys is not None:
        context.load_cert_chain(f"{keys}/certificate.pem", f"{keys}/key.pem")
    return context


def main() -> None:
    attempts = msgspec.json.decode(sys.stdin.buffer.read(), type=Attempts)
    os.chdir("/")
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)  # only now: the Python of the tests may be root's alone
    contexts: dict[str, ssl.SSLContext | None] = {"plain": None, "no key": _context(None)}
    contexts |= {whose: _context(folder) for whose, folder in attempts.keys.items()}
    success = Success(
        [path for path in attempts.paths if _opens(path)],
        [(how, *to) for how, context in contexts.items() for to in attempts.addresses if _answers(to, context)],
    )
    sys.stdout.buffer.write(msgspec.json.encode(success))


if __name__ == "__main__":
    main()
