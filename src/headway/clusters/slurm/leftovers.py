"""Jobs of a run whose journal cannot be read: Slurm knows them by the folders that they work in."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.job_folder import SCRIPT
from headway.clusters.slurm.squeue import own_jobs
from headway.model.errors import SiteError


def live_jobs(jobs: Path) -> list[int]:
    """Return the ids of the user's jobs that wait or run and have their folders in `jobs`.

    Slurm is not asked if no job was ever submitted from there, or if it is not a machine of Slurm's.
    """
    if not any(jobs.glob(f"*/{SCRIPT}")) or shutil.which("squeue") is None:
        return []
    look = own_jobs(Commands(), os.getuid())
    if look is None:
        what = "the journal of this run is damaged, and Slurm does not say whether its jobs still run"
        raise SiteError(what, where=str(jobs.parent), todo="try again when squeue answers")
    folders = (f"{jobs}/", f"{jobs.resolve()}/")
    of_user = (job for named in look.by_name.values() for job in named)
    return sorted(job.job_id for job in of_user if job.is_live and job.directory.startswith(folders))
