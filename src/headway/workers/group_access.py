"""How another account's pool gets at a run: through the group of its directory, and to no more than it needs."""

from __future__ import annotations

import os
from pathlib import Path

from headway.model.errors import SiteError


def open_to_group(run: Path) -> None:
    """Let the group of the workflow's directory make attempts' folders in a run, and read what supervisors must know.

    The journal and everything else of the run stays private: the group can enter its folder, and not list it. What is
    made in the folder of tasks belongs to the same group, so that both accounts can read and delete it.
    """
    try:
        group = run.parents[2].stat().st_gid
        for path, mode in (
            (run.parents[1], 0o710),
            (run.parents[0], 0o710),
            (run, 0o710),
            (run / "jobs", 0o2710),
            (run / "tasks", 0o2770),
        ):
            give_to_group(path, group, mode)
    except OSError as error:
        todo = f"`chgrp` {run.parents[2]} to a group of yours that the pool's account is in, and `chmod g+rwx` it"
        what = f"the run cannot be opened to the group of its directory: {error.strerror}"
        raise SiteError(what, where=str(error.filename or run), todo=todo) from error


def give_to_group(path: Path, group: int, mode: int) -> None:
    """Set a path's group and mode; also if only one of them differs, since changing the group clears mode bits."""
    now = path.stat()
    if now.st_gid != group:
        os.chown(path, -1, group)
    if now.st_gid != group or now.st_mode & 0o7777 != mode:
        path.chmod(mode)
