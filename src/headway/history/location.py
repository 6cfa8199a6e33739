"""Where the history is kept, and opening it there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from headway.history.address import is_address, without_secrets
from headway.history.base import NoHistoryError
from headway.history.sql import History
from headway.history.sqlite import SqliteHistory
from headway.model.errors import InputError, SiteError

VARIABLE = "HEADWAY_HISTORY"
NOWHERE = "none"  # what users write to keep no history

_SECRETS: dict[str, dict[str, str]] = {}  # by location: they came with an address, and stay in this process


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
