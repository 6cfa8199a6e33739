"""The folder in which a supervisor works: whether it is still where it was when the supervisor started."""

from __future__ import annotations

import os
from pathlib import Path

from headway.model.errors import SiteError

GONE = "it was deleted or moved away while its run was going on"
GONE_TODO = "put it back, then `headway resume`; or start anew with `headway run`"


class OwnFolder:
    """This process's working directory, which lies in the folder of its run."""

    def __init__(self) -> None:
        self._path = Path.cwd()
        self._identity = _identity(os.stat(self._path))

    @property
    def is_deleted(self) -> bool:
        """Whether it was deleted, and not only moved: it will not come back."""
        return os.stat(".").st_nlink == 0

    def require(self) -> None:
        """Raise a SiteError if the run's folder was deleted, moved or replaced: nothing can be written there."""
        try:
            if _identity(os.stat(self._path)) == self._identity:
                return
        except FileNotFoundError:
            pass
        raise SiteError(GONE, where=str(missing_part(self._path) or self._path), todo=GONE_TODO)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def missing_part(path: Path) -> Path | None:
    """Return the topmost part of a path that is not there any more; None if all of it is, or that cannot be told."""
    missing = None
    for part in (path, *path.parents):
        try:
            part.stat()
        except FileNotFoundError:
            missing = part
        except OSError:
            return None
        else:
            break
    return missing
