"""`headway top`: follow a run on the whole screen of a terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from headway.cli.options import directory_option, json_option, option, run_argument
from headway.model.errors import InputError

_PANES = ("categories", "tasks", "jobs", "sizes", "waiting")


@click.command("top", short_help="Follow a run on the whole screen of a terminal.")
@run_argument
@directory_option
@option("--show pane", "Begin with this pane.", type=click.Choice(_PANES), default="categories")
@option("--picture FILE", "Write what the screen shows as a picture (SVG) and end; needs no terminal.")
@json_option
def command(run: str | None, directory: Path, pane: str, picture: str | None, as_json: bool) -> int:
    """Follow RUN (by default the newest) on the whole screen: jobs, tasks, sizes, what waits and why, and logs.

    It only reads, so it may be started and left at any time; the run goes on. The keys are shown at the bottom:
    1 to 5 for the panes, Enter for a task's reasons and its log, / to find tasks, c to stop the run (it asks first),
    q to leave.

    \b
    Examples:
      headway top
      headway top -C ~/sky 3 --show jobs
      headway top --picture run.svg
      headway top --json | jq .waiting

    It needs `pip install 'headway[top]'`, except for --json, which tells how the run is now, and ends. The exit code
    says only whether the run could be read.
    """
    if as_json:
        return _print_once(run, directory)
    try:
        from headway.terminal.start import picture_of, watch_run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "textual":
            raise
        raise InputError("textual is not installed", todo="install it with `pip install 'headway[top]'`") from None
    if picture is not None:
        picture_of(run, directory, pane, Path(picture))
        return 0
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if not all(stream.isatty() for stream in streams) or os.environ.get("TERM", "dumb") == "dumb":
        todo = "`headway status` prints how far the run is, `headway attach` follows it in lines"
        raise InputError("this is no terminal that can show a whole screen", where="top", todo=todo)
    watch_run(run, directory, pane)
    return 0


def _print_once(run: str | None, directory: Path) -> int:
    from headway.api.watching import Watch
    from headway.cli.output import print_json

    watch = Watch(run, directory)
    try:
        watch.catch_up()
        print_json(watch.document())
    finally:
        watch.close()
    return 0
