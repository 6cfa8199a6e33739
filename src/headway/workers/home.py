"""`Home`: what a supervisor of a pool has to know of the run that an attempt belongs to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from headway.model.errors import SiteError
from headway.workers.sources import Sources
from headway.workers.whole_file import write_whole

_MOST_KNOWN = 64  # runs; a pool serves many, one after the other
_OURS = ("HEADWAY_",)
_OF_JOBS = ("SLURM", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "HOSTNAME", "TMPDIR")


class Home(Struct, frozen=True):
    """A run's environment, and the paths that its tasks make; a file in the run's folder.

    A run in the pool of another account keeps its environment to itself (None): its tasks have that of the pool.
    """

    environment: dict[str, str] | None
    produced: list[str]

    @staticmethod
    def read(path: str) -> Home:
        """Read what a run's manager wrote."""
        try:
            return msgspec.json.decode(Path(path).read_bytes(), type=Home)
        except (OSError, msgspec.MsgspecError) as error:
            raise SiteError(f"cannot read what its run is: {error}", where=path) from None

    @staticmethod
    def write(path: Path, produced: Sequence[str], *, for_others: bool = False) -> None:
        """Write this process's environment and the paths that tasks make. What is not UTF-8 is left out.

        `for_others`: for the pool of another account, which reads it as a member of the file's group.
        """
        texts = {name: text for name, text in os.environ.items() if _is_text(name + text)}
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        home = Home(None if for_others else texts, list(produced))
        write_whole(path, msgspec.json.encode(home), mode=0o640 if for_others else 0o600)

    def variables(self, own: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """The variables to set, and those to leave out, for a command that a process with `own` variables starts.

        What Headway and, in a job, Slurm set is not the run's.
        """
        if self.environment is None:
            return {}, ()
        in_job = "SLURM_JOB_ID" in own
        theirs = (*_OURS, *_OF_JOBS) if in_job else _OURS
        wanted = {name: text for name, text in self.environment.items() if not name.startswith(theirs)}
        added = {name: text for name, text in wanted.items() if own.get(name) != text}
        if in_job:
            return added, ()
        unset = (name for name in own if name not in self.environment)
        return added, tuple(name for name in unset if not name.startswith(theirs))


class Household:
    """The homes of the runs whose attempts ran here last, each with its directory's sources."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, Home, Sources]] = {}

    def of(self, home: str, directory: str) -> tuple[Home, Sources]:
        """What a run's file says, and the sources in its directory; read again when the file has changed."""
        try:
            written_ns = os.stat(home).st_mtime_ns
        except OSError as error:
            raise SiteError(f"cannot read what its run is: {error.strerror}", where=home) from None
        if home not in self._known or self._known[home][0] != written_ns:
            if len(self._known) >= _MOST_KNOWN:
                del self._known[next(iter(self._known))]
            read = Home.read(home)
            sources = Sources(Path(directory))
            sources.add_produced(read.produced)
            self._known[home] = (written_ns, read, sources)
        return self._known[home][1:]


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
