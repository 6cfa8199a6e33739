"""The folder of one attempt: its creation claims the attempt; it holds the command's output and `result.json`."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from headway.model.outcome import Ending, Outcome
from headway.workers.trees.end_note import expect_end, forget_end
from headway.workers.whole_file import write_whole

_RESULT = "result.json"


class AttemptFolder:
    """The folder of one attempt at a task. It exists if and only if a supervisor has claimed the attempt."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.work = path / "work"
        self.end = path / "end"  # while its command runs; then its name tells how the command ended (`end_note`)
        self.stdout = path / "stdout"
        self.stderr = path / "stderr"
        self.script = path / "script"  # the program that an interpreter runs, or a very long command
        self.inputs = path / "inputs.list"  # the paths of the task's inputs, one per line, if its command wants them
        self.kept = path.parent / "kept"  # files that an attempt saves for the next attempt at its task

    def claim(self) -> bool:
        """Claim the attempt; return False if it was claimed before.

        Its folder is as open as the folder of all tasks: that of a run in another account's pool is open to a group.
        It is not claimed if there is no room for noting its end.
        """
        mode = mode_of(self.path.parents[1])
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=mode)
        try:
            self.path.mkdir(mode=mode)
        except FileExistsError:
            return False
        try:
            expect_end(str(self.end))
        except OSError:
            self.path.rmdir()
            raise
        return True

    def write_result(self, outcome: Outcome) -> None:
        """Write the outcome atomically: readers see the whole file or none."""
        write_whole(self.path / _RESULT, msgspec.json.encode(outcome), mode=mode_of(self.path) & 0o666)

    def result(self) -> Outcome | None:
        """Return the outcome, or None if none was written."""
        try:
            return msgspec.json.decode((self.path / _RESULT).read_bytes(), type=Outcome)
        except (FileNotFoundError, NotADirectoryError, msgspec.MsgspecError):
            return None

    def tidy(self, outcome: Outcome) -> None:
        """Delete empty logs and, after a success, the working directory."""
        with contextlib.suppress(OSError):  # the outcome stands, even if tidying fails
            forget_end(str(self.end))
            for log in (self.stdout, self.stderr):
                if log.exists() and not log.stat().st_size:
                    log.unlink()
            if outcome.ending is Ending.SUCCESS:
                self.script.unlink(missing_ok=True)
                self.inputs.unlink(missing_ok=True)
                for directory in (self.work, self.kept):
                    if directory.exists():
                        remove_tree(directory)


def mode_of(folder: Path) -> int:
    """Who may do what in a folder; only its owner, if there is no such folder yet."""
    try:
        return folder.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0o700


def remove(path: Path) -> None:
    """Delete a file or a directory, if it exists."""
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def remove_tree(path: str | Path) -> None:
    """Delete a directory, including subdirectories that their owner has no permission to read."""
    with contextlib.suppress(PermissionError):  # made by another account, in a pool: its group may be allowed to
        os.chmod(path, 0o700)
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.path)
            else:
                os.unlink(entry.path)
    os.rmdir(path)
