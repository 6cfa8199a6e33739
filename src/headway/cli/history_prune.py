"""`headway history prune`: forget what is old or not wanted any more."""

from __future__ import annotations

import sys
from typing import Any

import click

from headway.api.history import Pruned, prune_history
from headway.cli.history_options import history_location, location_option, project_option, say_if_missing
from headway.cli.options import SPAN, json_option, option
from headway.cli.output import console_for, print_json
from headway.report.history.overview import print_surplus


@click.command("prune", short_help="Forget what is old or not wanted any more.")
@option("--older-than AGE", "Forget what ended longer ago, such as 90d.", type=SPAN)
@option("--keep N", "Keep the newest N attempts of each category.", type=click.IntRange(min=0))
@option("--workflow NAME", "Only what is known of this workflow; alone: all of that.")
@project_option
@option("-y --yes", "Do not ask.", is_flag=True)
@location_option
@json_option
def command(
    older_than: float | None,
    keep: int | None,
    workflow: str | None,
    project: str | None,
    yes: bool,
    history: str,
    as_json: bool,
) -> int:
    """Forget attempts: say which, ask, and remove them. With several options, only what all of them name is removed.

    \b
    Examples:
      headway history prune --older-than 90d
      headway history prune --older-than 90d --keep 100   but leave 100 of each category
      headway history prune --workflow test --yes
      headway history prune --project .                   all that was learned in this directory
    """

    def confirm(found: Pruned) -> bool:
        if not as_json:
            print_surplus(console_for(), found.found)
        return yes or (not as_json and sys.stdin.isatty() and click.confirm("remove them?"))

    location = history_location(history)
    which: dict[str, Any] = {"older_than_s": older_than, "keep": keep, "workflow": workflow, "project": project}
    done = prune_history(**which, history=location, confirm=confirm)
    if as_json:
        print_json(done.document())
    elif not done.exists:
        say_if_missing(done.location)
    elif not done.found:
        print_surplus(console_for(), done.found)
    else:
        click.echo(
            f"removed {done.removed:,}" if done.confirmed else "nothing was removed; --yes does it without asking"
        )
    return 0
