"""The energy of a run's jobs, where its batch system accounts it."""

from __future__ import annotations

import shutil

from headway.journal.base import Journal
from headway.model.records import JobSeen, RunStarted, Submit
from headway.report.run_page.data import Tile
from headway.report.words import count

_JOULES_A_KWH = 3.6e6


def energy_tile(journal: Journal, settings: RunStarted) -> Tile | None:
    """The energy of those jobs of a run on Slurm that had whole nodes; None if it is not known.

    Slurm measures nodes: of jobs that shared theirs, the energy is not their own.
    """
    if settings.cluster != "slurm" or shutil.which("sacct") is None:
        return None
    submitted = {record.tag: record for record in journal.replay(kinds=("submit",)) if isinstance(record, Submit)}
    started = {record.tag for record in journal.replay(kinds=("job-seen",)) if isinstance(record, JobSeen)}
    whole = [tag for tag, job in submitted.items() if job.request.places is None and tag in started]
    if not whole:
        return None
    from headway.clusters.slurm.commands import Commands
    from headway.clusters.slurm.energy import energy_of

    found = energy_of(whole, settings.at, Commands(clusters=settings.batch.get("clusters")))
    if not found:
        return None
    note = f"of {count(len(found), 'job')} with whole nodes, of {count(len(submitted), 'job')} in all"
    return Tile(f"{sum(found.values()) / _JOULES_A_KWH:.3g} kWh", "energy of the nodes, as Slurm accounts it", note)
