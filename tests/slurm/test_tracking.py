"""Which of Slurm's jobs is ours, and what is believed of it; these tests need no Slurm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec import structs

from headway.clusters.base import JobNews
from headway.clusters.slurm.commands import Commands, Paced
from headway.clusters.slurm.job_folder import Asked, JobFolder
from headway.clusters.slurm.job_lookup import JobLookup
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.site import SlurmSite
from headway.clusters.slurm.squeue import Look, SeenJob
from headway.clusters.slurm.submitting import Canceller, Submitter
from headway.clusters.slurm.tracking import duplicates, keep, ours
from headway.model.job import JobPhase
from headway.model.resources import Resources

TAG = "headway-abc-1"
ASKED = Asked(Resources(cores=1, memory_bytes=10**9), 100.0, job_id=7, sent=True)


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    made = JobFolder(tmp_path, TAG)
    made.make()
    return made


def job(number: int, state: str = "RUNNING", directory: str = "") -> SeenJob:
    return SeenJob(number, state, name=TAG, directory=directory)


def test_a_job_of_the_same_name_in_another_folder_is_not_ours(tmp_path: Path, folder: JobFolder) -> None:
    """Another run of the same user may use the same name, or a copy of the directory have left a job."""
    options = SlurmOptions()
    commands = Commands(options.timeout_s)
    site = SlurmSite(commands, options)
    submitter = Submitter(tmp_path, commands, site, options, lambda tag: ["true"], Paced(lambda: None, 60.0, 1.0))
    lookup = JobLookup(commands, site, options, submitter, Canceller(commands))
    stale, own = job(5, directory="/elsewhere/jobs/headway-abc-1"), job(7, directory=str(folder.path))
    assert lookup.of_this_run(TAG, Look(200.0, {TAG: [stale, own]})) == [own]
    assert lookup.of_this_run(TAG, Look(200.0, {TAG: [stale]})) == []


def test_the_job_that_claimed_the_folder_is_ours(folder: JobFolder) -> None:
    """A submission was sent twice, and the answer of only one came back: the other job may be the one that works."""
    assert ours(folder, ASKED, [job(6), job(7)]) == job(7), "by the answer of sbatch"
    os.symlink("6", folder.path / "claim")
    assert ours(folder, ASKED, [job(6), job(7)]) == job(6)
    assert ours(folder, ASKED, [job(7)]) is None, "the one that works is not shown"


def test_duplicates_are_cancelled_and_all_jobs_of_a_cancelled_tag() -> None:
    jobs = [job(6), job(7), job(8, "PENDING"), job(9, "COMPLETED")]
    assert duplicates(ASKED, jobs) == {6, 8}
    assert duplicates(structs.replace(ASKED, cancelled=True), jobs) == {6, 7, 8}


def test_an_ended_job_does_not_run_again_unless_slurm_restarted_it() -> None:
    ended, running = JobNews(JobPhase.ENDED, 7, ended_at=300.0), JobNews(JobPhase.RUNNING, 7)
    assert keep(ended, running) == ended
    assert keep(ended, structs.replace(running, restarts=1)).phase is JobPhase.RUNNING
