"""Who is at work on this machine: the local runs of this user, so that a new one can say what all take together.

A run that starts writes a file about itself and removes it at its end. The file of a killed run counts as long as a
supervisor still runs its tasks: the locks that a run's processes hold tell whether the run lives.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from headway.clusters.local import LocalMachine, RunJobs
from headway.clusters.machine import machine
from headway.drivers.run_settings import LOCAL
from headway.journal.folder import Project, RunFolder
from headway.model.records import RunStarted
from headway.model.resources import Resources, describe
from headway.workers.pool_place import state_folder
from headway.workers.whole_file import write_whole

_MOST_NAMED = 3  # runs in one sentence


class LocalRun(Struct, frozen=True):
    """A run on one machine, and the most cores and memory that it takes there."""

    host: str
    directory: str
    run: str
    name: str
    takes: Resources

    def __str__(self) -> str:
        return f"{self.name} in {self.directory} ({self.takes})"

    @property
    def is_managed(self) -> bool:
        """Whether its manager is at work."""
        manager = Project(Path(self.directory)).manager()
        return manager is not None and manager.is_here and manager.run == self.run

    @property
    def lives(self) -> bool:
        """Whether its manager is at work, or a supervisor still runs its tasks or waits for a manager."""
        if self.is_managed:
            return True
        jobs = RunFolder(Project(Path(self.directory)).path / "runs" / self.run).jobs
        tags = [folder.name for folder in jobs.iterdir()] if jobs.is_dir() else []
        return bool(LocalMachine(RunJobs("", self.directory, jobs)).find(tags))


@contextlib.contextmanager
def at_work(
    started: RunStarted, limits: Resources, folder: RunFolder, say: Callable[[str], None] | None
) -> Iterator[None]:
    """Let other runs of this user know of a local one while it is driven; `say` what it takes together with others.

    Where the folder for that cannot be written to, nothing is known of each other.
    """
    if started.cluster != LOCAL:
        yield
        return
    takes = Resources(cores=limits.cores, memory_bytes=limits.memory_bytes)
    run = LocalRun(socket.gethostname(), str(folder.directory), folder.run, started.name, takes)
    file = _folder() / secrets.token_hex(6)
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(file, msgspec.json.encode(run))
    # This run's file is there before others are looked for: of two that start at once, one sees the other.
    if say is not None and (sentence := too_much(run, others_at_work(run), machine(folder.directory))):
        say(sentence)
    yield
    # Only where the run has ended: after an error its supervisor may still be at work.
    with contextlib.suppress(OSError):
        file.unlink(missing_ok=True)


def others_at_work(run: LocalRun | None = None) -> list[LocalRun]:
    """Return the runs at work on this machine besides `run`, by directory; forget those that were killed."""
    found: list[LocalRun] = []
    try:
        files = sorted(file for file in _folder().iterdir() if not file.name.startswith("."))  # those are being written
    except OSError:  # nothing was ever at work, or the folder is not ours
        return []
    for file in files:
        try:
            other = msgspec.json.decode(file.read_bytes(), type=LocalRun)
        except (OSError, msgspec.MsgspecError):  # it has just ended, or is not ours
            continue
        if other.host != socket.gethostname() or other == run:
            continue
        try:
            if other.lives:
                found += [other] if other not in found else []  # a resumed run has written another file
            else:
                file.unlink(missing_ok=True)
        except OSError:  # its directory cannot be read any more
            continue
    return sorted(found, key=lambda other: other.directory)


def too_much(run: LocalRun, others: Sequence[LocalRun], whole: Resources) -> str:
    """Return a sentence about what runs take together if that is more than the whole machine has; else nothing."""
    taken = sum((other.takes for other in others), run.takes)
    exceeded = taken.excess(whole)
    if not others or not exceeded:
        return ""
    who = ", ".join(map(str, others[:_MOST_NAMED]))
    if len(others) > _MOST_NAMED:
        who += f" and {len(others) - _MOST_NAMED} more"
    amounts = " and ".join(
        f"{describe(name, taken[name] or 0)} of {describe(name, whole[name] or 0)}" for name in exceeded
    )
    limits = " and ".join(f"--{name.removesuffix('_bytes')}" for name in exceeded)
    return (
        f"also at work on this machine: {who}; with this run that may take {amounts}: "
        f"limit each with {limits}, or let them share a pool (`headway pool start`, then `headway run --pool`)"
    )


def _folder() -> Path:
    return state_folder() / "at-work"
