"""Whose folder `.headway` is: one that others made, or can write to, may hold anything, and is not used.

What stands in it decides which processes are signalled, which files are moved and what is run. In a directory that
many can write to, somebody else may have made it first.
"""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

from headway.file_systems import without_modes
from headway.model.errors import SiteError


def check_ours(folder: Path, *, read_only: bool = False) -> None:
    """Raise an error unless the folder is one that this account made and nobody else can write to, or is not there.

    Root may read what belongs to another account, as support staff do, and changes nothing there.
    """
    try:
        seen = os.lstat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise SiteError(f"this folder cannot be read: {error.strerror}", where=str(folder)) from error
    if not stat.S_ISDIR(seen.st_mode):
        kind = "a link, which may lead anywhere" if stat.S_ISLNK(seen.st_mode) else "not a folder"
        raise SiteError(f"this is {kind}", where=str(folder), todo="move it away, and start again")
    us = os.geteuid()
    if seen.st_uid != us and (us or not read_only):
        may = "root may look at its runs, not change them" if not us else "only that account can use it"
        todo = f"{may}; run a copy of the workflow in a directory of your own"
        raise SiteError(f"this folder belongs to {_name(seen.st_uid)}", where=str(folder), todo=todo)
    if seen.st_mode & 0o022 and not without_modes(folder):
        todo = f"move it away, or if you trust all that is in it, `chmod -R go-w {folder}`"
        raise SiteError("others can write to this folder, and may have", where=str(folder), todo=todo)


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"account {uid}"
