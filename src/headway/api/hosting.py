"""`hosted`: a service that works for as long as another tool does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from headway.model.errors import HeadwayError, InputError
from headway.serving.client import Connection, ServiceError, find

LOG = "service.log"  # in the folder .headway
_IDLE = "10s"  # how long a service outlives a tool that was killed and has no command there
_LOOK_EVERY_S = 0.05
_BETWEEN_INTERRUPTS_S = 1.0


@contextmanager
def hosted(directory: str | os.PathLike[str] = ".", options: Sequence[str] = ()) -> Iterator[str]:
    """Use the service of `directory`, or start one with these options of `headway service` and stop it at the end.

    Yields its socket, the value for HEADWAY_SERVICE. What a service of our own says goes to `.headway/service.log`.
    An error or Ctrl-C inside stops its commands at once; otherwise the last of them may end.
    """
    where = Path(directory).absolute()
    place = find(str(where))
    connection = _connected(place)  # held, so that the service is not idle
    process = None
    if connection is None:
        process, connection = _started(where, place, options)
    try:
        yield place
    except BaseException:
        if process is not None:
            _interrupt(process)
        raise
    else:
        if process is not None:
            with suppress(OSError):  # it may have ended by itself
                connection.send({"do": "stop"})
            process.wait()
    finally:
        connection.close()


def _connected(place: str) -> Connection | None:
    """Return a connection to the service at a socket, if there is one."""
    try:
        return Connection(place)
    except ServiceError as error:  # another user may have made it
        raise InputError(str(error)) from error
    except OSError:
        return None


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """Stop a service and its commands, as Ctrl-C does when it is pressed twice."""
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_BETWEEN_INTERRUPTS_S)


def _started(where: Path, place: str, options: Sequence[str]) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start a service, and return when it answers."""
    log = where / ".headway" / LOG
    try:
        log.parent.mkdir(exist_ok=True)
        said = log.open("wb")
    except OSError as error:
        raise InputError(f"nothing can be written here: {error.strerror}", where=str(log)) from error
    with said:
        # -P: a file here that is called like a module of ours or Python's must not be taken for it
        command = [sys.executable, "-P", "-m", "headway", "service", "--idle", _IDLE, *options]
        process = subprocess.Popen(
            command, cwd=where, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
    try:
        while process.poll() is None:
            if (connection := _connected(place)) is not None:
                return process, connection
            time.sleep(_LOOK_EVERY_S)
    except BaseException:
        _interrupt(process)
        raise
    said_last = log.read_text(errors="replace").strip().removeprefix("headway: ")
    failure = HeadwayError(said_last or "the service ended before it began")
    failure.exit_code = process.returncode
    raise failure
