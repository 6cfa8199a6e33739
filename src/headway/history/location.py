"""Where the history is kept, and opening it there.

The address of a server is shown and journalled; its secrets are split off and stay in the process.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from headway.history.base import NoHistoryError
from headway.history.sql import History
from headway.history.sqlite import SqliteHistory
from headway.model.errors import InputError, SiteError

VARIABLE = "HEADWAY_HISTORY"
NOWHERE = "none"  # what users write to keep no history
SCHEMES = ("postgresql", "postgres")
_SECRET = ("password", "sslpassword")  # of libpq's parameters
# Strict, so that part of a password with an unusual character is not mistaken for something that may be shown.
_AFTER_SCHEME = re.compile(r"((?P<user>[^/?#]*)@)?(?P<servers>[^@/?#]*)(?P<database>/[^@/?#]*)?(\?(?P<query>[^@#]*))?")
_SERVER = re.compile(r"(\[[0-9a-fA-F:.%]*\]|[^:\[\]]*)(:\d*)?")

_SECRETS: dict[str, dict[str, str]] = {}  # by location: they came with an address, and stay in this process


def is_address(location: str) -> bool:
    """Whether a location is a server's address rather than a file."""
    return "://" in location


def without_secrets(address: str) -> tuple[str, dict[str, str]]:
    """Split an address into what may be shown and journalled, and its secrets, by libpq's names."""
    scheme = address.partition("://")[0]
    if scheme not in SCHEMES:
        raise InputError(
            "a history is a file, or a PostgreSQL database",
            where=f"{scheme}://…",
            todo="write a path, or postgresql://user@host/database",
        )
    found = _AFTER_SCHEME.fullmatch(address, len(scheme) + 3)
    if found is None or not all(map(_SERVER.fullmatch, found["servers"].split(","))):
        raise InputError(
            "the address of this history cannot be read",
            where=f"{scheme}://…",
            todo="write postgresql://user@host:port/database, and in names %40 for @, %2F for /, %3F for ?, %23 for #",
        )
    user, _, password = (found["user"] or "").partition(":")
    secrets = {"password": unquote(password)} if password else {}
    shown = []
    for parameter in (found["query"] or "").split("&"):
        name, _, value = map(unquote, parameter.partition("="))
        if name in _SECRET:
            secrets[name] = value
        else:
            shown.append(parameter)
    query = "&".join(shown)
    rest = (user and f"{user}@") + found["servers"] + (found["database"] or "") + (query and f"?{query}")
    return f"{scheme}://{rest}", secrets


def history_location(stated: str = "") -> str:
    """The location as a run's journal has it: the absolute path of a file, or the address of a PostgreSQL database
    without its password; empty if no history is kept.

    `stated` is what the user said for this run; otherwise the environment counts, then the user's data directory. A
    user without a home directory, as in some containers, has no history by default.
    """
    said = stated or os.environ.get(VARIABLE, "")
    if said == NOWHERE:
        return ""
    if is_address(said):
        location, secrets = without_secrets(said)
        if secrets:
            _SECRETS[location] = secrets
        return location
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    path = os.path.expanduser(said or os.path.join(base, "headway", "history.db"))
    return "" if path.split("/")[0] == "~" else os.path.abspath(path)


def open_history(location: str) -> History:
    """Open the history at a location, and create it if there is none; a `SiteError` if it cannot be used."""
    return _open(location, read_only=False)


def find_history(location: str, *, read_only: bool = True) -> History | None:
    """Open the history at a location; None if there is none."""
    try:
        found = _open(location, read_only=True)
    except NoHistoryError:
        return None
    if read_only:
        return found
    found.close()
    return open_history(location)


def _open(location: str, *, read_only: bool) -> History:
    if not is_address(location):
        return SqliteHistory(Path(location), read_only=read_only)
    try:
        from headway.history.postgres import PostgresHistory
    except ImportError as error:
        raise SiteError(
            f"a history on a PostgreSQL server needs psycopg ({error})",
            where=location,
            todo="pip install 'headway[postgres]', or name a file in HEADWAY_HISTORY",
        ) from error
    return PostgresHistory(location, _secrets(location), read_only=read_only)


def _secrets(location: str) -> dict[str, str]:
    """The secrets of an address; after a resume, those in the environment, if it names the same address."""
    said = os.environ.get(VARIABLE, "")
    if location not in _SECRETS and is_address(said):
        with suppress(InputError):  # it does not name this run's history
            address, secrets = without_secrets(said)
            return secrets if address == location else {}
    return _SECRETS.get(location, {})
