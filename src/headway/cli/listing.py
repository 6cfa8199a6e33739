"""The tasks of a category and where each of them is: what `why` and `logs` answer to a name that means several."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from headway.cli.output import console_for, print_json
from headway.journal.base import Journal
from headway.model.outcome import Ending
from headway.model.records import GiveUp, Launch, NodeLost, Reuse, TaskEnded
from headway.model.task import Task
from headway.report.run.summary import RunSummary
from headway.report.saying import show
from headway.report.words import harmless

_MOST = 20
_RANKS = ("failed", "running", "to be retried", "waiting", "cut off", "succeeded", "reused")


def show_category(journal: Journal, category: str, tasks: Sequence[Task], verb: str, *, as_json: bool) -> int:
    """List the tasks, those first that somebody may be looking for."""
    states = _states(journal, {task.id for task in tasks})
    if as_json:
        print_json(
            {
                "category": category,
                "tasks": [
                    {"task": task.id, "state": states[task.id][0], "attempts": states[task.id][1]} for task in tasks
                ],
            }
        )
        return 0
    console = console_for()
    ranked = sorted(tasks, key=lambda task: _RANKS.index(states[task.id][0]))
    console.print(f"{harmless(category)} is a category of {len(tasks):,} tasks:")
    width = min(50, max(len(task.id) for task in ranked[:_MOST]))
    for task in ranked[:_MOST]:
        state, attempts = states[task.id]
        more = f", {attempts} attempts" if attempts > 1 else ""
        show(console, f"  {harmless(task.id):<{width}}  {state}{more}")
    if len(ranked) > _MOST:
        console.print(f"  … and {len(ranked) - _MOST:,} more (--json lists them all)")
    show(console, f"name one of them: headway {verb} {shlex.quote(ranked[0].id)}", "cyan")
    return 0


def _states(journal: Journal, ids: set[str]) -> dict[str, tuple[str, int]]:
    """Where each task is, and how many attempts it had."""
    state = dict.fromkeys(ids, "waiting")
    attempts = dict.fromkeys(ids, 0)
    for record in journal.replay(kinds=["launch", "task-ended", "reuse", "give-up", "node-lost"]):
        match record:
            case Launch() if record.task in ids:
                state[record.task], attempts[record.task] = "running", record.attempt
            case TaskEnded() if record.outcome.task in ids:
                success = record.outcome.ending is Ending.SUCCESS
                state[record.outcome.task] = "succeeded" if success else "to be retried"
            case Reuse() if record.task in ids:
                state[record.task] = "reused"
            case GiveUp() if record.task in ids:
                state[record.task] = "failed"
            case NodeLost():
                state |= {task: "to be retried" for task, each in state.items() if each == "running"}
    if "waiting" in state.values():
        summary = RunSummary.of(journal)
        state |= {task: "cut off" for task in ids if summary.is_cut_off(task)}
    return {task: (state[task], attempts[task]) for task in ids}
