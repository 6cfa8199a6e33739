"""`headway history`: what earlier runs taught; shown, exported, pruned."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.api.nearest import nearest
from headway.cli.history_why import command as why_command
from headway.cli.options import SPAN, json_option
from headway.cli.settings import settings_directory_option
from headway.model.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from headway.history.base import History, Surplus
    from headway.history.figures import CategoryFigures

_MOST_CATEGORIES = 60
_MOST_ATTEMPTS = 20


class _Subverbs(click.Group):
    """What can be done with a history. A workflow's name in place of a subverb gets a better answer than click's."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            near = nearest(args[0], self.commands) or f"did you mean 'headway history show {args[0]}'?"
            raise click.UsageError(f"there is no command {args[0]!r}; {near}", ctx)
        return super().resolve_command(ctx, args)


def _or_before(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """An option that may stand after the subverb or before it."""
    return value or (ctx.parent.params.get(str(parameter.name)) if ctx.parent else value)


_file_option = click.option(
    "--file", "history", metavar="PLACE", default="", callback=_or_before, help="The history, if not your own."
)
_json_option = click.option(
    "--json", "as_json", is_flag=True, callback=_or_before, help="Answer with one JSON document."
)


@click.group(
    "history", cls=_Subverbs, invoke_without_command=True, short_help="Show, export or prune what earlier runs taught."
)
@settings_directory_option
@click.option(
    "--file", "history", metavar="PLACE", default="", envvar="HEADWAY_HISTORY", help="The history, if not your own."
)
@json_option
@click.pass_context
def command(ctx: click.Context, directory: Path, history: str, as_json: bool) -> int:
    """Show what earlier runs taught: for each workflow and category, how often it ran and what it used.

    Every attempt that ends is kept, in ~/.local/share/headway/history.db if you do not say otherwise, and the next run
    of a workflow of the same name on this machine begins with it. `headway run --fresh` does without. Another PLACE
    is a file, or a PostgreSQL database such as postgresql://user@host/name.

    \b
    Examples:
      headway history
      headway history show mosaic              one workflow
      headway history show mosaic project      the newest attempts of a category
      headway history export -o history.csv    everything, for other programs
      headway history prune --older-than 90d   forget what is old
    """
    if ctx.invoked_subcommand is not None:
        return 0
    from headway.cli.output import console_for, print_json
    from headway.report.history.document import figures_document

    with _open(history, silent=as_json) as opened:
        figures = opened.figures() if opened else []
    if as_json:
        print_json({"history": _place(history), "categories": [figures_document(each) for each in figures]})
    elif figures:
        _print_overview(console_for(), _place(history), figures)
    return 0


@command.command("show", short_help="One workflow, or the newest attempts of a category.")
@click.argument("workflow")
@click.argument("category", required=False)
@click.option("--top", type=click.IntRange(min=1), default=_MOST_ATTEMPTS, show_default=True, help="So many attempts.")
@_file_option
@_json_option
def show_command(workflow: str, category: str | None, top: int, history: str, as_json: bool) -> int:
    """Show what is known of WORKFLOW: its categories, or the newest attempts of one CATEGORY.

    \b
    Examples:
      headway history show mosaic
      headway history show mosaic project --top 100
    """
    from headway.cli.output import console_for, print_json
    from headway.report.history.document import figures_document, observation_document

    with _open(history, silent=True) as opened:
        if opened is None:
            raise InputError(f"nothing is known of a workflow {workflow!r}", where=_place(history))
        figures = _known(opened, workflow, category)
        newest = [] if category is None else list(opened.all(workflow, category, most=top))
    if as_json:
        answer: dict[str, Any] = {
            "history": _place(history),
            "categories": [figures_document(each) for each in figures],
        }
        if category is not None:
            answer["attempts"] = [observation_document(kept) for kept in newest]
        print_json(answer)
        return 0
    from headway.report.history.tables import attempt_table, category_table
    from headway.report.saying import show

    console = console_for()
    for line in category_table(figures, console.width):
        show(console, line)
    if newest:
        console.print()
        for line in attempt_table([kept.observation for kept in newest], console.width):
            show(console, line)
    return 0


@command.command("export", short_help="Every attempt, as JSON lines or a table.")
@click.argument("workflow", required=False)
@click.argument("category", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write it there; .csv is a table, else JSON lines.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@_file_option
def export_command(workflow: str | None, category: str | None, output: Path | None, force: bool, history: str) -> int:
    """Write every attempt that is known, or those of WORKFLOW, or of its CATEGORY: one JSON object a line, or CSV.

    \b
    Examples:
      headway history export | jq -r 'select(.ending == "memory") | .task'
      headway history export mosaic project -o project.csv
    """
    from headway.cli.history_export import export

    with _open(history) as opened:
        if opened is not None and workflow is not None:
            _known(opened, workflow, category)
        kept = opened.all(workflow, category) if opened else iter(())
        written = export(kept, output, force=force)
    if output is not None:
        click.echo(f"wrote {written:,} attempts to {output}", err=True)
    return 0


@command.command("prune", short_help="Forget what is old or not wanted any more.")
@click.option("--older-than", type=SPAN, metavar="AGE", help="Forget what ended longer ago, such as 90d.")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Keep the newest N attempts of each category.")
@click.option("--workflow", metavar="NAME", help="Only what is known of this workflow; alone: all of that.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@_file_option
@_json_option
def prune_command(
    older_than: float | None, keep: int | None, workflow: str | None, yes: bool, history: str, as_json: bool
) -> int:
    """Forget attempts: say which, ask, and remove them. What several options name is what all of them name.

    \b
    Examples:
      headway history prune --older-than 90d
      headway history prune --older-than 90d --keep 100   but leave 100 of each category
      headway history prune --workflow test --yes
    """
    from headway.cli.output import console_for, print_json

    if older_than is None and keep is None and workflow is None:
        raise InputError("nothing says what to forget", todo="add --older-than 90d, --keep 1000 or --workflow NAME")
    before = None if older_than is None else time.time() - older_than
    with _open(history, silent=as_json, read_only=False) as opened:
        if opened is None:
            found: list[Surplus] = []
        else:
            if workflow is not None:
                _known(opened, workflow, None)
            found = opened.surplus(workflow, before, keep)
        if not as_json and opened is not None:
            _print_surplus(console_for(), found)
        sure = bool(found) and (yes or (not as_json and _asked("remove them?")))
        removed = opened.remove(workflow, before, keep) if opened and sure else []
    count = sum(each.observations for each in removed)
    if as_json:
        print_json(
            {
                "history": _place(history),
                "found": [
                    {
                        "site": each.site,
                        "workflow": each.workflow,
                        "category": each.category,
                        "observations": each.observations,
                    }
                    for each in found
                ],
                "removed": count,
            }
        )
    elif found:
        click.echo(f"removed {count:,}" if sure else "nothing was removed; --yes does it without asking")
    return 0


# --- the history that is meant ---


def _place(history: str) -> str:
    from headway.history.location import history_location

    return history_location(history)


@contextmanager
def _open(history: str, *, silent: bool = False, read_only: bool = True) -> Iterator[History | None]:
    """The history that is meant; None, and a word about it, if there is none."""
    from headway.history.location import find_history

    place = _place(history)
    opened = find_history(place, read_only=read_only) if place else None
    if opened is None:
        if not silent:
            nothing = f"nothing has been learned yet: there is no history in {place}; `headway run` begins one"
            click.echo(nothing if place else "the settings say that no history is kept (none)", err=True)
        yield None
        return
    try:
        yield opened
    finally:
        opened.close()


def _known(history: History, workflow: str, category: str | None) -> list[CategoryFigures]:
    """The figures of a workflow, or of one of its categories; a complaint if nothing is known of it."""
    found = history.figures(workflow, category)
    if found:
        return found
    others = history.figures(workflow)
    if others:
        near = nearest(category or "", [each.category for each in others], otherwise="there are")
        raise InputError(f"nothing is known of a category {category!r} of {workflow!r}", todo=near)
    near = nearest(workflow, [each.workflow for each in history.figures()], otherwise="there are")
    raise InputError(f"nothing is known of a workflow {workflow!r}", todo=near)


def _asked(question: str) -> bool:
    return sys.stdin.isatty() and click.confirm(question)


# --- for people ---


def _print_overview(console: Console, place: str, figures: list[CategoryFigures]) -> None:
    from headway.report.history.tables import category_table
    from headway.report.saying import say, show
    from headway.report.words import count, harmless

    workflows = dict.fromkeys((each.site, each.workflow) for each in figures)
    sites = ", ".join(dict.fromkeys(harmless(site) for site, _ in workflows))
    attempts = count(sum(each.observations for each in figures), "attempt")
    say(console, f"{attempts} at tasks of {count(len(workflows), 'workflow')} on {sites}, in {harmless(place)}")
    console.print()
    newest = _newest_first(figures)
    for line in category_table(newest[:_MOST_CATEGORIES], console.width):
        show(console, line)
    if len(newest) > _MOST_CATEGORIES:
        more = count(len(newest) - _MOST_CATEGORIES, "more line")
        show(console, f"… and {more} (headway history show WORKFLOW; --json has all)", "dim")


def _newest_first(figures: list[CategoryFigures]) -> list[CategoryFigures]:
    """Workflows in the order in which they last ran, their categories as they first came."""
    newest: dict[tuple[str, str], float] = {}
    for each in figures:
        key = (each.workflow, each.site)
        newest[key] = max(newest.get(key, 0.0), each.newest_at)

    def rank(each: CategoryFigures) -> tuple[float, str, str]:
        return -newest[each.workflow, each.site], each.workflow, each.site

    return sorted(figures, key=rank)


def _print_surplus(console: Console, found: list[Surplus]) -> None:
    from headway.report.columns import one_line
    from headway.report.saying import show
    from headway.report.words import count

    if not found:
        show(console, "nothing to remove")
        return
    show(console, f"{count(sum(each.observations for each in found), 'attempt')} would be removed:")
    for each in found[:_MOST_CATEGORIES]:
        show(console, f"  {each.observations:>9,}  {one_line(each.workflow)}, {one_line(each.category)} ({each.site})")
    if len(found) > _MOST_CATEGORIES:
        show(console, f"  … and {count(len(found) - _MOST_CATEGORIES, 'more line')}", "dim")


command.add_command(why_command)
