"""Which tasks users mean: by a name, by a pattern, or by the values of their columns. All verbs ask here.

Only `*` and `?` are wildcards. Brackets are part of a task's id, as in `call[s1]`, so they stand for themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import translate

from headway.api.nearest import nearest
from headway.model.errors import InputError
from headway.model.task import Task

EXAMPLE = "--only sample=s1,s2"


def has_wildcard(text: str) -> bool:
    """Whether a text is a pattern rather than a name."""
    return "*" in text or "?" in text


def fitting(pattern: str) -> Callable[[str], object]:
    """Return a function that tells whether a whole text fits the pattern.

    >>> fits = fitting("call[s?]")
    >>> bool(fits("call[s1]")), bool(fits("calls")), bool(fits("call[s12]"))
    (True, False, False)
    """
    return re.compile(translate(pattern.replace("[", "[[]"))).match


def matching(name: str, tasks: Mapping[str, Task], outputs: Mapping[str, str] | None = None) -> list[str]:
    """Return the ids of the tasks that a name or a pattern means, in the workflow's order; none if there are none.

    A name of a task or a category means just that, even if it has a wildcard in it. A pattern means the tasks whose id
    or category fits. `outputs` are files and the tasks that make them; they count if no task is meant.
    """
    if name in tasks:
        return [name]
    found = [task.id for task in tasks.values() if task.category == name]
    if not found and has_wildcard(name):
        fits = fitting(name)
        categories = {each for each in {task.category for task in tasks.values()} if fits(each)}
        found = [task.id for task in tasks.values() if task.category in categories or fits(task.id)]
    return found or _makers(name, tasks, outputs or {})


def _makers(name: str, tasks: Mapping[str, Task], outputs: Mapping[str, str]) -> list[str]:
    path = name.removeprefix("./").rstrip("/")
    if path in outputs:
        return [outputs[path]]
    fits = fitting(path)
    makers = {task for file, task in outputs.items() if fits(file)} if has_wildcard(path) else set()
    return [task for task in tasks if task in makers]


def named(
    name: str, tasks: Mapping[str, Task], lacking: str, *, where: str = "", outputs: Mapping[str, str] | None = None
) -> list[str]:
    """Return the ids as `matching` does; if there are none, raise an `InputError` that begins with `lacking`."""
    found = matching(name, tasks, outputs)
    if found:
        return found
    siblings = [task.id for task in tasks.values() if task.category == name.partition("[")[0]]
    names = [*dict.fromkeys(task.category for task in tasks.values()), *tasks, *(outputs or ())]
    todo = nearest(name, siblings or names, otherwise="there are")
    is_pattern = ": no task fits this pattern" if has_wildcard(name) else ""
    raise InputError(f"{lacking} {name!r}{is_pattern}", where=where, todo=todo)


def choose(
    names: Sequence[str],
    only: Sequence[str],
    tasks: Mapping[str, Task],
    lacking: str = "no task is called",
    *,
    where: str = "",
    outputs: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the ids of the tasks that one of the names means and that have the values of `only`, in their order.

    Without names, all tasks are meant. The other parameters are those of `named` and `with_values`.
    """
    if not names:
        return with_values(only, tasks) if only else list(tasks)
    meant = {task for name in names for task in named(name, tasks, lacking, where=where, outputs=outputs)}
    found = [task for task in (with_values(only, tasks) if only else tasks) if task in meant]
    if not found:
        what = f"{' '.join(names)} has no task with {' and '.join(only)}"
        raise InputError(what, where="--only", todo="leave one of the two out")
    return found


# --- columns: the names of `each`, such as those of a sample sheet ---


def columns_of(tasks: Iterable[Task]) -> dict[str, list[str]]:
    """Return the columns that tasks have, and the values of each in the order of the sheet."""
    found: dict[str, dict[str, None]] = {}
    for task in tasks:
        for name, value in task.columns.items():
            found.setdefault(name, {})[value] = None
    return {name: list(values) for name, values in found.items()}


def known_column(name: str, columns: Mapping[str, Sequence[str]], where: str) -> str:
    """Return the name of a column; raise an `InputError` if no task has it."""
    if name in columns:
        return name
    if not columns:
        what = "no task has columns here"
        todo = "`each` in the workflow file gives them to tasks; earlier versions of Headway did not record them"
        raise InputError(what, where=where, todo=todo)
    raise InputError(f"no task has a column {name!r}", where=where, todo=nearest(name, columns, otherwise="there are"))


def with_values(only: Sequence[str], tasks: Mapping[str, Task], where: str = "--only") -> list[str]:
    """Return the ids of the tasks whose columns have the values that `only` states, in the workflow's order.

    Each text of `only` is a column with one of several values or patterns: `sample=s1,s2*`. All columns must have one
    of their values; a task without the column has none.
    """
    columns = columns_of(tasks.values())
    wanted: dict[str, set[str]] = {}
    for text in only:
        name, equals, values = text.partition("=")
        if not equals or not name:
            raise InputError(f"{text!r} is not a column with a value", where=where, todo=f"write for example {EXAMPLE}")
        known = columns[known_column(name, columns, where)]
        wanted.setdefault(name, set()).update(_values(name, values, known, where))
    found = [id for id, task in tasks.items() if _has_values(task.columns, wanted)]
    if not found:
        raise InputError(f"no task has {' and '.join(only)}", where=where, todo="leave one of them out")
    return found


def _values(name: str, text: str, known: Sequence[str], where: str) -> list[str]:
    """Return the values of a column that a text means: one, or several with commas between them."""
    found: list[str] = []
    for part in [text] if text in known else text.split(","):
        meant = [part] if part in known else list(filter(fitting(part), known)) if has_wildcard(part) else []
        if not meant:
            todo = nearest(part, known, otherwise="there are")
            raise InputError(f"no task has the {name} {part!r}", where=where, todo=todo)
        found += meant
    return found


def _has_values(columns: Mapping[str, str], wanted: Mapping[str, set[str]]) -> bool:
    return all(columns.get(name) in values for name, values in wanted.items())
