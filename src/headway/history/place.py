"""Where the history is kept: the one place that decides it, and the one that opens it."""

from __future__ import annotations

import os
from pathlib import Path

from headway.history.sqlite import SqliteHistory
from headway.model.errors import InputError

VARIABLE = "HEADWAY_HISTORY"
NOWHERE = "none"  # what users write to keep none


def history_place(stated: str = "") -> str:
    """The place as it is written down in a run: the absolute path of a file; empty if none is to be kept.

    `stated` is what the user said for this run; otherwise the environment counts, then the user's data directory.
    Who has no home, as in some containers, has no history there either.
    """
    said = stated or os.environ.get(VARIABLE, "")
    if said == NOWHERE:
        return ""
    if "://" in said:
        raise InputError(
            "a history on a database server is not supported yet", where=said, todo="name a file, or leave it out"
        )
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    place = os.path.expanduser(said or os.path.join(base, "headway", "history.db"))
    return "" if place.split("/")[0] == "~" else os.path.abspath(place)


def open_history(place: str, *, read_only: bool = False) -> SqliteHistory:
    """The history at a place; a `SiteError` if it cannot be used. Servers, when they come, are told from files here."""
    return SqliteHistory(Path(place), read_only=read_only)
