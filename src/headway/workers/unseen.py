"""Explain a failed command that looked for a file of the workflow's directory which was not linked for it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from headway.model.task import Task

_READ_BYTES = 20_000  # the end of what the command wrote to standard error
_WORDS = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|\u2018([^\u2019\n]+)\u2019|([^\s'\":,;()\u2018\u2019]+)")
_MODULE = re.compile(r"No module named '([\w.]+)'")


def unseen_file(stderr: Path, task: Task, work: Path, workflow_directory: Path) -> str:
    """Return a file that the error messages name and that exists in the workflow's directory only, or an empty text."""
    try:
        with stderr.open("rb") as file:
            file.seek(max(0, os.path.getsize(stderr) - _READ_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    names = ["".join(groups) for groups in _WORDS.findall(text)]
    for module in _MODULE.findall(text):
        package = module.split(".")[0]
        names += [f"{package}.py", package]
    for name in dict.fromkeys(names):
        path = os.path.normpath(name.removeprefix(f"{work}/"))
        if path.startswith(("/", ".")) or path in task.outputs:
            continue
        if not _exists(work / path) and _exists(workflow_directory / path):
            return path
    return ""


def _exists(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # a null byte
        return False
