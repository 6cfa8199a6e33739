"""`headway runs`: list the runs of a directory."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from headway.api.runs import RunEntry, RunsView, runs
from headway.cli.options import answers, directory_option
from headway.model.units import format_bytes, format_duration
from headway.report.columns import Field, table_lines
from headway.report.run.again import setting_words
from headway.report.saying import show
from headway.report.words import harmless, moment

_STYLES = {"succeeded": "green", "failed": "red", "running": "cyan"}


def _done(run: RunEntry) -> str:
    return f"{run.tasks.get('succeeded', 0) + run.tasks.get('reused', 0):,} of {run.tasks.get('total', 0):,}"


def _part(run: RunEntry) -> str:
    return " ".join((*run.only, *run.only_columns, *(f"--until {name}" for name in run.until)))


_FIELDS = (
    Field("", "started", lambda run: moment(run.started_at) if run.started_at else "-", 70),
    Field("", "state", lambda run: run.state, 100, lambda run: _STYLES.get(run.state, "yellow")),
    Field("", "tasks done", _done, 90),
    Field("", "failed", lambda run: f"{run.tasks.get('failed', 0):,}" if run.tasks.get("failed") else "-", 80),
    Field("", "took", lambda run: format_duration(run.wall_s), 60),
    Field("", "size", lambda run: format_bytes(run.size_bytes), 65),
    Field("", "only", lambda run: _part(run) or "-", 10),
)


def _settings(run: RunEntry) -> str:
    return harmless(", ".join(map(setting_words, run.settings)))


def _print(console: Console, found: RunsView) -> None:
    if not found.runs:
        show(console, f"nothing has been run in {found.directory}")
        return
    names = [f"{run.run}  {run.name}" for run in found.runs]
    show(console, *table_lines("run", names, found.runs, _FIELDS, console.width, total=False))
    if chosen := [run for run in found.runs if run.settings]:
        show(console, "", "settings", *(f"  {run.run}  {_settings(run)}" for run in chosen))
    whole = format_bytes(sum(run.size_bytes for run in found.runs))
    show(console, "", f"{whole} in all; `headway clean` deletes what is not needed any more", style="dim")


@click.command("runs", short_help="List the runs of a directory.")
@directory_option
@answers(_print)
def command(directory: Path) -> RunsView:
    """List all runs, the newest first: when each started, how it ended, how many tasks are done, and its size.

    \b
    Examples:
      headway runs
      headway runs --json | jq '.runs[] | select(.state == "failed") | .run'
    """
    return runs(directory)
