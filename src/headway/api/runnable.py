"""A workflow ready to be run or previewed: from a file, built in code, or as stand-ins for recorded tasks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from headway.api.chosen import chosen
from headway.api.config_changes import with_config_changes
from headway.api.reading import read_instance_file
from headway.api.settings import SETTINGS, RunSettings, checked, settings_for, variable_of
from headway.api.settings_in_effect import masked_config
from headway.api.variables import misspelt_in_commands
from headway.clusters.machine import machine
from headway.drivers.inputs import check_sources
from headway.generators.stand_ins import Scale, StandIns, folder_beside, stand_ins
from headway.journal.folder import Project
from headway.model.errors import InputError
from headway.model.records import Known
from headway.model.workflow import Workflow

__all__ = ["Runnable", "Scale", "runnable"]


class Runnable(NamedTuple):
    """A workflow, its settings, the directory it runs in, the file it came from, and the files of stand-ins."""

    workflow: Workflow
    settings: RunSettings
    directory: Path
    source: str
    made: StandIns | None = None

    def make_files(self) -> None:
        """Make the files that stand-ins need, unless another run is at work there: `start` then says so."""
        if self.made is not None and Project(self.directory).manager() is None:
            self.made.make_files(self.directory)

    def explain(self, earlier: dict[str, Known]) -> dict[str, Known]:
        """Return earlier results, each with the values of `config` that have changed its task since."""
        return with_config_changes(earlier, self.workflow, self.settings, self.source, Project(self.directory))

    def before_files(self) -> Workflow:
        """Return the workflow for a preview, which makes no files."""
        if self.made is None:
            return self.workflow
        return self.made.without_missing_inputs(self.directory).part(self.workflow.tasks)


def runnable(
    workflow: Workflow | str | os.PathLike[str],
    directory: str | os.PathLike[str] | None,
    settings: RunSettings | None,
    scale: Scale | None,
) -> Runnable:
    """Read a workflow and check its settings; without settings, those of the environment and the files count."""
    if isinstance(workflow, Workflow):
        if scale is not None:
            raise InputError("stand-ins need a file that records an execution")
        return _of_graph(workflow, Path(directory or "."), "", settings)
    path = Path(workflow)
    where = Path(directory) if directory is not None else path.absolute().parent
    if scale is None:
        config = settings.config if settings else {}
        return _of_graph(_read_runnable(path, where, config), where, str(path), settings)
    settings = settings or settings_for(where)
    made = _stand_ins_for(path, scale, settings.cores)
    known_as = f"{made.workflow.name}, stand-ins at {scale.time:g}/{scale.memory:g}/{scale.size:g}"
    factors = (scale.time, scale.memory, scale.size)
    settings = checked(structs.replace(settings, known_as=known_as, stand_ins=factors), where)
    return Runnable(*chosen(made.workflow, settings), where, str(path), made)


def _of_graph(graph: Workflow, where: Path, source: str, settings: RunSettings | None) -> Runnable:
    if not where.is_dir():
        raise InputError("there is no such directory", where=str(where))
    graph.check_temporary()
    misspelt = misspelt_in_commands(graph, map(variable_of, SETTINGS))
    graph.warnings = list(dict.fromkeys((*graph.warnings, *misspelt)))
    settings = checked(settings or settings_for(where), where)
    settings = structs.replace(settings, config_used=masked_config(graph.config))
    return Runnable(*chosen(graph, settings), where, source)


def _read_runnable(path: Path, directory: Path, config: dict[str, str | list[str]]) -> Workflow:
    """Read a workflow whose tasks have commands; for a recorded execution, the error suggests stand-ins."""
    instance = read_instance_file(path, config)
    workflow = instance.workflow
    todo = "--synthetic runs stand-ins that take what was recorded"
    silent = [task.id for task in workflow if not task.command]
    if silent:
        what = f"task {silent[0]!r} has" if len(silent) == 1 else f"{len(silent)} of {len(workflow)} tasks have"
        raise InputError(f"{what} no command", where=str(path), todo=todo)
    if instance.recorded:
        try:
            check_sources(workflow, directory)
        except InputError as error:
            raise InputError(error.what, where=error.where, todo=f"{error.todo}, or {todo}") from None
    return workflow


def _stand_ins_for(path: Path, scale: Scale, stated_cores: float | None) -> StandIns:
    instance = read_instance_file(path)
    most_cores = stated_cores or machine(path.absolute().parent).cores
    try:
        return stand_ins(instance, folder_beside(path), scale, most_cores)
    except InputError as error:
        raise InputError(error.what, where=str(path), todo=error.todo) from None
