"""The command `headway`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn

import click

from headway.cli.verbs import Verbs
from headway.version import __version__

EPILOG = """\b
Exit codes:
    0  all tasks succeeded
    1  the run is over and tasks failed
    2  bad input: an option, a file, a name
    3  the machine or its file system is in trouble
    4  another Headway is at work in this directory
  130  stopped by Ctrl-C, `headway cancel` or --budget; `headway resume` goes on

\b
Settings: options > environment (HEADWAY_CORES, …) > headway.toml beside the
workflow > ~/.config/headway/config.toml
Documentation: headway docs
Completion: eval "$(_HEADWAY_COMPLETE=bash_source headway)"  (also zsh, fish)
"""


@click.group(
    cls=Verbs,
    invoke_without_command=True,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="headway %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Run scientific workflows: every task measured, limited, retried by cause, and nothing lost.

    \b
    Start here:
      headway init              writes workflow.yaml
      headway run               runs it
      headway why hello         explains what a task was given, and what it used

    Without an argument, commands about runs mean the newest run in this directory. Every command can answer in
    JSON (--json).
    """
    if ctx.obj is not None:
        ctx.obj()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(begin: Callable[[], None] | None = None) -> NoReturn:
    """Run the command line and exit; `begin` is called when all is imported, before the verb begins."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # a character that the encoding lacks becomes a question mark
            reconfigure(errors="replace")
    if "_HEADWAY_COMPLETE" in os.environ:
        from headway.cli.completion import register

        register()
    cli.main(obj=begin)
    raise AssertionError("cli.main exits")
