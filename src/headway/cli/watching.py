"""Driving a run in front of the user: progress while it goes on, last words, exit code."""

from __future__ import annotations

import time
from collections.abc import Callable

from headway.cli.output import console_for, print_json, silence
from headway.cli.progress import Lines, Progress
from headway.drivers.real import Observer
from headway.journal.folder import RunFolder
from headway.report.run.summary import RunSummary

EXIT_CODES = {"succeeded": 0, "failed": 1, "stopped": 130}


def watch(drive: Callable[[Observer], RunFolder], summary: RunSummary, *, quiet: bool, as_json: bool) -> int:
    """Call `drive` with an observer that shows progress; then tell how it ended, and return the exit code."""
    console = console_for(as_json=as_json)
    progress: Progress
    if quiet:
        progress = Progress(summary)
    elif console.is_terminal and not console.is_dumb_terminal:
        from headway.cli.live import LiveDisplay

        progress = LiveDisplay(summary, console)
    else:
        progress = Lines(summary, console)
    with progress:
        folder = drive(progress)
    if as_json:
        from headway.report.run.document import document

        print_json(document(summary, folder, summary.finished or "interrupted", time.time()))
    elif not quiet:
        from headway.report.run.ending import print_ending

        try:
            print_ending(console, summary, folder)
        except BrokenPipeError:  # nobody reads; the exit code still tells
            silence(console.file)
    return EXIT_CODES.get(summary.finished or "", 130)
