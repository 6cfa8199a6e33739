"""`service`: a run that grows by commands, which other programs submit; `stop_service` ends it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence
from pathlib import Path

from headway.api.answers import Answer
from headway.api.growing import start_or_go_on
from headway.api.run_result import RunResult, ended
from headway.api.settings import RunSettings, settings_for
from headway.drivers.real import Observer
from headway.drivers.run_history import Warn, warn_program
from headway.model.errors import InputError
from headway.peers import UntrustedError, connect
from headway.report.run.progress import Progress
from headway.report.run.summary import RunSummary
from headway.serving.messages import VERSION
from headway.serving.server import LINK, CommandServer

NAME = "commands"
_STOPPED = "the service was stopped before this command ended; `headway service` goes on with the run"


def service(
    directory: str | os.PathLike[str] = ".",
    settings: RunSettings | None = None,
    *,
    idle_s: float | None = None,
    progress: Progress | None = None,
    observers: Sequence[Observer] = (),
    warn: Warn = warn_program,
) -> RunResult:
    """Run the commands that clients submit, such as `headway exec`, until told to stop; return how the run ended.

    It goes on with the last run of `directory` if that was a service's and was stopped or killed: then the settings of
    that run count. With `idle_s`, it ends when there was no command and no client for that time.
    """
    where = Path(directory)
    if not where.is_dir():
        raise InputError("there is no such directory", where=str(where))
    settings = settings or settings_for(where)
    server = CommandServer(idle_s)
    progress = progress or Progress(RunSummary())
    message = _STOPPED
    try:
        start_or_go_on(NAME, where, settings, server, progress, observers, warn)
    except BaseException as error:
        message = f"the service broke down: {error}"
        raise
    finally:
        server.close(message)
    return ended(server.known_folder, progress, settings)


class ServiceStopped(Answer, frozen=True):
    """A service that was told to stop."""

    directory: Path
    message: str


def stop_service(directory: str | os.PathLike[str] = ".", *, wait: bool = True) -> ServiceStopped:
    """Let the service of `directory` take no more commands, and `wait` until its last has ended."""
    where = Path(directory).resolve()
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connect(connection, str(where / ".headway"), LINK)
        except UntrustedError as error:
            raise InputError(error.what, where=error.where, todo=error.todo) from error
        except OSError as error:
            todo = "there is nothing to stop; `headway service` starts one"
            raise InputError("no service is at work here", where=str(where), todo=todo) from error
        for request in ({"do": "hello", "version": VERSION}, {"do": "stop"}):
            connection.sendall(json.dumps(request).encode() + b"\n")
        connection.recv(1)
        while wait and connection.recv(4096):
            pass
    return ServiceStopped(where, "the service has stopped" if wait else "the service was told to stop")
