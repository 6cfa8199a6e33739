"""An attempt's folder: claimed by creating it, with the command's output, and at the end `result.json`."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from headway.model.outcome import Ending, Outcome

_RESULT = "result.json"


class AttemptFolder:
    """The place of one attempt at a task. It exists if and only if somebody has claimed the attempt."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.work = path / "work"
        self.stdout = path / "stdout"
        self.stderr = path / "stderr"
        self.kept = path.parent / "kept"  # what one attempt at the task leaves for the next

    def claim(self) -> bool:
        """Take the attempt; False if somebody has it already."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self.path.mkdir(mode=0o700)
        except FileExistsError:
            return False
        return True

    def write_result(self, outcome: Outcome) -> None:
        """Say how it ended; readers see all of it or nothing."""
        temporary = self.path / f"{_RESULT}.new"
        temporary.write_bytes(msgspec.json.encode(outcome))
        temporary.rename(self.path / _RESULT)

    def result(self) -> Outcome | None:
        """How it ended, if that was written."""
        try:
            return msgspec.json.decode((self.path / _RESULT).read_bytes(), type=Outcome)
        except (FileNotFoundError, NotADirectoryError, msgspec.MsgspecError):
            return None

    def tidy(self, outcome: Outcome) -> None:
        """Remove what nobody will look at: empty logs, and after a success the working directory."""
        with contextlib.suppress(OSError):  # whatever is wrong with it, the outcome stands
            for log in (self.stdout, self.stderr):
                if log.exists() and not log.stat().st_size:
                    log.unlink()
            if outcome.ending is Ending.SUCCESS:
                for directory in (self.work, self.kept):
                    if directory.exists():
                        remove_tree(directory)


def remove_tree(path: str | Path) -> None:
    """Remove a directory, also one whose owner took away their own permission to look into it."""
    os.chmod(path, 0o700)
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.path)
            else:
                os.unlink(entry.path)
    os.rmdir(path)
