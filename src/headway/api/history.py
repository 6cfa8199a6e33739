"""The history: what earlier runs taught. Show it, export it, prune it, and explain what agents in it have learned."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from msgspec import Struct, structs, to_builtins

from headway.api.answers import Answer
from headway.api.nearest import nearest
from headway.api.whole_files import check_target, write_whole
from headway.history.base import CategoryFigures, Kept, Surplus
from headway.history.location import find_history, history_location
from headway.history.sql import History
from headway.model.errors import InputError
from headway.report.csv_rows import csv_lines
from headway.report.history.agent_picture import AgentTrace, traces_of
from headway.report.history.document import observation_document, observation_row


class HistoryView(Struct, frozen=True):
    """Figures by category, and the newest attempts if one category was asked for.

    `location` is empty if the settings say that no history is kept; `exists` is False if no run has begun one there.
    """

    location: str
    exists: bool
    categories: list[CategoryFigures]
    attempts: list[Kept] | None = None

    def document(self) -> dict[str, Any]:
        """Return what `headway history --json` prints."""
        answer: dict[str, Any] = {
            "history": self.location,
            "categories": to_builtins(self.categories),
        }
        if self.attempts is not None:
            answer["attempts"] = [observation_document(kept) for kept in self.attempts]
        return answer


class Exported(Struct, frozen=True):
    """How many attempts were written."""

    location: str
    exists: bool
    written: int


class Pruned(Answer, frozen=True, rename={"location": "history"}):
    """What was found to be forgotten, by category, and how many attempts were removed."""

    unsaid = ("exists", "confirmed")

    location: str
    exists: bool
    found: list[Surplus]
    removed: int = 0
    confirmed: bool = False


class CategoryAgents(Struct, frozen=True):
    """The agents of one sizer for a category of a workflow: what they did and got for it."""

    site: str
    workflow: str
    sizer: str
    agents: list[AgentTrace]
    project: str = ""


class AgentsView(Answer, frozen=True, rename={"location": "history", "found": "agents"}):
    """All agents that chose cores or memory for tasks of a category."""

    location: str
    category: str
    found: list[CategoryAgents]

    def document(self) -> dict[str, Any]:
        """Return what `headway history why --json` prints; steps, which are kept as arrays, have names in it."""
        answer = Answer.document(self)
        for said, kept in zip(answer["agents"], self.found, strict=True):
            for trace, agent in zip(said["agents"], kept.agents, strict=True):
                trace["steps"] = [structs.asdict(step) for step in agent.steps]
        return answer


def show_history(
    workflow: str | None = None,
    category: str | None = None,
    *,
    project: str | os.PathLike[str] | None = None,
    history: str = "",
    top: int = 20,
) -> HistoryView:
    """Return what is known of all workflows, of one, or of one of its categories with its `top` newest attempts.

    `project` is a directory, or the name or id of a project: only what its runs taught. `history` is the location: a
    file, or a `postgresql://` address; empty for the default.
    """
    with _opened(history) as (location, opened):
        if opened is None and workflow is None:
            return HistoryView(location, False, [])
        if opened is None:
            raise InputError(f"nothing is known of a workflow {workflow!r}", where=location)
        projects = _projects(opened, project)
        if workflow is None:
            return HistoryView(location, True, opened.figures(projects=projects))
        figures = _known(opened, workflow, category, projects)
        newest = None if category is None else list(opened.all(workflow, category, most=top, projects=projects))
        return HistoryView(location, True, figures, newest)


def attempts_in(directory: str | os.PathLike[str], history: str = "") -> tuple[str, list[Kept]]:
    """Return all attempts that runs in a directory have left in a history, and the history's location."""
    todo = "name the LOG of another tool, or `headway run` something here first"
    with _opened(history) as (location, opened):
        path = Path(directory).resolve()
        known = opened.figures() if opened else []
        projects = list(dict.fromkeys(each.project for each in known if each.project and each.directory == str(path)))
        if opened is None or not projects:
            raise InputError("nothing has been learned in this directory yet", where=str(path), todo=todo)
        return location, list(opened.all(projects=projects))


def export_history(
    output: str | os.PathLike[str] | IO[str],
    workflow: str | None = None,
    category: str | None = None,
    *,
    project: str | os.PathLike[str] | None = None,
    history: str = "",
    force: bool = False,
) -> Exported:
    """Write every attempt that is known to a file or stream: CSV if the file's name ends in .csv, else JSON lines."""
    written = 0

    def counted(kept: Iterable[Kept]) -> Iterator[Kept]:
        nonlocal written
        for each in kept:
            written += 1
            yield each

    with _opened(history) as (location, opened):
        projects = _projects(opened, project) if opened else None
        if opened is not None and workflow is not None:
            _known(opened, workflow, category, projects)
        kept = counted(opened.all(workflow, category, projects=projects) if opened else ())
        if isinstance(output, str | os.PathLike):
            path = Path(output)
            check_target(path, force=force, folder=False)
            as_csv = path.suffix.lower() == ".csv"
            write_whole(path, csv_lines(map(observation_row, kept)) if as_csv else _json_lines(kept))
        else:
            output.writelines(_json_lines(kept))
        return Exported(location, opened is not None, written)


def prune_history(
    *,
    older_than_s: float | None = None,
    keep: int | None = None,
    workflow: str | None = None,
    project: str | os.PathLike[str] | None = None,
    history: str = "",
    confirm: Callable[[Pruned], bool] = lambda found: True,
) -> Pruned:
    """Remove the attempts that all given conditions name, if `confirm`, called with what was found, returns True.

    The conditions: ended more than `older_than_s` ago; not among the newest `keep` of its category; of `workflow`;
    of `project`, which is a directory, or the name or id of a project.
    """
    if older_than_s is None and keep is None and workflow is None and project is None:
        todo = "add --older-than 90d, --keep 1000, --workflow NAME or --project DIR"
        raise InputError("nothing says what to forget", todo=todo)
    before = None if older_than_s is None else time.time() - older_than_s
    with _opened(history, read_only=False) as (location, opened):
        if opened is None:
            return Pruned(location, False, [])
        projects = _projects(opened, project)
        if workflow is not None:
            _known(opened, workflow, None, projects)
        found = Pruned(location, True, opened.surplus(workflow, before, keep, projects))
        if not found.found or not confirm(found):
            return found
        removed = sum(each.observations for each in opened.remove(workflow, before, keep, projects))
        return structs.replace(found, removed=removed, confirmed=True)


def explain_agents(
    category: str, *, workflow: str | None = None, sizer: str | None = None, history: str = ""
) -> AgentsView:
    """Return the agents that chose cores or memory for tasks of a category: their actions, allocations and rewards."""
    from headway.drivers.assemble import allocators
    from headway.drivers.learned_state import state_name

    with _opened(history) as (location, opened):
        if opened is None:
            raise InputError("there is no history yet", where=location, todo="`headway run` begins one")
        if sizer is not None and sizer not in allocators():
            todo = nearest(sizer, sorted(allocators()), otherwise="there are")
            raise InputError(f"no sizer called {sizer!r} has agents", where="--sizer", todo=todo)
        known = opened.figures(workflow)
        found = []
        of = dict.fromkeys((each.site, each.workflow, each.project) for each in known if each.category == category)
        for site, name, project in of:
            for each in [sizer] if sizer else sorted(allocators()):
                traces = traces_of(opened.state(site, state_name(each, name, project)) or {}, category)
                if traces:
                    found.append(CategoryAgents(site, name, each, traces, project))
    if not found:
        near = nearest(category, [each.category for each in known], otherwise="there are")
        todo = "run it with --sizer gradient-bandit, q-learning or feedback-loop"
        seen = any(each.category == category for each in known)
        raise InputError(f"no agent has learned about {category!r}", todo=todo if seen else near)
    return AgentsView(location, category, found)


@contextmanager
def _opened(history: str, *, read_only: bool = True) -> Iterator[tuple[str, History | None]]:
    """Open the history at a location; None if there is none."""
    location = history_location(history)
    opened = find_history(location, read_only=read_only) if location else None
    try:
        yield location, opened
    finally:
        if opened is not None:
            opened.close()


def _projects(history: History, named: str | os.PathLike[str] | None) -> list[str] | None:
    """Return the ids of the projects that a directory, a name or an id means; None if none is named.

    A directory that was emptied and used again has been several projects.
    """
    if named is None:
        return None
    text = os.fspath(named)
    path = str(Path(text).resolve())
    known = history.figures()
    found = [each.project for each in known if each.project and (each.project == text or each.directory == path)]
    if found:
        return list(dict.fromkeys(found))
    near = nearest(path, [each.directory for each in known if each.directory], otherwise="there are")
    raise InputError(f"nothing is known of a project {text!r}", todo=near)


def _known(history: History, workflow: str, category: str | None, projects: list[str] | None) -> list[CategoryFigures]:
    """Return the figures of a workflow, or of one of its categories; an `InputError` if nothing is known of it."""
    found = history.figures(workflow, category, projects)
    if found:
        return found
    others = history.figures(workflow, projects=projects)
    if others:
        near = nearest(category or "", [each.category for each in others], otherwise="there are")
        raise InputError(f"nothing is known of a category {category!r} of {workflow!r}", todo=near)
    near = nearest(workflow, [each.workflow for each in history.figures(projects=projects)], otherwise="there are")
    raise InputError(f"nothing is known of a workflow {workflow!r}", todo=near)


def _json_lines(kept: Iterable[Kept]) -> Iterator[str]:
    for each in kept:
        yield json.dumps(observation_document(each), ensure_ascii=False) + "\n"
