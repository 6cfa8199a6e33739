"""Text about a history: all workflows, one workflow or category, single attempts, and what would be removed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from headway.history.base import CategoryFigures, Kept, Surplus
from headway.model.observation import Observation
from headway.model.outcome import Ending
from headway.model.units import format_bytes, format_duration
from headway.report.bars import fitted
from headway.report.columns import Field, one_line, table_lines
from headway.report.run.story_text import used_words
from headway.report.saying import say, show
from headway.report.words import NOTHING, amount, count, harmless, moment

_MOST_CATEGORIES = 60
_UID = re.compile(r"[0-9a-f]{12}")  # of a project without a name


def print_overview(console: Console, location: str, figures: Sequence[CategoryFigures]) -> None:
    """Print the categories of all workflows, those of the workflow that ran last first."""
    workflows = dict.fromkeys((each.site, each.workflow, each.project) for each in figures)
    sites = ", ".join(dict.fromkeys(harmless(site) for site, _, _ in workflows))
    attempts = count(sum(each.observations for each in figures), "attempt")
    say(console, f"{attempts} at tasks of {count(len(workflows), 'workflow')} on {sites}, in {harmless(location)}", "")
    newest = _newest_first(figures)
    show(console, *category_table(newest[:_MOST_CATEGORIES], console.width))
    if len(newest) > _MOST_CATEGORIES:
        more = count(len(newest) - _MOST_CATEGORIES, "more line")
        show(console, f"… and {more} (headway history show WORKFLOW; --json has all)", style="dim")


def print_categories(console: Console, figures: Sequence[CategoryFigures], newest: Sequence[Kept]) -> None:
    """Print categories of one workflow, and the newest attempts of one of them."""
    show(console, *category_table(figures, console.width))
    if newest:
        show(console, "", *attempt_table([kept.observation for kept in newest], console.width))


def print_surplus(console: Console, found: Sequence[Surplus]) -> None:
    """Print what would be removed, by category."""
    if not found:
        show(console, "nothing to remove")
        return
    show(console, f"{count(sum(each.observations for each in found), 'attempt')} would be removed:")
    for each in found[:_MOST_CATEGORIES]:
        show(
            console, f"  {each.observations:>9,}  {one_line(each.workflow)}, {one_line(each.category)} ({_whose(each)})"
        )
    if len(found) > _MOST_CATEGORIES:
        show(console, f"  … and {count(len(found) - _MOST_CATEGORIES, 'more line')}", style="dim")


def _newest_first(figures: Sequence[CategoryFigures]) -> list[CategoryFigures]:
    """Order workflows by when they last ran; their categories stay in the order in which they first ran."""
    newest: dict[tuple[str, str, str], float] = {}
    for each in figures:
        key = (each.workflow, each.site, each.project)
        newest[key] = max(newest.get(key, 0.0), each.newest_at)

    def rank(each: CategoryFigures) -> tuple[float, str, str, str]:
        key = (each.workflow, each.site, each.project)
        return -newest[key], *key

    return sorted(figures, key=rank)


# --- tables ---


def category_table(rows: Sequence[CategoryFigures], width: int) -> list[Text]:
    """One line per category, below the names of its workflow and project; the site is named if there are several."""
    sites = {row.site for row in rows}
    lines: list[tuple[str, CategoryFigures | None]] = []
    for (workflow, *_), members in groupby(rows, key=lambda row: (row.workflow, row.site, row.project)):
        first, *others = members
        lines.append((f"{workflow} ({_whose(first, site=len(sites) > 1)})".removesuffix(" ()"), None))
        lines += [(f"  {member.category}", member) for member in (first, *others)]
    names, figures = zip(*lines, strict=True)
    table = table_lines("category", names, figures, _FIELDS, width, total=False)
    for number, (name, figure) in enumerate(reversed(lines), 1):
        if figure is None:  # its cells are empty: a directory may use their room
            table[-number] = Text(fitted(one_line(name), width).rstrip())
    return table


def attempt_table(rows: Sequence[Observation], width: int) -> list[Text]:
    """One line per attempt."""
    names = [f"{row.task}, attempt {row.attempt}" if row.attempt > 1 else row.task for row in rows]
    return table_lines("task", names, rows, _ATTEMPT_FIELDS, width, total=False)


def _whose(each: CategoryFigures | Surplus, *, site: bool = True) -> str:
    """The directory of a project, its stated name, and the site, as far as they are known and wanted."""
    named = "" if _UID.fullmatch(each.project) or each.project == each.directory else each.project
    return ", ".join(harmless(part) for part in (named, each.directory, each.site if site else "") if part)


def _of(say: Callable[[CategoryFigures], str]) -> Callable[[CategoryFigures | None], str]:
    """The text of a category's cell; the line with a workflow's name has empty cells."""
    return lambda figures: say(figures) if figures else ""


def _median_and_most(group: str, figure: str, dear: int) -> list[Field]:
    def field(name: str) -> Field:
        return Field(group, name, _of(lambda row: amount(figure, getattr(getattr(row, figure), name, None))), dear)

    return [field("median"), field("most")]


_FIELDS = [
    Field("", "attempts", _of(lambda row: f"{row.observations:,}"), 90),
    Field(
        "",
        "failed",
        _of(lambda row: f"{row.failures:,}" if row.failures else NOTHING),
        80,
        _of(lambda row: "yellow" if row.failures else ""),
    ),
    *_median_and_most("memory", "memory_bytes", 70),
    *_median_and_most("run time", "run_s", 60),
    Field("", "newest", _of(lambda row: moment(row.newest_at)), 50),
]


def _used(resource: str, row: Observation) -> str:
    return used_words(resource, row.usage.peak(resource)) or NOTHING


_ATTEMPT_FIELDS = [
    Field(
        "",
        "ended",
        lambda row: str(row.ending),
        90,
        lambda row: "green" if row.ending is Ending.SUCCESS else "yellow" if row.ending.exhausted else "red",
    ),
    Field("", "run time", lambda row: format_duration(max(0.0, row.ended_at - row.started_at)), 60),
    Field("", "inputs", lambda row: NOTHING if row.input_bytes is None else format_bytes(row.input_bytes), 40),
    Field("memory", "given", lambda row: amount("memory_bytes", row.given.memory_bytes), 70),
    Field("memory", "used", lambda row: _used("memory_bytes", row), 70),
    Field("cores", "given", lambda row: amount("cores", row.given.cores), 30),
    Field("cores", "used", lambda row: _used("cores", row), 30),
    Field("disk", "given", lambda row: amount("disk_bytes", row.given.disk_bytes), 20),
    Field("disk", "used", lambda row: _used("disk_bytes", row), 20),
    Field("", "when", lambda row: moment(row.ended_at), 50),
]
