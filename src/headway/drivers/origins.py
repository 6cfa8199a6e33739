"""The origin of a run: its project, and what its tasks do."""

from __future__ import annotations

import secrets
from pathlib import Path

from headway.history.identities import identities_of, identity_of_program
from headway.journal.folder import Project
from headway.model.origin import Origin
from headway.model.workflow import Workflow


def origin_of(
    workflow: Workflow, directory: Path, stated: str = "", *, growing: bool = False, read_only: bool = True
) -> tuple[Origin, bool]:
    """Return a run's origin, and whether it may have observations from before there were projects.

    `stated` is the name of a project that several directories share, for a `growing` run the program that adds tasks.
    Without it the project is this directory, wherever it is moved; unless `read_only`, it is given a name if it has
    none.
    """
    project = Project(directory)
    identities = {"": identity_of_program(Path(stated))} if growing else identities_of(workflow, project.directory)
    uid = stated or project.uid()
    older = not uid and bool(project.runs())
    if not uid and not read_only:
        uid = project.new_uid()
    elif not uid and not older:
        uid = secrets.token_hex(6)  # of a project that has learned nothing
    return Origin(uid, str(project.directory), identities), older
