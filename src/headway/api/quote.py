"""`quote`: what a command would be given by a service, for tools that write amounts into scripts before they submit."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from headway.api.answers import Answer
from headway.model.errors import InputError
from headway.serving.client import Connection, ServiceError, find


class Quote(Answer, frozen=True):
    """Amounts by resource that a command gets which is executed with this quote: exactly these."""

    name: str
    amounts: dict[str, float]


def quote(
    service: str | os.PathLike[str] = "",
    *,
    category: str = "",
    hints: Mapping[str, float | str] | None = None,
    limits: Mapping[str, float | str] | None = None,
    wish: Mapping[str, str] | None = None,
    input_bytes: int | None = None,
    failures: Mapping[str, Sequence[float]] | None = None,
) -> Quote:
    """Ask the service of a directory (by default the nearest one above) what a command of `category` would be given.

    `wish` says in which jobs of a cluster it may run, as for `headway.execute`. `failures` are the amounts that were
    not enough for earlier attempts at this command, by resource. Raises an `InputError` if no amount would be enough.
    """
    name = uuid.uuid4().hex
    request = {
        "do": "quote",
        "quote": name,
        "category": category,
        "hints": dict(hints or {}),
        "limits": dict(limits or {}),
        "wish": dict(wish or {}),
        "input_bytes": input_bytes,
        "failures": {resource: list(amounts) for resource, amounts in (failures or {}).items()},
    }
    return Quote(name, _ask(service, request)["amounts"])


def runs_in_jobs(service: str | os.PathLike[str] = "") -> bool:
    """Whether the commands of a service run in jobs of a cluster."""
    return bool(_ask(service).get("in_jobs"))


def _ask(service: str | os.PathLike[str], request: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the service's answer to a request, or to the greeting."""
    try:
        connection = Connection(find(os.fspath(service)))
    except ServiceError as error:
        raise InputError(str(error)) from error
    except OSError as error:
        raise InputError(f"no service answers: {error}", todo="start one with `headway service &`") from error
    try:
        if request is not None:
            connection.send(request)
        for message in connection.receive():
            if message["event"] in ("error", "stopping"):
                raise InputError(message["message"])
            if request is None or message["event"] != "hello":
                return message
    finally:
        connection.close()
    raise InputError("the service is gone", todo="`headway service` goes on with its commands")
