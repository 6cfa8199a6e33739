"""Text about a history: all workflows, one workflow or category, and what would be removed."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from headway.history.base import Kept, Surplus
from headway.history.figures import CategoryFigures
from headway.report.columns import one_line
from headway.report.history.tables import attempt_table, category_table
from headway.report.saying import say, show
from headway.report.words import count, harmless

_MOST_CATEGORIES = 60


def print_overview(console: Console, location: str, figures: Sequence[CategoryFigures]) -> None:
    """Print the categories of all workflows, those of the workflow that ran last first."""
    workflows = dict.fromkeys((each.site, each.workflow) for each in figures)
    sites = ", ".join(dict.fromkeys(harmless(site) for site, _ in workflows))
    attempts = count(sum(each.observations for each in figures), "attempt")
    say(console, f"{attempts} at tasks of {count(len(workflows), 'workflow')} on {sites}, in {harmless(location)}")
    console.print()
    newest = _newest_first(figures)
    for line in category_table(newest[:_MOST_CATEGORIES], console.width):
        show(console, line)
    if len(newest) > _MOST_CATEGORIES:
        more = count(len(newest) - _MOST_CATEGORIES, "more line")
        show(console, f"… and {more} (headway history show WORKFLOW; --json has all)", "dim")


def print_categories(console: Console, figures: Sequence[CategoryFigures], newest: Sequence[Kept]) -> None:
    """Print categories of one workflow, and the newest attempts of one of them."""
    for line in category_table(list(figures), console.width):
        show(console, line)
    if newest:
        console.print()
        for line in attempt_table([kept.observation for kept in newest], console.width):
            show(console, line)


def print_surplus(console: Console, found: Sequence[Surplus]) -> None:
    """Print what would be removed, by category."""
    if not found:
        show(console, "nothing to remove")
        return
    show(console, f"{count(sum(each.observations for each in found), 'attempt')} would be removed:")
    for each in found[:_MOST_CATEGORIES]:
        show(console, f"  {each.observations:>9,}  {one_line(each.workflow)}, {one_line(each.category)} ({each.site})")
    if len(found) > _MOST_CATEGORIES:
        show(console, f"  … and {count(len(found) - _MOST_CATEGORIES, 'more line')}", "dim")


def _newest_first(figures: Sequence[CategoryFigures]) -> list[CategoryFigures]:
    """Order workflows by when they last ran; their categories stay in the order in which they first ran."""
    newest: dict[tuple[str, str], float] = {}
    for each in figures:
        key = (each.workflow, each.site)
        newest[key] = max(newest.get(key, 0.0), each.newest_at)

    def rank(each: CategoryFigures) -> tuple[float, str, str]:
        return -newest[each.workflow, each.site], each.workflow, each.site

    return sorted(figures, key=rank)
