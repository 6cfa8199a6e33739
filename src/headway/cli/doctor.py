"""`headway doctor`: can Headway work here, and how well?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.options import directory_option, json_option

if TYPE_CHECKING:
    from headway.cli.checks import Check


@click.command("doctor", short_help="Check whether Headway can work here.")
@directory_option
@click.option(
    "--on", "cluster", type=click.Choice(["slurm"]), help="Check also whether jobs can be had on this cluster."
)
@json_option
def command(directory: Path, cluster: str | None, as_json: bool) -> int:
    """Check this machine and this directory: what there is, how tasks are measured, and what is in the way.

    With --on slurm the cluster is looked at as well, with about ten calls of Slurm's commands; nothing is submitted.
    The exit code is 0 unless Headway cannot work here at all (3): a warning is about what would work better.
    """
    from headway.cli.checks import FAIL, examine
    from headway.cli.output import print_json

    checks = [*examine(directory), *(_on_slurm() if cluster == "slurm" else ())]
    works = all(check.mark != FAIL for check in checks)
    if as_json:
        print_json(
            {
                "works": works,
                "checks": [{"mark": check.mark, "about": check.about, "found": check.found} for check in checks],
            }
        )
    else:
        _print(checks)
    return 0 if works else 3


def _on_slurm() -> Iterator[Check]:
    from headway.cli.checks import Check
    from headway.clusters.slurm.diagnosis import diagnose
    from headway.clusters.slurm.options import SlurmOptions

    for finding in diagnose(SlurmOptions()):
        yield Check(finding.mark, finding.about, finding.found)


def _print(checks: list[Check]) -> None:
    from rich.table import Table
    from rich.text import Text

    from headway.cli.checks import FAIL, OK, WARN
    from headway.cli.output import console_for

    console = console_for()
    styles = {OK: "green", WARN: "bold yellow", FAIL: "bold red"}
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column()
    for check in checks:
        grid.add_row(Text(check.mark, style=styles[check.mark]), Text(check.about, style="bold"), Text(check.found))
    console.print(grid)
