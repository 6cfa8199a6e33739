"""Print several tasks: what `why` and `logs` answer to a category or a pattern."""

from __future__ import annotations

import shlex

from rich.console import Console

from headway.api.task_list import TaskList
from headway.report.saying import show
from headway.report.words import harmless

_MOST = 20
_RANKS = ("failed", "running", "to be retried", "waiting", "cut off", "succeeded", "reused")


def print_task_list(console: Console, listed: TaskList, verb: str) -> None:
    """Print the tasks and their states, failed ones first."""
    ranked = sorted(listed.tasks, key=lambda task: _RANKS.index(task.state))
    means = "fits" if listed.category is None else "is a category of"
    show(console, f"{harmless(listed.asked)} {means} {len(ranked):,} tasks:")
    width = min(50, max(len(task.task) for task in ranked[:_MOST]))
    for task in ranked[:_MOST]:
        more = f", {task.attempts} attempts" if task.attempts > 1 else ""
        show(console, f"  {harmless(task.task):<{width}}  {task.state}{more}")
    if len(ranked) > _MOST:
        console.print(f"  … and {len(ranked) - _MOST:,} more (--json lists them all)")
    show(console, f"name one of them: headway {verb} {shlex.quote(ranked[0].task)}", style="cyan")
