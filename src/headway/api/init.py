"""`init`: write a small workflow to start from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec import Struct

from headway.model.errors import InputError, SiteError

_FILE = "workflow.yaml"
_EXAMPLE = """\
# A workflow: commands, and the files they read and write. Run it with `headway run`.
# `headway docs workflow-file` explains every key.
name: hello

tasks:
  write:                              # one task for each value: write[red], write[green], write[blue]
    each: {colour: [red, green, blue]}
    run: echo "the colour is {colour}" > {colour}.txt
    outputs: ["{colour}.txt"]         # appears only when the command has succeeded

  count:                              # waits for the tasks that make its inputs
    run: cat {inputs} | wc -w > {outputs}
    inputs: [{from: write}]           # all outputs of all tasks of `write`
    outputs: [words]

  hello:
    needs: [count]                    # an explicit dependency; files imply theirs
    run: echo "hello, $(cat words) words"
    resources: {cores: 1, memory: 100 MB}   # an optional hint: Headway measures and learns
"""


class Begun(Struct, frozen=True):
    """The file that was written, and the command that runs it."""

    workflow: Path
    next: str

    def document(self) -> dict[str, Any]:
        """Return what `headway init --json` prints."""
        return {"workflow": str(self.workflow.absolute()), "next": self.next}


def init(directory: str | os.PathLike[str] = ".") -> Begun:
    """Write a small, commented workflow.yaml into `directory`; an existing file is never overwritten."""
    where = Path(directory)
    path = where / _FILE
    try:
        where.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(_EXAMPLE)
    except FileExistsError as error:
        if where.exists() and not where.is_dir():
            raise InputError("this is not a directory", where=str(where)) from error
        raise InputError("there is a workflow already", where=str(path), todo="`headway run` runs it") from error
    except OSError as error:
        raise SiteError(f"cannot write here: {error.strerror}", where=str(where)) from error
    return Begun(path, "headway run" if where == Path() else f"headway run {os.fspath(path)}")
