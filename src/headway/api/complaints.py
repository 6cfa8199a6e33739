"""Errors as the line and the exit code with which a process ends."""

from __future__ import annotations

import errno
import os

from headway.model.errors import HeadwayError, SiteError

BUG = 70
# Trouble of the machine, which may come with any file.
_TROUBLE = (errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE, errno.EMFILE)
_OF_DISKS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE)  # also of files that are open already


def line_and_code(error: Exception) -> tuple[str, int]:
    """Return the sentence for standard error and the exit code; what is neither ours nor the machine's is a bug."""
    if isinstance(error, HeadwayError):
        return str(error), error.exit_code
    if isinstance(error, OSError) and error.errno in _TROUBLE and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}", SiteError.exit_code
    if isinstance(error, OSError) and error.errno in _OF_DISKS:
        return f"a file cannot be written or read: {error.strerror}", SiteError.exit_code
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    todo = "nothing is lost, but this is a bug: please report it with what HEADWAY_DEBUG=1 shows"
    return f"{what}; {todo}", BUG
