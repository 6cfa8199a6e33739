"""`headway init`: a small workflow to start from."""

from __future__ import annotations

import os
from pathlib import Path

import click

from headway.cli.options import json_option
from headway.model.errors import InputError, SiteError

_FILE = "workflow.yaml"
_EXAMPLE = """\
# A workflow: commands, and the files they read and write. Run it with `headway run`.
# What else a task can say is in docs/workflow-file.md.
name: hello

tasks:
  write:                              # one task for each value: write[red], write[green], write[blue]
    each: {colour: [red, green, blue]}
    run: echo "the colour is {colour}" > {colour}.txt
    outputs: ["{colour}.txt"]         # appears only when the command has succeeded

  count:                              # waits for the tasks that make its inputs
    run: cat *.txt | wc -w > words
    inputs: ["*.txt"]
    outputs: [words]

  hello:
    needs: [count]                    # files imply who waits for whom; this states it
    run: echo "hello, $(cat words) words"
    resources: {cores: 1, memory: 100 MB}   # a hint, never needed: Headway measures and learns
"""


@click.command("init", short_help="Write a small workflow to start from.")
@click.argument("directory", type=click.Path(path_type=Path), default=Path())
@json_option
def command(directory: Path, as_json: bool) -> int:
    """Write a small, commented workflow.yaml into DIRECTORY (by default the current one), ready to run.

    An existing file is never overwritten.

    \b
    Examples:
      headway init && headway run
      headway init first-steps
    """
    path = directory / _FILE
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(_EXAMPLE)
    except FileExistsError as error:
        if directory.exists() and not directory.is_dir():
            raise InputError("this is not a directory", where=str(directory)) from error
        raise InputError("there is a workflow already", where=str(path), todo="`headway run` runs it") from error
    except OSError as error:
        raise SiteError(f"cannot write here: {error.strerror}", where=str(directory)) from error
    run = "headway run" if directory == Path() else f"headway run {os.fspath(path)}"
    if as_json:
        from headway.cli.output import print_json

        print_json({"workflow": str(path.absolute()), "next": run})
    else:
        click.echo(f"wrote {path}; now try `{run}`")
    return 0
