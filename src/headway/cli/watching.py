"""Show the progress of a run while it goes on, then how it ended."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from headway.cli.output import console_for, print_json, warn
from headway.report.console import console_on
from headway.report.run.display import display_on
from headway.report.run.progress import Progress
from headway.report.run.summary import RunSummary
from headway.report.streams import silence

if TYPE_CHECKING:
    from headway.api.run_result import RunResult
    from headway.api.runnable import Scale
    from headway.api.settings import RunSettings

EXIT_CODES = {"succeeded": 0, "failed": 1, "stopped": 130}


@contextmanager
def showing(directory: Path) -> Iterator[None]:
    """Show the run that begins next in a browser, until the end of the block."""
    from headway.dashboard.beside import served

    with served(directory) as address:
        warn(f"this run is shown at {address}")
        yield
    warn("the page in the browser has ended with the run; `headway report` writes one that stays")


def watch(drive: Callable[[Progress], RunResult], *, quiet: bool, as_json: bool) -> int:
    """Call `drive` with a progress display; then print how the run ended, and return the exit code."""
    console = console_for(as_json=as_json)
    progress = Progress(RunSummary()) if quiet else display_on(console)
    with progress:
        result = drive(progress)
    if as_json:
        print_json(result.document())
    else:
        from headway.report.run.ending import print_ending, print_failures

        try:
            if quiet:
                print_failures(console_on(sys.stderr), result.summary, result.folder)
            else:
                print_ending(console, result.summary, result.folder, result.page)
                console.file.flush()
        except OSError:  # the reader is gone, or the disk full; the exit code still tells
            silence(console.file)
    return EXIT_CODES.get(result.state, 130)


def run_watched(workflow: Path, settings: RunSettings, stand_ins: Scale | None, *, serve: bool, as_json: bool) -> int:
    """Run a workflow and show how it goes on, with `serve` also in a browser; return the exit code."""
    from headway.api.start import start

    with showing(workflow.absolute().parent) if serve else nullcontext():
        return watch(
            lambda progress: start(workflow, None, settings, stand_ins=stand_ins, progress=progress, warn=warn),
            quiet=settings.quiet,
            as_json=as_json,
        )
