"""A job's folder: the request, the claim of the one job that may run, and the job's marks, which outrank the queue."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
from msgspec import Struct

from headway.model.errors import SiteError
from headway.model.resources import Resources

SCRIPT = "script.sh"
CLAIM = "claim"  # a symbolic link to the id of the one job that may run, or to `cancelled`: making a link is atomic
STARTED = "started-"  # followed by Slurm's count of restarts
ENDED = "ended-"
_CANCELLED = "cancelled"
_ASKED = "asked.json"
_LAST_BYTES = 65536
_TOO_MUCH = re.compile(rb"slurmstepd[^\n]*exceeded memory limit")
_MARK = re.compile(r"(\d{1,12}) (\d{1,12}) ?(.*)", re.ASCII)


class Asked(Struct, frozen=True, omit_defaults=True):
    """A request to Slurm, and what is known of its answer. It outlives the manager."""

    per_node: Resources
    at: float  # when it was last sent, or created if it was never sent
    after: str | None = None
    job_id: int | None = None
    sent: bool = False  # whether sbatch was called: then a job may exist even without an answer
    cancelled: bool = False
    refused: str = ""  # Slurm's reason, if it will never accept the job
    why_waiting: str = ""  # shown to users: why it was not sent yet


class Mark(Struct, frozen=True):
    """What a job wrote when it started or ended; `restarts` counts its earlier rounds."""

    job_id: int
    restarts: int
    at: float
    words: str


class JobFolder:
    """The folder `jobs/TAG`."""

    def __init__(self, jobs: Path, tag: str) -> None:
        self.path = jobs / tag

    def make(self) -> None:
        """Create it, for its owner alone."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise SiteError(f"cannot create a job's folder: {error.strerror}", where=str(self.path)) from error

    def asked(self) -> Asked | None:
        """Read the request for this tag, if there was one."""
        try:
            return msgspec.json.decode((self.path / _ASKED).read_bytes(), type=Asked)
        except (OSError, msgspec.DecodeError):
            return None

    def note(self, asked: Asked) -> None:
        """Write the request durably."""
        self.write(_ASKED, msgspec.json.encode(asked))

    def write(self, name: str, content: bytes) -> None:
        """Write a file with mode 0600 atomically: complete or not at all, also if the machine crashes."""
        draft = self.path / f".{name}.{os.getpid()}"
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.rename(self.path / name)
        except OSError as error:
            raise SiteError(f"cannot write {name}: {error.strerror}", where=str(self.path)) from error

    def claimed_by(self) -> int | None:
        """The id of the job that has claimed the folder, if one has."""
        claimant = self._claimant()
        return int(claimant) if claimant.isdecimal() else None

    def is_closed(self) -> bool:
        """Whether no job of this folder has ever worked or ever will."""
        return self._claimant() == _CANCELLED

    def _claimant(self) -> str:
        try:
            return os.readlink(self.path / CLAIM)
        except OSError:
            return ""

    def close(self) -> None:
        """Let no job of this tag start to work any more."""
        try:
            os.symlink(_CANCELLED, self.path / CLAIM)
        except FileExistsError:
            return
        except OSError as error:
            raise SiteError(f"cannot close a job's folder: {error.strerror}", where=str(self.path)) from error

    def log_tells_of_memory(self, job_id: int) -> bool:
        """Whether Slurm wrote to the end of a job's log that a step exceeded its memory."""
        try:
            with (self.path / f"slurm-{job_id}.log").open("rb") as log:
                log.seek(max(0, os.fstat(log.fileno()).st_size - _LAST_BYTES))
                return _TOO_MUCH.search(log.read()) is not None
        except OSError:
            return False

    def last_mark(self, kind: str) -> Mark | None:
        """Read the mark of this kind from the latest round."""
        try:
            rounds = [name.removeprefix(kind) for name in os.listdir(self.path) if name.startswith(kind)]
            latest = max(int(text) for text in rounds if text.isdecimal())
            found = _MARK.fullmatch((self.path / f"{kind}{latest}").read_text(errors="replace").strip())
        except (OSError, ValueError):  # ValueError: there is none
            return None
        return Mark(int(found[1]), latest, float(found[2]), found[3]) if found else None
