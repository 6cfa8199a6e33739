"""`headway history`: show, export or prune what earlier runs taught."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from headway.api.history import HistoryView, export_history, show_history
from headway.cli.history_options import Subverbs, history_location, location_option, project_option, say_if_missing
from headway.cli.history_prune import command as prune_command
from headway.cli.history_why import command as why_command
from headway.cli.options import COUNT, answers, directory_option, json_option, option
from headway.cli.output import console_for, print_json
from headway.report.history.overview import print_categories, print_overview


@click.group(
    "history", cls=Subverbs, invoke_without_command=True, short_help="Show, export or prune what earlier runs taught."
)
@directory_option
@project_option
@location_option
@json_option
@click.pass_context
def command(ctx: click.Context, directory: Path, project: str | None, history: str, as_json: bool) -> int:
    """Show what earlier runs taught: for each project, workflow and category, how often it ran and what it used.

    Every attempt that ends is kept, by default in ~/.local/share/headway/history.db, and the project's next run on this
    machine begins with it; so do runs in other directories whose commands are the same. `headway run --fresh` does not
    use it. Another LOCATION is a file, or a PostgreSQL database such as postgresql://user@host/name.

    \b
    Examples:
      headway history
      headway history --project .              what was learned in this directory
      headway history show mosaic              one workflow
      headway history show mosaic project      the newest attempts of a category
      headway history export -o history.csv    everything, for other programs
      headway history prune --older-than 90d   forget what is old
    """
    if ctx.invoked_subcommand is not None:
        return 0
    found = show_history(project=project, history=history_location(history))
    if as_json:
        print_json(found.document())
    elif found.categories:
        print_overview(console_for(), found.location, found.categories)
    elif not found.exists:
        say_if_missing(found.location)
    return 0


@command.command("show", short_help="One workflow, or the newest attempts of a category.")
@click.argument("workflow")
@click.argument("category", required=False)
@option("--top", "Number of attempts.", type=COUNT, default=20)
@project_option
@location_option
@answers(lambda console, found: print_categories(console, found.categories, found.attempts or []))
def show_command(workflow: str, category: str | None, top: int, project: str | None, history: str) -> HistoryView:
    """Show what is known of WORKFLOW: its categories, or the newest attempts of one CATEGORY.

    \b
    Examples:
      headway history show mosaic
      headway history show mosaic project --top 100
    """
    return show_history(workflow, category, project=project, history=history_location(history), top=top)


@command.command("export", short_help="Every attempt, as JSON lines or a table.")
@click.argument("workflow", required=False)
@click.argument("category", required=False)
@option("-o --output FILE", "Write to FILE: CSV if it ends in .csv.", type=click.Path(path_type=Path))
@option("--force", "Overwrite FILE.", is_flag=True)
@project_option
@location_option
def export_command(
    workflow: str | None, category: str | None, output: Path | None, force: bool, project: str | None, history: str
) -> int:
    """Write every attempt that is known, or those of WORKFLOW, or of its CATEGORY: one JSON object a line, or CSV.

    \b
    Examples:
      headway history export | jq -r 'select(.ending == "memory") | .task'
      headway history export mosaic project -o project.csv
    """
    to, location = output or sys.stdout, history_location(history)
    done = export_history(to, workflow, category, project=project, history=location, force=force)
    if not done.exists:
        say_if_missing(done.location)
    if output is not None:
        click.echo(f"wrote {done.written:,} attempts to {output}", err=True)
    sys.stdout.flush()
    return 0


command.add_command(prune_command)
command.add_command(why_command)
