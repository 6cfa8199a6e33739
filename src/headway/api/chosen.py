"""Which tasks of a workflow a run is about: those that the user chooses, with what they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from headway.api.matching import choose, columns_of, fitting, has_wildcard, matching, named
from headway.drivers.run_settings import RunSettings
from headway.model.deferred import Deferred
from headway.model.errors import InputError
from headway.model.workflow import Workflow

_LACKING = "no task or output is called"


def chosen(workflow: Workflow, settings: RunSettings) -> tuple[Workflow, RunSettings]:
    """Return the part of a workflow that the settings ask for, and the settings with the ids of forced tasks.

    Of an entry whose tasks are not known yet, the name or a pattern means all of its tasks, the id of one just that.
    """
    if not (settings.tasks or settings.only or settings.until or settings.force):
        return workflow, settings
    later = {name: _later(workflow, name) for name in (*settings.tasks, *settings.until, *settings.force)}
    asked, deferred = _asked(workflow, settings, later)
    last = [task for name in settings.until for task in _named(workflow, name, "--until", later[name])]
    after = workflow.reach(last, down=True) - set(last)
    for name in settings.tasks:
        out = [task for task in _named(workflow, name, "TASK", later[name]) if task in asked and task in after]
        if out:
            raise InputError(f"{out[0]!r} comes after what --until names", where=name, todo="leave one of the two out")
    if asked and asked <= after and settings.only:
        what = f"all tasks with {' and '.join(settings.only)} come after what --until names"
        raise InputError(what, where="--only", todo="leave one of the two out")
    if settings.until:
        ends = {workflow.tasks[task].category for task in last} | {
            name for word in settings.until for name in later[word]
        }
        deferred = deferred.until(ends)
    asked -= after
    kept = (workflow.reach(asked) if settings.tasks or settings.only else workflow.tasks.keys()) - after
    forced: list[str] = []
    for name in settings.force:
        ids = [task for task in _named(workflow, name, "--force", later[name]) if task in kept]
        of_later = [each for each in later[name] if each in deferred]
        if not ids and not of_later:
            raise InputError(f"{name!r} is not among the tasks of this run", where="--force", todo="name it as a TASK")
        forced += [*ids, *([name] if of_later and "[" in name and not has_wildcard(name) else of_later)]
    whole = len(kept) == len(workflow) and not asked and deferred == workflow.deferred
    part = workflow if whole else workflow.part(kept, asked)
    part.deferred = deferred
    return part, structs.replace(settings, force=tuple(dict.fromkeys(forced)))


def _asked(workflow: Workflow, settings: RunSettings, later: Mapping[str, list[str]]) -> tuple[set[str], Deferred]:
    """Return the tasks that are to run, without what they need, and the entries that are to become tasks."""
    if not settings.tasks and not settings.only:
        return set(), workflow.deferred
    _check_columns(settings.only, workflow)
    names = [name for name in settings.tasks if not later[name] or matching(name, workflow.tasks, workflow.producer)]
    asked: set[str] = set()
    if names or settings.only:
        asked = set(choose(names, settings.only, workflow.tasks, _LACKING, where="TASK", outputs=workflow.producer))
    deferred = workflow.deferred.only(name for word in settings.tasks for name in later[word])
    categories = {name for block in deferred.blocks for name in (*block.of, *block.needs)}
    return asked | {task.id for task in workflow if task.category in categories}, deferred


def _check_columns(only: Sequence[str], workflow: Workflow) -> None:
    """Raise an error for a column that only tasks can have that are not known yet."""
    entries = [block.name for block in workflow.deferred.blocks if block.of]
    columns = columns_of(workflow) if only and entries else {}
    for column in dict.fromkeys(text.partition("=")[0] for text in only if "=" in text):
        if entries and column not in columns:
            what = f"no task that is known before the run has a column {column!r}"
            which = f"{' and '.join(map(repr, entries))} become known only while the run goes on"
            todo = f"the tasks of {which}: name them, for example `headway run '{entries[0]}[…]'`"
            raise InputError(what, where="--only", todo=todo)


def _later(workflow: Workflow, name: str) -> list[str]:
    """Return the entries, whose tasks are not known yet, that a name or a pattern means."""
    fits = fitting(name.partition("[")[0])
    return [entry for entry in workflow.deferred.names if fits(entry)]


def _named(workflow: Workflow, name: str, where: str, later: Sequence[str]) -> list[str]:
    if later:
        return matching(name, workflow.tasks, workflow.producer)
    return named(name, workflow.tasks, _LACKING, where=where, outputs=workflow.producer)
