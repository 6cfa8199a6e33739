"""Where the history is kept: the one place that decides it, and the one that opens it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from headway.history.address import is_address, without_secrets
from headway.history.base import History, NoHistoryError
from headway.history.sqlite import SqliteHistory
from headway.model.errors import InputError, SiteError

VARIABLE = "HEADWAY_HISTORY"
NOWHERE = "none"  # what users write to keep none

_SECRETS: dict[str, dict[str, str]] = {}  # that came with an address, in this process and nowhere else


def history_location(stated: str = "") -> str:
    """The place as it is written down in a run: the absolute path of a file, or the address of a PostgreSQL database
    without its password; empty if none is to be kept.

    `stated` is what the user said for this run; otherwise the environment counts, then the user's data directory.
    Who has no home, as in some containers, has no history there either.
    """
    said = stated or os.environ.get(VARIABLE, "")
    if said == NOWHERE:
        return ""
    if is_address(said):
        place, secrets = without_secrets(said)
        if secrets:
            _SECRETS[place] = secrets
        return place
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    place = os.path.expanduser(said or os.path.join(base, "headway", "history.db"))
    return "" if place.split("/")[0] == "~" else os.path.abspath(place)


def open_history(place: str) -> History:
    """The history at a place, begun if there is none; a `SiteError` if it cannot be used."""
    return _open(place, read_only=False)


def find_history(place: str, *, read_only: bool = True) -> History | None:
    """The history at a place; None if nobody has begun one there."""
    try:
        found = _open(place, read_only=True)
    except NoHistoryError:
        return None
    if read_only:
        return found
    found.close()
    return open_history(place)


def _open(place: str, *, read_only: bool) -> History:
    if not is_address(place):
        return SqliteHistory(Path(place), read_only=read_only)
    try:
        from headway.history.postgres import PostgresHistory
    except ImportError as error:
        raise SiteError(
            f"a history on a PostgreSQL server needs psycopg ({error})",
            where=place,
            todo="pip install 'headway[postgres]', or name a file in HEADWAY_HISTORY",
        ) from error
    return PostgresHistory(place, _secrets(place), read_only=read_only)


def _secrets(place: str) -> dict[str, str]:
    """What came with this address; after a resume, what the environment says, if it means the same place."""
    said = os.environ.get(VARIABLE, "")
    if place not in _SECRETS and is_address(said):
        with suppress(InputError):  # no matter: it is not what this run was told
            address, secrets = without_secrets(said)
            return secrets if address == place else {}
    return _SECRETS.get(place, {})
