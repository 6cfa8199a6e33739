"""What the shell may complete: run numbers and task names. Silent on any trouble: nobody asked to see an error."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

_MOST = 200


def complete_run(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Numbers of the runs here, newest first."""
    from headway.journal.folder import Project

    try:
        runs = [folder.run for folder in Project(_directory(ctx)).runs()]
    except Exception:
        return []
    return [CompletionItem(run) for run in reversed(runs) if run.startswith(incomplete)]


def complete_task(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of tasks and categories of the run that is meant."""
    from headway.cli.finding import find_run, reading
    from headway.report.run.story import tasks_of

    try:
        with reading(find_run(_directory(ctx), ctx.params.get("run"))) as journal:
            tasks = tasks_of(journal)
    except Exception:
        return []
    names = dict.fromkeys([*(task.category for task in tasks.values()), *tasks])
    return [CompletionItem(name) for name in names if name.startswith(incomplete)][:_MOST]


def complete_sizer(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of sizers."""
    from headway.drivers.assemble import sizing_policies

    return [CompletionItem(name) for name in sorted(sizing_policies()) if name.startswith(incomplete)]


def _directory(ctx: click.Context) -> Path:
    return Path(ctx.params.get("directory") or ".")
