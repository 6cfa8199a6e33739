"""The workflow file, as users name it on the command line."""

from __future__ import annotations

from pathlib import Path

from headway.model.errors import InputError
from headway.model.workflow import Workflow


def read_workflow_file(path: Path) -> Workflow:
    """The workflow at `path`; where there is none, what to do about it."""
    if path.is_dir():
        inside = path / "workflow.yaml"
        todo = f"name the file: {inside}" if inside.is_file() else "name a file in it"
        raise InputError("this is a directory", where=str(path), todo=todo)
    if not path.exists():
        here = sorted(str(other) for other in path.parent.glob("*.y*ml")) if path.parent.is_dir() else []
        todo = f"here are {', '.join(here[:5])}" if here else "`headway init` writes one to start from"
        raise InputError("there is no such file", where=str(path), todo=todo)
    from headway.formats.headway_yaml import read_workflow

    return read_workflow(path)
