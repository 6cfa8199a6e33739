"""The tools that advice can be written for, by the name that users write after `--for`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from headway.report.advice import cwl, hints, nextflow, slurm, snakemake, table

MIB, MB = 2.0**20, 1e6


class Target(Struct, frozen=True):
    """How advice is written for a tool, and what the tool makes of it."""

    words: str
    write: Callable[..., str]  # from the advice, and the names of the logs
    megabyte: float = MB  # what the tool calls a MB
    retries: bool = True  # whether a task that failed is tried again with more
    time_kills: bool = True  # whether a task that takes longer than was asked for is ended
    formats: Sequence[str] = ()  # beginnings of the names of its logs' formats


TARGETS = {
    "nextflow": Target("a Nextflow configuration", nextflow.config, MIB, formats=("nextflow",)),
    "snakemake": Target("a Snakemake profile", snakemake.config, formats=("snakemake",)),
    "slurm": Target("#SBATCH lines", slurm.config, MIB, formats=("sacct", "seff", "slurm")),
    "cwl": Target("overrides for cwltool", cwl.config, MIB, retries=False, time_kills=False, formats=("cwl",)),
    "headway": Target("resources of a workflow file", hints.config, time_kills=False, formats=("headway",)),
    "table": Target("a table", table.config),
}


def target_of(log_format: str) -> str:
    """The name of the target that logs of a format come from; a table if it is none of them.

    >>> target_of("nextflow"), target_of("work-queue-log")
    ('nextflow', 'table')
    """
    return next((name for name, each in TARGETS.items() if log_format.startswith(tuple(each.formats) or "\0")), "table")
