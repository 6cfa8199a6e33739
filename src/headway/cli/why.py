"""`headway why`: what happened to a task, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli.completion import complete_run, complete_task
from headway.cli.options import directory_option, json_option

if TYPE_CHECKING:
    from headway.model.outcome import Usage
    from headway.model.records import Why
    from headway.report.run.story import Attempt, Story


@click.command("why", short_help="Explain what happened to a task, and why.")
@click.argument("task", shell_complete=complete_task)
@click.option("--run", metavar="RUN", shell_complete=complete_run, help="The run; by default the newest.")
@directory_option
@json_option
def command(task: str, run: str | None, directory: Path, as_json: bool) -> int:
    """Explain TASK: why it ran, and for each attempt what it was given and why, what it used, and how it ended.

    Every figure that a decision was made from is in --json, so that it can be made again.

    \b
    Marks in front of what was used:
      ≈  sampled: a short peak between two looks may have been higher
      ≥  at least: it was stopped and would have used more
      ≤  at most: counts something that need not be held, such as page cache

    \b
    Examples:
      headway why total
      headway why 'count[ab]' --run 3
      headway why total --json | jq '.attempts[0].why.memory_bytes'
    """
    from headway.cli.finding import find_run, find_tasks, reading
    from headway.cli.listing import show_category
    from headway.cli.output import console_for, print_json
    from headway.report.run.story import story_of, tasks_of

    folder = find_run(directory, run)
    with reading(folder) as journal:
        tasks = tasks_of(journal)
        found = find_tasks(task, tasks, folder.run)
        if len(found) > 1:
            return show_category(journal, task, found, "why", as_json=as_json)
        story = story_of(journal, found[0], tasks)
    if as_json:
        print_json(document(story))
        return 0
    from headway.report.run.story_text import tell

    tell(console_for(), story)
    return 0


def document(story: Story) -> dict[str, Any]:
    """The story as JSON."""
    return {
        "run": story.run,
        "workflow": story.workflow,
        "task": story.task.id,
        "category": story.task.category,
        "command": story.task.command,
        "hints": story.task.hints,
        "needs": list(story.task.parents),
        "state": story.state,
        "because": story.attempts[0].launch.because if story.attempts else None,
        "reused_from": story.reused_from,
        "cut_off_by": {task: _why(why) for task, why in story.cut_off_by.items()},
        "waits_for": story.waits_for,
        "given_up": _why(story.given_up) if story.given_up else None,
        "attempts": [_attempt(attempt) for attempt in story.attempts],
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    launch, outcome = attempt.launch, attempt.outcome
    return {
        "attempt": launch.attempt,
        "node": launch.node,
        "launched_at": launch.at,
        "overtook": launch.overtook,
        "given": {resource: launch.resources[resource] for resource in launch.why},
        "why": {resource: _why(why) for resource, why in launch.why.items()},
        "ending": str(outcome.ending) if outcome else ("node-lost" if attempt.lost is not None else None),
        "message": outcome.message if outcome else attempt.lost,
        "started_at": outcome.started_at if outcome else None,
        "ended_at": outcome.ended_at if outcome else None,
        "exit_code": outcome.exit_code if outcome else None,
        "signal": outcome.signal if outcome else None,
        "used": _usage(outcome.usage) if outcome else {},
        "measured_by": outcome.usage.method if outcome else None,
    }


def _why(why: Why) -> dict[str, Any]:
    return {"policy": why.policy, "rule": why.rule, "figures": why.figures, "text": why.text}


def _usage(usage: Usage) -> dict[str, Any]:
    names = ("wall_s", "cpu_s", "memory_bytes", "disk_bytes", "cores_peak", "cores_average")
    figures = {name: getattr(usage, name) for name in names}
    return {name: {"value": figure.value, "quality": str(figure.quality)} for name, figure in figures.items() if figure}
