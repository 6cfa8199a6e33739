"""Checkpoints of earlier runs: a task that has not succeeded goes on from its own, unless what makes it has changed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from headway.journal.folder import Project, RunFolder
from headway.model.task import Fingerprint, Task, digest
from headway.workers.attempt import AttemptFolder, mode_of
from headway.workers.whole_file import write_whole

_log = logging.getLogger(__name__)

_OF = "kept-of"  # beside the folder that is kept: a digest of the command and the inputs that it belongs to
_RUNS = 20  # that are looked at


def adopt_checkpoint(folder: RunFolder, task: Task, digests: Mapping[str, str], *, anew: bool) -> None:
    """Move the newest checkpoint of a task from an earlier run into this one, and note what it belongs to.

    `digests` are those of the task's inputs. A task that is to run `anew` begins without a checkpoint. A checkpoint of
    another command, or of other inputs, stays where it is.
    """
    belongs_to = digest([msgspec.json.encode(Fingerprint(task.recipe(), dict(digests)), order="sorted").decode()])
    here = AttemptFolder(folder.attempt(task.id, 1))
    if here.kept.exists():
        return
    here.path.parent.mkdir(parents=True, exist_ok=True, mode=mode_of(folder.tasks))
    write_whole(_of(here), belongs_to.encode())
    earlier = [run for run in Project(folder.directory).runs() if run.path != folder.path][-_RUNS:]
    found = (AttemptFolder(run.attempt(task.id, 1)) for run in reversed(earlier))
    there = next((each for each in found if each.kept.is_dir()), None)
    if there is not None and not anew and _of(there).exists() and _of(there).read_text() == belongs_to:
        _log.info("%s goes on from its checkpoint in %s", task.id, there.kept)
        there.kept.rename(here.kept)


def _of(attempt: AttemptFolder) -> Path:
    return attempt.kept.with_name(_OF)
