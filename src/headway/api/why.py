"""`why`: what happened to a task, and why."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from headway.api.finding import find_run, find_tasks, reading
from headway.api.task_list import TaskList, list_tasks
from headway.report.run.story import Attempt, Story, story_of, tasks_of

if TYPE_CHECKING:
    from headway.model.outcome import Usage
    from headway.model.records import Why


class Explanation(Struct, frozen=True):
    """A task's story: why it ran, and for each attempt what it was given and why, what it used, and how it ended."""

    story: Story

    def document(self) -> dict[str, Any]:
        """Return what `headway why --json` prints: every figure that a decision was made from is in it."""
        return _document(self.story)


def why(task: str, run: str | None = None, directory: str | os.PathLike[str] = ".") -> Explanation | TaskList:
    """Explain a task of a run (by default the newest); the name of a category with several tasks lists them."""
    folder = find_run(Path(directory), run)
    with reading(folder) as journal:
        tasks = tasks_of(journal)
        found = find_tasks(task, tasks, folder.run)
        if len(found) > 1:
            return list_tasks(journal, task, found)
        return Explanation(story_of(journal, found[0], tasks))


def _document(story: Story) -> dict[str, Any]:
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
