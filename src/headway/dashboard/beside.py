"""`headway run --serve`: the dashboard in a process of its own beside the manager, which ends when the manager does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from headway.dashboard import check_installed
from headway.journal.folder import Project
from headway.model.errors import SiteError

_ENDS_WITHIN_S = 5.0


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """Serve the run that begins next in a directory, until the end of the block or of this process; yields the address.

    The server is told of the end by a pipe, which the kernel closes also when this process is killed. Ctrl-C does not
    reach it: the run may go on for a while after that.
    """
    check_installed()
    newest = max((int(folder.run) for folder in Project(directory).runs()), default=0)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "headway.dashboard.beside", os.fspath(directory), str(newest)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        line = process.stdout.readline() if process.stdout else b""
        if not line.endswith(b"\n"):
            raise SiteError("the dashboard could not be started", todo="leave out --serve, or try `headway serve`")
        yield msgspec.json.decode(line, type=str)
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main() -> None:
    """Serve until standard input is closed."""
    from headway.dashboard.serve import Serving, serve

    def listening(where: Serving) -> None:
        sys.stdout.buffer.write(msgspec.json.encode(where.url) + b"\n")
        sys.stdout.buffer.flush()

    serve(sys.argv[1], after=int(sys.argv[2]), until_closed=sys.stdin.fileno(), listening=listening)


if __name__ == "__main__":
    main()
