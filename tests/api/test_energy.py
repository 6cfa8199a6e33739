"""The energy of a run's jobs. No machine of the tests measures any, so that a program stands for sacct."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import headway
from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model import records
from headway.model.job import JobPhase, JobRequest
from headway.model.records import Why
from headway.model.resources import Resources
from headway.model.task import Task

WHY = Why("plan", "rule")
WHOLE = JobRequest(Resources(cores=8, nodes=2))
SHARED = JobRequest(Resources(cores=2), places=2)


def tiles(directory: Path) -> dict[str, tuple[str, str]]:
    page = headway.write_report(directory=directory, out=directory / "page.html", force=True).data
    return {tile.name: (tile.value, tile.note) for tile in page.tiles}


def test_only_jobs_with_whole_nodes_have_energy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = {"headway-1": WHOLE, "headway-2": SHARED, "headway-3": WHOLE}
    folder = Project(tmp_path).new_run()
    seen = [records.JobSeen(1, tag, JobPhase.RUNNING, job_id=number) for number, tag in enumerate(jobs, 7)]
    begun = [
        records.RunStarted(0, "1", "u", "w", str(tmp_path), "w.yaml", "0.1", "ladder", "fifo", cluster="slurm"),
        records.TasksAdded(0, [Task("one", "one", "true")]),
        *(records.Submit(0, tag, request, WHY) for tag, request in jobs.items()),
        *seen,
    ]
    SqliteJournal.create(folder.journal, begun).close()
    sacct = tmp_path / "sacct"
    sacct.write_text('#!/bin/sh\necho "$@" > asked\nprintf "headway-1|3600000\\nheadway-1|1800000\\nheadway-3|\\n"\n')
    sacct.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = tiles(tmp_path)["energy of the nodes, as Slurm accounts it"]
    assert found == ("1.5 kWh", "of 1 job with whole nodes, of 3 jobs in all")
    assert "--name=headway-1,headway-3 " in (tmp_path / "asked").read_text()
    sacct.write_text("#!/bin/sh\necho accounting storage is disabled >&2\nexit 1\n")
    assert not [name for name in tiles(tmp_path) if "energy" in name]
