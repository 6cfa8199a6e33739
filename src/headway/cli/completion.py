"""Shell completion of run numbers and names. It prints no errors: the user has not run a command yet."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

_MOST = 200


def complete_run(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the numbers of the runs here, newest first."""
    from headway.api.finding import run_numbers

    try:
        runs = run_numbers(_directory(ctx))
    except Exception:
        return []
    return [CompletionItem(run) for run in runs if run.startswith(incomplete)]


def complete_task(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of the categories and tasks of the run."""
    from headway.api.finding import task_names

    try:
        names = task_names(_directory(ctx), ctx.params.get("run"))
    except Exception:
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)][:_MOST]


def complete_sizer(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of sizers."""
    from headway.api.settings import sizer_names

    return [CompletionItem(name) for name in sizer_names() if name.startswith(incomplete)]


def _directory(ctx: click.Context) -> Path:
    return Path(ctx.params.get("directory") or ".")
