"""`headway usage`: what the tasks of a run asked for and what they used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from headway.api.usage import RunUsage, usage
from headway.cli.completion import complete_run_or_task, complete_task
from headway.cli.options import COUNT, directory_option, json_option, option
from headway.cli.output import console_for, print_json
from headway.cli.task_options import only_option
from headway.model.errors import InputError
from headway.report.columns import one_line
from headway.report.csv_rows import csv_lines
from headway.report.run.task_usage import By
from headway.report.run.usage_table import SORTS, sentences, usage_table
from headway.report.saying import say, show
from headway.report.words import count

_MOST_TASKS = 20


@click.command("usage", short_help="Show what tasks asked for and what they used.")
@click.argument("names", nargs=-1, metavar="[RUN] [TASK]", shell_complete=complete_run_or_task)
@option("--by", "One line per category (default), or per task.", type=click.Choice(["category", "task"]))
@option(
    "--category NAME",
    "As TASK: only this category, task or pattern; by task unless --by says otherwise.",
    shell_complete=complete_task,
)
@only_option
@option(
    "--sort COLUMN",
    f"Sort by this column, worst first: {', '.join(SORTS)}.",
    type=click.Choice(list(SORTS)),
    default="memory-waste",
)
@option("--top N", "Number of lines; by default 20 tasks, or all categories.", type=COUNT)
@option("--csv as_csv", "Print all lines as CSV.", is_flag=True)
@directory_option
@json_option
def command(
    names: tuple[str, ...],
    sort: str,
    by: By | None,
    category: str | None,
    only: tuple[str, ...],
    top: int | None,
    as_csv: bool,
    as_json: bool,
    **of: Any,
) -> int:
    """Show what the tasks of RUN (by default the newest) asked for and what they used, the largest waste first.

    With TASK, a category, a task or a pattern with * and ?, only what it means, by task.

    By category, asked and used are means; by task, they are those of the last attempt. Attempts, run time, waste and
    AWE are those of all attempts. AWE is useful use divided by all that was given, each times its run time; busy is CPU
    time divided by cores times run time. It only reads, so it may be used while the run goes on.

    \b
    Examples:
      headway usage
      headway usage --by task --sort cores-busy --top 10
      headway usage 'align[s1?]'
      headway usage 3 '*[s1]' --by category
      headway usage --only sample=s1,s2
      headway usage --by task --csv > usage.csv
    """
    if as_csv and as_json:
        raise InputError("--csv and --json contradict each other", todo="leave one out")
    run, category = _run_and_task(names, category)
    by = by or ("task" if category is not None else "category")
    plain = not as_csv and not as_json
    most = top or (_MOST_TASKS if plain and by == "task" else None)
    found = usage(run, **of, by=by, category=category, only=only, sort=sort, top=most)
    if as_csv:
        sys.stdout.writelines(csv_lines(found.document()["rows"]))
        sys.stdout.flush()
    elif as_json:
        print_json(found.document())
    else:
        _print(console_for(), found)
    return 0


def _run_and_task(names: Sequence[str], category: str | None) -> tuple[str | None, str | None]:
    """Return the run, which is a number, and the task that the arguments name."""
    run = names[0] if names and names[0].isdecimal() else None
    tasks = [*names[0 if run is None else 1 :], *([] if category is None else [category])]
    if len(tasks) > 1:
        raise InputError(f"{tasks[1]!r} is one name too many", todo="give one task, category or pattern, after the run")
    return run, tasks[0] if tasks else None


def _print(console: Console, found: RunUsage) -> None:
    whole = found.total.figures
    title = Text.assemble((one_line(found.name), "bold"), f", run {found.run}: {found.state}; ")
    say(console, title.append(f"{count(whole.total, 'task')}, {count(whole.attempts, 'attempt')}"))
    if found.rows:
        show(console, "", *usage_table(found.rows, found.total, found.by, console.width))
    if found.more:
        more = count(found.more, "more task" if found.by == "task" else "more line")
        show(console, f"… and {more} (--top N shows more; --csv and --json have all)", style="dim")
    say(console, "", *(sentences(found.total) or ["nothing has been measured in this run"]))
