"""`why`: what happened to a task, and why."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec import Struct, structs, to_builtins

from headway.api.finding import find_run_of, find_tasks, reading, state_in
from headway.api.saved_summary import summary_of
from headway.api.task_list import TaskList, list_tasks
from headway.journal.folder import RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.journal.story.jobs import Job
from headway.model.command_as_run import command_as_run
from headway.model.outcome import Measured, Usage
from headway.model.task import Task
from headway.report.run.story import Attempt, Story, story_of, tasks_of
from headway.workers.full_disk import is_full, largest_tasks


class Explanation(Struct, frozen=True):
    """A task's story: why it ran, and for each attempt what it was given and why, what it used, and how it ended."""

    story: Story

    def document(self) -> dict[str, Any]:
        """Return what `headway why --json` prints: every figure that a decision was made from is in it."""
        story = self.story
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
            "cut_off_by": {task: structs.asdict(why) for task, why in story.cut_off_by.items()},
            "waits_for": story.waits_for,
            "waits_for_jobs": [_job(job) for job in story.jobs],
            "without_nodes": story.without_nodes.message if story.without_nodes else None,
            "full_disk": story.full_disk or None,
            "given_up": structs.asdict(story.given_up) if story.given_up else None,
            "settings": to_builtins(story.settings.chosen) if story.settings else [],
            "attempts": [_attempt(attempt, story.task) for attempt in story.attempts],
        }


def why(task: str, run: str | None = None, directory: str | os.PathLike[str] = ".") -> Explanation | TaskList:
    """Explain a task of a run (by default the newest); a category or pattern with several tasks lists them."""
    folder = find_run_of(task, Path(directory), run)
    with reading(folder) as journal:
        tasks = tasks_of(journal)
        found = find_tasks(task, journal, folder.run)
        if len(found) > 1:
            return list_tasks(folder, journal, task, [each.id for each in found])
        story = story_of(journal, found[0], tasks)
        if story.state == "running" and state_in(folder, journal) != "running":
            story.state = "interrupted"
        if story.state in ("interrupted", "failed") and is_full(folder.path):
            story.full_disk = _full_disk(folder, journal)
        return Explanation(story)


def _full_disk(folder: RunFolder, journal: SqliteJournal) -> str:
    """Return a sentence about the full disk, with the unfinished tasks that take most of it."""
    summary = summary_of(folder, journal)
    unfinished = [*summary.running, *summary.troubles, *summary.failures]
    largest = largest_tasks({task: folder.attempt(task, 1).parent for task in unfinished})
    return "its disk is full" + (f"; of the unfinished tasks, these take most of it: {largest}" if largest else "")


def _job(job: Job) -> dict[str, Any]:
    seen = job.seen
    return {
        "tag": job.submit.tag,
        "job": seen.job_id if seen else None,
        "held": seen is not None and seen.held,
        "because": seen.message if seen else "",
    }


def _attempt(attempt: Attempt, task: Task) -> dict[str, Any]:
    launch, outcome = attempt.launch, attempt.outcome
    return {
        "attempt": launch.attempt,
        "command": command_as_run(task, launch.ceiling or launch.resources),
        "node": launch.node,
        "launched_at": launch.at,
        "partition": attempt.job.partition if attempt.job else None,
        "billing": attempt.job.billing if attempt.job else None,
        "job_gave_back_nodes": attempt.given_back,
        "gpus": list(launch.devices),
        "overtook": launch.overtook,
        "given": {resource: launch.resources[resource] for resource in launch.why},
        "may_use": {resource: (launch.ceiling or launch.resources)[resource] for resource in launch.why},
        "why": {resource: structs.asdict(why) for resource, why in launch.why.items()},
        "ending": str(outcome.ending) if outcome else ("node-lost" if attempt.lost is not None else None),
        "message": outcome.message if outcome else attempt.lost,
        **{name: getattr(outcome, name, None) for name in ("started_at", "ended_at", "exit_code", "signal")},
        "used": _usage(outcome.usage) if outcome else {},
        "measured_by": outcome.usage.method if outcome else None,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    figures = {name: figure for name, figure in structs.asdict(usage).items() if isinstance(figure, Measured)}
    return {name: {"value": figure.value, "quality": str(figure.quality)} for name, figure in figures.items()}
