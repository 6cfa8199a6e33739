"""Which values of a workflow's `config` changed a task since its earlier result.

The workflow file is read again with the values of the earlier run, one value after the other. A value that changes a
task counts for this task, unless it only changes what the task reads of other tasks: `why` names such inputs. If the
task then is the one of the earlier run, these values are all that changed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import structs

from headway.drivers.earlier_runs import settings_in
from headway.drivers.run_settings import RunSettings
from headway.formats.own_names import quoted_paths
from headway.formats.read_any import read_instance
from headway.journal.folder import Project
from headway.model.errors import HeadwayError
from headway.model.records import REMOVED, Known
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.report.run.again import setting_words

_MOST_READ = 10  # how often the workflow file is read again, at most
_LONGEST = 80  # characters of a value in words
_MADE_OF = ("command", "environment", "setup", "container", "outputs", "shell", "software")  # the fields of `Recipe`

Config = Mapping[str, str | list[str]]


def with_config_changes(
    earlier: Mapping[str, Known], workflow: Workflow, options: RunSettings, source: str, project: Project
) -> dict[str, Known]:
    """Return earlier results, each with the changes of `config` since that are all that changed its task."""
    causes: dict[str, str] = {}
    reads = _MOST_READ
    by_run: dict[str, list[Known]] = {}
    for known in earlier.values() if options.config_used else ():
        if known.task in workflow.tasks:
            by_run.setdefault(known.run, []).append(known)
    for run in sorted(by_run, key=lambda run: (len(run), run), reverse=True):
        before = _changed(_config_of(run, project), options.config_used)
        reads -= len(before)
        if before and reads >= 0:
            causes |= _causes(by_run[run], workflow, options, source, before)
    return {
        task: known
        if known.config_changes == (cause := causes.get(task, ""))
        else structs.replace(known, config_changes=cause)
        for task, known in earlier.items()
    }


def _config_of(run: str, project: Project) -> Config:
    try:
        return settings_in(project.run(run)).config
    except HeadwayError:  # it was deleted, or is damaged
        return {}


def _changed(before: Config, now: Config) -> Config:
    """Return the earlier values that differ, in the order of the workflow file: a value may name those above it.

    Where a secret was removed, the value that the run used is not known.
    """
    changed = [name for name in now if name in before and before[name] != now[name]]
    return {name: before[name] for name in changed if not any(REMOVED in text for text in _texts(before[name]))}


def _texts(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _causes(
    results: Iterable[Known], workflow: Workflow, options: RunSettings, source: str, before: Config
) -> dict[str, str]:
    """Return for each task that `config` alone has changed, since these results, the values that changed it."""
    config, now = dict(options.config), workflow
    names: dict[str, list[str]] = {known.task: [] for known in results}
    for name, value in before.items():
        config[name] = value
        try:
            then = read_instance(Path(source), config).workflow
        except HeadwayError:  # with that value the workflow is not valid
            return {}
        for task, found in names.items():
            if task in then.tasks and _differs(task, then, now):
                found.append(name)
        now = then
    words = {name: _words(name, value, options) for name, value in before.items()}
    return {
        known.task: ", ".join(words[name] for name in names[known.task])
        for known in results
        if names[known.task] and known.task in now.tasks and now.tasks[known.task].recipe() == known.fingerprint.recipe
    }


def _differs(name: str, then: Workflow, now: Workflow) -> bool:
    """Whether a task differs in two workflows, besides files of other tasks among the inputs that its texts name."""
    if name not in now.tasks:
        return True
    one, other = then.tasks[name], now.tasks[name]
    if all(getattr(one, field) == getattr(other, field) for field in _MADE_OF):
        return False
    changed = set(one.inputs) ^ set(other.inputs)
    if not changed or not changed <= then.producer.keys() | now.producer.keys():
        return True
    one, other = (structs.replace(task, command="", setup=_without_inputs(task)) for task in (one, other))
    return any(getattr(one, field) != getattr(other, field) for field in _MADE_OF)


def _without_inputs(task: Task) -> tuple[str, ...]:
    """Return the command and the setup of a task, with one sign for all of its inputs where they name these."""
    files = quoted_paths(task.inputs)
    return tuple(text.replace(files, "\0") if files else text for text in (task.command, *task.setup))


def _words(name: str, before: str | list[str], options: RunSettings) -> str:
    chosen = [each for each in options.chosen if each.name == "set" and each.value.partition("=")[0] == name]
    by = f" ({_short(setting_words(chosen[0]))})" if chosen else ""
    return f"config {name} is {_short(options.config_used[name])}, was {_short(before)}{by}"


def _short(value: str | list[str]) -> str:
    text = ",".join(_texts(value))
    return repr(text) if not text.strip() else text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
