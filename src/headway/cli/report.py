"""`headway report`: one HTML page about a run."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from headway.api.report import RunReport, write_report
from headway.cli.options import answers, directory_option, option, run_argument
from headway.report.saying import show


def _print(console: Console, found: RunReport) -> None:
    show(console, f"wrote {found.file}")


@click.command("report", short_help="Write a page about a run: timeline, sizes, waits, failures, reasons.")
@run_argument
@option("--out FILE", "Write this file instead of report-RUN.html beside the workflow.")
@option("--force", "Overwrite FILE.", is_flag=True)
@directory_option
@answers(_print)
def command(**of: Any) -> RunReport:
    """Write one HTML page about RUN (by default the newest).

    The page needs no network and no server: open it with a double-click, or send it to somebody. It shows when each
    task ran and where, what it was given and used, how long jobs waited, what failed and what it said, and why each
    decision was made. It only reads, so it may be used while the run goes on.

    \b
    Examples:
      headway report
      headway report 3 --out run-3.html
    """
    return write_report(**of)
