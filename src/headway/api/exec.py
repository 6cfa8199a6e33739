"""`execute`: run one command in a service, and wait for its end."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from headway.api.answers import Answer
from headway.model.errors import InputError
from headway.serving.client import PATIENCE_S, VARIABLE, Call, ServiceError, find

SERVICE_VARIABLE = VARIABLE  # of the environment: the socket or the directory of the service


class Executed(Answer, frozen=True, kw_only=True):
    """A command that has ended. `cause` is `success`, `exit-code`, `signal`, `memory`, …, or why it did not start.

    `stdout` and `stderr` are what it wrote, unless the caller took that as it came.
    """

    task: str
    exit_code: int
    cause: str
    message: str = ""
    attempts: int = 0
    memory_bytes: float | None = None
    wall_s: float | None = None
    cpu_s: float | None = None
    stdout: str = ""
    stderr: str = ""


def execute(
    command: Sequence[str],
    service: str | os.PathLike[str] = "",
    *,
    category: str = "",
    name: str = "",
    hints: Mapping[str, float | str] | None = None,
    limits: Mapping[str, float | str] | None = None,
    wish: Mapping[str, str] | None = None,
    quote: str = "",
    retries: int = 0,
    on_exhausted: str = "retry",
    directory: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: bool | str | os.PathLike[str] = False,
    keep: bool = False,
    wait_s: float = PATIENCE_S,
    output: Callable[[str, bytes], object] | None = None,
) -> Executed:
    """Run a command in the service of a directory (by default the nearest one above), and return how it ended.

    By default it runs in the current directory, with this process's environment. `hints` and `limits` are amounts by
    resource (`{"memory_bytes": "2 GB"}`), `quote` is the name of one that `headway.quote` got. `wish` says in which
    jobs of a cluster it may run (`{"partition": "long"}`). With `stdin` it gets a file, or all of this process's
    standard input. `output` is called with `stdout` or `stderr` and bytes as they come.
    If this process dies, the command is cancelled, unless it is to be kept. A service that dies is awaited `wait_s`.
    """
    taken: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    request: dict[str, Any] = {
        "argv": list(command),
        "category": category,
        "name": name,
        "hints": dict(hints or {}),
        "limits": dict(limits or {}),
        "wish": dict(wish or {}),
        "quote": quote,
        "retries": retries,
        "on_exhausted": on_exhausted,
        "keep": keep,
    }
    if directory is not None:
        request["directory"] = os.path.abspath(directory)
    if environment is not None:
        request["environment"] = dict(environment)
    if not isinstance(stdin, bool):
        request["stdin"] = os.path.abspath(stdin)
    try:
        place = find(os.fspath(service))
        call = Call(request, place, output or (lambda stream, data: taken[stream].append(data)))
        if stdin is True:
            call.give_stdin(from_pipe=True)
        call.patience_s = wait_s
        ended = call.run()
    except ServiceError as error:
        raise InputError(str(error)) from error
    texts = {stream: b"".join(parts).decode(errors="replace") for stream, parts in taken.items()}
    return msgspec.convert(ended | texts, Executed)
