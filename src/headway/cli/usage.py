"""`headway usage`: what tasks asked for and what they used, of any run. Only reads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.completion import complete_run
from headway.cli.options import directory_option, json_option
from headway.model.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from headway.report.run.task_usage import By, CategoryUsage, Row

_MOST_TASKS = 20
_COLUMNS = ("asked", "used", "waste", "awe")
_SORTS = (
    *("name", "state", "tasks", "attempts", "run-time"),
    *(f"memory-{column}" for column in _COLUMNS),
    *(f"cores-{column}" for column in (*_COLUMNS, "busy")),
    *(f"disk-{column}" for column in _COLUMNS),
)


@click.command("usage", short_help="Show what tasks asked for and what they used.")
@click.argument("run", required=False, shell_complete=complete_run)
@click.option("--by", type=click.Choice(["category", "task"]), help="A line a category (default), or a task.")
@click.option("--category", metavar="NAME", help="Only this category; its tasks, unless --by says otherwise.")
@click.option(
    "--sort",
    type=click.Choice(_SORTS),
    default="memory-waste",
    metavar="COLUMN",
    show_default=True,
    help=f"What comes first, the worst of it: {', '.join(_SORTS)}.",
)
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="So many lines; of tasks 20 if not said.")
@click.option("--csv", "as_csv", is_flag=True, help="All lines, for spreadsheets.")
@directory_option
@json_option
def command(
    run: str | None,
    by: By | None,
    category: str | None,
    sort: str,
    top: int | None,
    as_csv: bool,
    directory: Path,
    as_json: bool,
) -> int:
    """Show what the tasks of RUN (by default the newest) asked for and what they used, the most wasted first.

    Asked and used are means by category, and a task's last attempt by task; attempts, run time, waste and AWE are those
    of all attempts. AWE is useful use over all that was given, each times its run time; busy is CPU time over cores
    times run time. It only reads: ask also while the run goes on.

    \b
    Examples:
      headway usage
      headway usage --by task --sort cores-busy --top 10
      headway usage 3 --category align
      headway usage --by task --csv > usage.csv
    """
    from headway.cli.finding import find_run, reading
    from headway.cli.status import manager_of
    from headway.report.run.task_usage import CategoryUsage, TaskUsage, total_of
    from headway.report.run.usage_table import SORTS

    if as_csv and as_json:
        raise InputError("--csv and --json contradict each other", todo="leave one out")
    folder = find_run(directory, run)
    by = by or ("task" if category is not None else "category")
    with reading(folder) as journal:
        summary = (TaskUsage if by == "task" else CategoryUsage).of(journal)
    state = summary.finished or ("running" if manager_of(folder, summary) else "interrupted")
    rows = _of_category(summary.rows(), category, folder.run)
    total = total_of(rows)
    rows.sort(key=SORTS[sort])
    if as_csv:
        _print_csv(rows[:top], by)
    elif as_json:
        _print_json(summary, state, rows[:top], total, by)
    else:
        from headway.cli.output import console_for

        shown = rows[: top or (_MOST_TASKS if by == "task" else None)]
        _print(console_for(), summary, state, shown, len(rows) - len(shown), total, by)
    return 0


def _of_category(rows: list[Row], category: str | None, run: str) -> list[Row]:
    if category is None:
        return rows
    found = [row for row in rows if row.category == category]
    if not found:
        from headway.api.nearest import nearest

        known = dict.fromkeys(row.category for row in rows)
        raise InputError(
            f"run {run} has no category {category!r}", todo=nearest(category, known, otherwise="there are")
        )
    return found


def _print_json(summary: CategoryUsage, state: str, rows: list[Row], total: Row, by: By) -> None:
    from headway.cli.output import print_json
    from headway.report.run.task_usage import flat

    settings = summary.settings
    whole = flat(total, "category")
    del whole["category"]
    answer = {
        "run": settings.run if settings else "",
        "name": settings.name if settings else "",
        "state": state,
        "by": by,
        "rows": [flat(row, by) for row in rows],
        "all": whole,
    }
    print_json(answer)


def _print_csv(rows: list[Row], by: By) -> None:
    import csv

    from headway.report.columns import one_line
    from headway.report.run.task_usage import flat

    writer = csv.writer(sys.stdout, lineterminator="\n")
    for place, row in enumerate(rows):
        figures = flat(row, by)
        if not place:
            writer.writerow(figures)
        writer.writerow(one_line(value) if isinstance(value, str) else value for value in figures.values())
    sys.stdout.flush()


def _print(
    console: Console, summary: CategoryUsage, state: str, rows: list[Row], more: int, total: Row, by: By
) -> None:
    from rich.text import Text

    from headway.report.columns import one_line
    from headway.report.run.usage_table import sentences, usage_table
    from headway.report.saying import say, show
    from headway.report.words import count

    settings, whole = summary.settings, total.figures
    name = one_line(settings.name) if settings else ""
    title = Text.assemble((name, "bold"), f", run {settings.run if settings else ''}: {state}; ")
    say(console, title.append(f"{count(whole.total, 'task')}, {count(whole.attempts, 'attempt')}"))
    if rows:
        console.print()
        for line in usage_table(rows, total, by, console.width):
            show(console, line)
    if more:
        kind = "task" if by == "task" else "line"
        show(console, f"… and {count(more, f'more {kind}')} (--top N shows more; --csv and --json have all)", "dim")
    console.print()
    for sentence in sentences(total) or ["nothing has been measured in this run"]:
        say(console, sentence)
