"""`headway run --check-inputs`: say which inputs are not declared."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from headway.api.check_inputs import CheckedInputs, check_inputs
from headway.cli.output import console_for, print_json, warn
from headway.cli.watching import EXIT_CODES
from headway.model.errors import InputError
from headway.report.console import console_on
from headway.report.run.display import display_on
from headway.report.run.ending import print_failures
from headway.report.run.progress import Progress
from headway.report.run.summary import RunSummary
from headway.report.saying import say, show
from headway.report.words import count

if TYPE_CHECKING:
    from headway.api.settings import RunSettings

_MOST_LISTED = 20  # files of one task


def refuse(others: Mapping[str, bool]) -> None:
    """Raise an InputError for an option that a check does not have."""
    for name, given in others.items():
        if given:
            raise InputError(
                "a check of inputs runs all tasks, here and now", where=name, todo="leave one of the two out"
            )


def check(workflow: Path, settings: RunSettings, *, as_json: bool) -> int:
    """Check the inputs of a workflow, print what is missing, and return the exit code."""
    console = console_for(as_json=as_json)
    progress = Progress(RunSummary()) if settings.quiet else display_on(console)
    with progress:
        checked = check_inputs(workflow, None, settings, progress=progress, warn=warn)
    if as_json:
        print_json(checked.document())
    else:
        _print(console_on(sys.stderr) if settings.quiet else console, checked)
    return EXIT_CODES.get(checked.result.state, 130) or int(bool(checked.missing))


def _print(console: Console, checked: CheckedInputs) -> None:
    result = checked.result
    if result.failures:
        console.print()
        print_failures(console, result.summary, result.folder)
    if checked.unchecked:
        first = ", ".join(checked.unchecked[:3]) + ", …" * (len(checked.unchecked) > 3)
        number = count(len(checked.unchecked), "task")
        show(console, "", f"not checked, since they have no sandbox and see everything: {number} ({first})")
    if checked.missing:
        console.print()
    for _, group in groupby(checked.missing, key=lambda each: each.task):
        lines = list(map(str, group))
        more = len(lines) - _MOST_LISTED
        show(console, *lines[:_MOST_LISTED], *([f"… and {more:,} more; --json lists all"] if more > 0 else []))
    say(console, "", _verdict(checked))


def _verdict(checked: CheckedInputs) -> str:
    """One sentence: whether inputs are missing, and whether there may be more."""
    state, missing = checked.result.state, count(len(checked.missing), "undeclared input")
    if state == "stopped":
        return f"the check was stopped; it has found {missing} so far"
    if state == "failed":
        failed = count(len(checked.result.failures), "task")
        return f"{missing} found, and {failed} failed, so that there may be more: correct them and check again"
    if checked.missing:
        return f"{missing} found; the results in your directory were not touched"
    return "every task succeeded with its declared inputs alone; the results in your directory were not touched"
