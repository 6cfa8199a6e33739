"""`headway why`: explain what happened to a task."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from headway.api.task_list import TaskList
from headway.api.why import Explanation, why
from headway.cli.completion import complete_task
from headway.cli.options import answers, directory_option, run_option
from headway.cli.task_list import print_task_list
from headway.report.run.story_text import tell


def _print(console: Console, answer: Explanation | TaskList) -> None:
    if isinstance(answer, TaskList):
        print_task_list(console, answer, "why")
    else:
        tell(console, answer.story)


@click.command("why", short_help="Explain what happened to a task, and why.")
@click.argument("task", shell_complete=complete_task)
@run_option
@directory_option
@answers(_print)
def command(task: str, run: str | None, directory: Path) -> Explanation | TaskList:
    """Explain TASK: why it ran, and for each attempt what it was given and why, what it used, and how it ended.

    A category, or a pattern with * and ?, that means several tasks lists them.

    --json holds every figure that a decision was made from, so that the decision can be computed again.

    \b
    Marks in front of what was used:
      ≈  sampled: a short peak between two samples may have been higher
      ≥  at least: it was stopped and would have used more
      ≤  at most: includes memory that could be freed, such as page cache

    \b
    Examples:
      headway why total
      headway why 'count[ab]' --run 3
      headway why '*[ab]'
      headway why total --json | jq '.attempts[0].why.memory_bytes'
    """
    return why(task, run, directory)
