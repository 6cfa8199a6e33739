"""The energy that jobs have used, where a site's Slurm accounts it."""

from __future__ import annotations

import time
from collections.abc import Collection

from headway.clusters.slurm.commands import Commands

_MOST_JOULES = 1e15  # Slurm writes "not known" as a larger number


def energy_of(names: Collection[str], since: float, commands: Commands | None = None) -> dict[str, float]:
    """Return the joules of jobs by name, in one call of sacct; without those of which Slurm knows none.

    Slurm measures nodes. Only of a job that had its nodes for itself is this the job's own energy.
    """
    text = (commands or Commands()).ask(
        "sacct",
        "--allocations",
        f"--name={','.join(names)}",
        f"--starttime={time.strftime('%Y-%m-%dT%H:%M:%S', time.localtime(since))}",
        "--noheader",
        "--parsable2",
        "--format=JobName%100,ConsumedEnergyRaw",
    )
    return {} if text is None else read(text)


def read(text: str) -> dict[str, float]:
    """Parse the output of sacct; the rounds of a job that Slurm has restarted are added up.

    >>> read("one|1200\\none|300\\ntwo|0\\nthree|\\nfour|18446744073709551614\\n")
    {'one': 1500.0}
    """
    found: dict[str, float] = {}
    for line in text.splitlines():
        name, _, joules = line.rpartition("|")
        if joules.isdecimal() and 0 < float(joules) < _MOST_JOULES:
            found[name] = found.get(name, 0.0) + float(joules)
    return found
