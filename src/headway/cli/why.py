"""`headway why`: explain what happened to a task."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.completion import complete_run, complete_task
from headway.cli.options import directory_option, json_option
from headway.cli.output import console_for, print_json


@click.command("why", short_help="Explain what happened to a task, and why.")
@click.argument("task", shell_complete=complete_task)
@click.option("--run", metavar="RUN", shell_complete=complete_run, help="The run; by default the newest.")
@directory_option
@json_option
def command(task: str, run: str | None, directory: Path, as_json: bool) -> int:
    """Explain TASK: why it ran, and for each attempt what it was given and why, what it used, and how it ended.

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
      headway why total --json | jq '.attempts[0].why.memory_bytes'
    """
    from headway.api.task_list import TaskList
    from headway.api.why import why
    from headway.cli.task_list import print_task_list

    answer = why(task, run, directory)
    if as_json:
        print_json(answer.document())
    elif isinstance(answer, TaskList):
        print_task_list(console_for(), answer, "why")
    else:
        from headway.report.run.story_text import tell

        tell(console_for(), answer.story)
    return 0
