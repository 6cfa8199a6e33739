"""Another user of the machine, who tries to open the files of a run and to talk to its pool.

Usage, as root: `python -m tests.slurm.stranger` reads `Attempts` from standard input and prints `Success`, as JSON.
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
    """The paths to open and the addresses to connect to, with each of the keys."""

    paths: list[str] = []
    addresses: list[tuple[str, int]] = []
    keys: dict[str, str] = {}  # owner: folder with a key and a certificate


class Success(Struct, frozen=True):
    """What the other user could open, and which addresses answered."""

    opened: list[str]
    answered: list[tuple[str, str, int]]  # (kind of key, host, port)


def try_as_stranger(attempts: Attempts) -> Success:
    """Make the attempts as another user and return those that succeeded."""
    words = [sys.executable, "-m", "tests.slurm.stranger"]
    root = Path(__file__).parents[2]
    done = subprocess.run(words, input=msgspec.json.encode(attempts), cwd=root, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=Success)


def _opens(path: str) -> bool:
    """Return whether the path can be read, written, listed or connected to."""
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
    """Return whether the listener at `address` sends data: Dask introduces itself after it has accepted a client."""
    try:
        with socket.socket() as plain:
            plain.settimeout(_ANSWER_WITHIN_S)
            plain.connect(address)
            talk = context.wrap_socket(plain) if context is not None else plain
            if context is None:
                talk.sendall(b"\0" * 64)
            return bool(talk.recv(1)) and context is not None  # without TLS, the only answer is a TLS alert
    except OSError:
        return False


def _context(keys: str | None) -> ssl.SSLContext:
    """Return a TLS context that accepts any server certificate, with a client key or without."""
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
    os.setuid(NOBODY)  # not earlier: only root may be allowed to run the tests' Python
    contexts: dict[str, ssl.SSLContext | None] = {"plain": None, "no key": _context(None)}
    contexts |= {whose: _context(folder) for whose, folder in attempts.keys.items()}
    success = Success(
        [path for path in attempts.paths if _opens(path)],
        [(how, *to) for how, context in contexts.items() for to in attempts.addresses if _answers(to, context)],
    )
    sys.stdout.buffer.write(msgspec.json.encode(success))


if __name__ == "__main__":
    main()
