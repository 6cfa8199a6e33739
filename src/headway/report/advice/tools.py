"""The tools that advice can be written for, by the name that users write after `--for`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from headway.report.advice import cwl, hints, nextflow, slurm, snakemake, table

MIB, MB = 2.0**20, 1e6


class Tool(Struct, frozen=True):
    """How advice is written for a tool, and what the tool makes of it."""

    words: str
    write: Callable[..., str]  # from the advice, and the names of the logs
    megabyte: float = MB  # what the tool calls a MB
    retries: bool = True  # whether a task that failed is tried again with more
    time_kills: bool = True  # whether a task that takes longer than was asked for is ended
    formats: Sequence[str] = ()  # beginnings of the names of its logs' formats


TOOLS = {
    "nextflow": Tool("a Nextflow configuration", nextflow.config, MIB, formats=("nextflow",)),
    "snakemake": Tool("a Snakemake profile", snakemake.config, formats=("snakemake",)),
    "slurm": Tool("#SBATCH lines", slurm.config, MIB, formats=("sacct", "seff", "slurm")),
    "cwl": Tool("overrides for cwltool", cwl.config, MIB, retries=False, time_kills=False, formats=("cwl",)),
    "headway": Tool("resources of a workflow file", hints.config, time_kills=False, formats=("headway",)),
    "table": Tool("a table", table.config),
}


def tool_of(log_format: str) -> str:
    """The name of the tool that logs of a format come from; a table if it is none of them.

    >>> tool_of("nextflow"), tool_of("work-queue-log")
    ('nextflow', 'table')
    """
    return next((name for name, each in TOOLS.items() if log_format.startswith(tuple(each.formats) or "\0")), "table")
