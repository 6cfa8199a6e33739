"""The options that say how jobs are submitted to Slurm; settings and variables of the same names count as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from headway.cli.options import Function, option

NAMED = {
    "--partition NAME": "slurm: partition of jobs; several with commas. By default the one where they start soonest.",
    "--account NAME": "slurm: account that jobs are charged to; by default yours. Of several with commas the cheapest.",
    "--qos NAME": "slurm: quality of service of jobs; of several with commas the cheapest.",
    "--constraint FEATURES": "slurm: features that nodes must have.",
    "--reservation NAME": "slurm: reservation that jobs use.",
    "--clusters NAME": "slurm: another cluster than the one here.",
}
JOB_OPTIONS: list[Callable[[Function], Function]] = [
    *(option(flags, words) for flags, words in NAMED.items()),
    option("--preemptible NAME", "slurm: partitions whose jobs others may preempt: used where little would be lost."),
    option(
        "--nodes",
        "slurm: jobs ask for whole nodes, or for shares; by default for shares where the site allows it.",
        type=click.Choice(["whole", "shared"]),
    ),
    option("--requeue/--no-requeue", "slurm: may Slurm restart a job that lost its nodes?", default=None),
    option("--sbatch flags FLAG", "slurm: a further flag, as --sbatch=--nice=5.", multiple=True),
]
_NAMES = (*(flags.split()[0].removeprefix("--") for flags in NAMED), "preemptible", "nodes", "requeue", "flags")


def job_options(function: Function) -> Function:
    """Add the options; the function gets them by name, for `batch_of`."""
    for add in reversed(JOB_OPTIONS):
        function = add(function)
    return function


def batch_of(values: Mapping[str, Any]) -> dict[str, str]:
    """Return those of the values that are options of jobs, and were given, as the batch system is told them."""
    return {name: _told(values[name]) for name in _NAMES if values.get(name) not in (None, ())}


def _told(value: str | bool | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return " ".join(value)
    return str(value).lower() if isinstance(value, bool) else value
