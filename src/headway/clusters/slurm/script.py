"""The script of a job: it claims its folder, leaves marks there, and starts one command on every node."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from headway.clusters.slurm.marks import CLAIM, ENDED, STARTED
from headway.model.errors import InputError

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
mark {started} "$SLURM_JOB_NODELIST"
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
        claim=CLAIM,
        started=STARTED,
        ended=ENDED,
        tries=_TRIES,
        pause_s=_PAUSE_S,
        not_started=_NOT_STARTED,
        command=shlex.join(command),
    )
