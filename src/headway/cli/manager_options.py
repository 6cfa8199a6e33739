"""The options that say where the manager of a run is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from headway.api.choices import MANAGERS
from headway.cli.options import SPAN, option

MANAGER_OPTIONS: list[Callable[[Any], Any]] = [
    option(
        "--manager",
        "slurm: manage the run in this process, or in a job of its own that hands over to the next one.",
        type=click.Choice(MANAGERS),
        default=MANAGERS[0],
    ),
    option("--manager-time manager_time_s", "slurm: time limit of a manager's job; by default 24h or less.", type=SPAN),
    option("--manager-partition NAME", "slurm: partition of a manager's job; by default as for other jobs."),
]
