"""A job's folder: the request, the script, and what the job leaves there.

The script claims the folder, writes marks when it starts and ends, and starts one command on every node. The marks
outrank the queue.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from headway.model.errors import InputError, SiteError
from headway.model.job import Wish
from headway.model.resources import Resources
from headway.workers.whole_file import write_whole

SCRIPT = "script.sh"
_CLAIM = "claim"  # a symbolic link to the id of the one job that may run, or to `cancelled`: making a link is atomic
STARTED = "started-"  # followed by Slurm's count of restarts
ENDED = "ended-"
_CANCELLED = "cancelled"
_ASKED = "asked.json"
_LAST_BYTES = 65536
_TOO_MUCH = re.compile(rb"slurmstepd[^\n]{0,200}exceeded memory limit")
_MARK = re.compile(r"(\d{1,12}) (\d{1,12}) ?(.*)", re.ASCII)

# A tag names a job and a folder: no character that a shell, Slurm's file patterns (%j) or a path would interpret.
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}", re.ASCII)

# The exit code by which srun says that Slurm itself failed and nothing was started; the controller may be restarting,
# which takes about a minute.
_NOT_STARTED = 222
_TRIES, _PAUSE_S = 20, 5

# The first job to claim the folder runs; after a restart by Slurm it finds its own id there. TERM must not end the
# shell before the mark is written: the command on the nodes gets TERM as well, and has to end in time.
_SCRIPT = """\
#!/bin/sh
umask 077
cd {folder} || exit 1
exec >> "slurm-$SLURM_JOB_ID.log" 2>&1
ln -sn "$SLURM_JOB_ID" {claim} 2>/dev/null
[ "$(readlink {claim})" = "$SLURM_JOB_ID" ] || exit 0
round=${{SLURM_RESTART_COUNT:-0}}
mark() {{ printf '%s\\n' "$SLURM_JOB_ID $(date +%s) $2" > ".$1$round" && mv -f ".$1$round" "$1$round"; }}
mark {started} "$SLURM_JOB_NODELIST $SLURMD_NODENAME"
tries={tries}
trap 'tries=0' TERM
while
  SLURM_EXIT_ERROR={not_started} srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" \\
    --ntasks-per-node=1 --kill-on-bad-exit=0 --no-kill --wait=0 --mem=0 --cpu-bind=none --overlap --input=none -- \\
    sh -c 'unset SLURM_EXIT_ERROR; exec "$@"' sh {command}
  status=$?
  [ "$status" = {not_started} ] && [ "$tries" -gt 0 ]
do
  tries=$((tries - 1))
  sleep {pause_s}
done
mark {ended} "$status"
exit "$status"
"""


class Asked(Struct, frozen=True, omit_defaults=True):
    """A request to Slurm, and what is known of its answer. It outlives the manager."""

    per_node: Resources
    at: float  # when it was last sent, or created if it was never sent
    after: str | None = None
    job_id: int | None = None
    sent: bool = False  # whether sbatch was called: then a job may exist even without an answer
    cancelled: bool = False
    refused: str = ""  # Slurm's reason, if it will never accept the job
    shared: bool = False  # whether other jobs may have the rest of its nodes
    why_waiting: str = ""  # shown to users: why it was not sent yet
    at_stake_s: float | None = None  # as in `JobRequest`
    preempted_at: float | None = None  # when its nodes were found to be taken away
    wish: Wish | None = None  # of the tasks that it is for
    partition: str = ""  # to which it was sent,
    why_there: str = ""  # and why, if there was a choice of prices
    billing: float | None = None  # billing units that it holds while it runs; None: the site has no prices


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
        try:
            write_whole(self.path / name, content, durable=True)
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
            return os.readlink(self.path / _CLAIM)
        except OSError:
            return ""

    def close(self) -> None:
        """Let no job of this tag start to work any more."""
        try:
            os.symlink(_CANCELLED, self.path / _CLAIM)
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


def check_tag(tag: str) -> str:
    """Return the tag if it can name a job and its folder; otherwise raise an InputError."""
    if not _TAG.fullmatch(tag) or ".." in tag:
        raise InputError(
            f"{tag[:100]!r} cannot be the name of a job", todo="use letters, digits, and . _ - between them"
        )
    return tag


def job_script(folder: Path, command: Sequence[str]) -> str:
    """Write the script that runs `command` once on every node; all values in it are quoted."""
    words = [str(folder), *command]
    if not command or any("\0" in word for word in words):
        raise InputError("a job's command cannot be empty, nor hold a zero byte", where=str(folder))
    return _SCRIPT.format(
        folder=shlex.quote(f"{folder}/"),  # the slash keeps `cd` from taking a lone `-` for something else
        claim=_CLAIM,
        started=STARTED,
        ended=ENDED,
        tries=_TRIES,
        pause_s=_PAUSE_S,
        not_started=_NOT_STARTED,
        command=shlex.join(command),
    )
