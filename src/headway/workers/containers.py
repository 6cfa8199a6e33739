"""Run a command inside a container, with the first container runtime that the node has."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from headway.model.errors import SiteError
from headway.model.task import Task

RUNTIMES = ("apptainer", "singularity", "podman", "docker")


def in_container(task: Task, argv: Sequence[str], work: Path, workflow_directory: Path) -> list[str]:
    """Return the command that runs `argv` inside the task's image, in the working directory `work`.

    Links in `work` point into the workflow's directory, so both are mounted at their own paths. Apptainer passes the
    environment on; Docker and Podman get the names of the task's own variables.
    """
    image = task.container or ""
    runtime = next((name for name in RUNTIMES if shutil.which(name)), None)
    if runtime is None:
        raise SiteError(
            f"the task needs the container {image}, but this node has none of {', '.join(RUNTIMES)}",
            todo="install one of them, or remove `container` from the task",
        )
    if runtime in ("apptainer", "singularity"):
        binds = [f"--bind={workflow_directory}", f"--bind={work}"]
        return [runtime, "exec", *binds, f"--pwd={work}", image, *argv]
    volumes = [f"--volume={path}:{path}" for path in dict.fromkeys((workflow_directory, work))]
    variables = [f"--env={name}" for name in task.environment]
    return [runtime, "run", "--rm", *volumes, *variables, f"--workdir={work}", "--entrypoint=", image, *argv]
