"""`usage`: what the tasks of a run asked for and what they used. It only reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.api.answers import Answer
from headway.api.finding import find_run, manager_of, reading, state_of
from headway.api.matching import choose
from headway.api.nearest import nearest
from headway.model.errors import InputError
from headway.report.run.story import tasks_of
from headway.report.run.task_usage import By, CategoryUsage, PartUsage, Row, TaskUsage, flat, total_of
from headway.report.run.usage_table import SORTS


class RunUsage(Answer, frozen=True):
    """Rows by category or by task, sorted, and their total. `more` rows were left out."""

    unsaid = ("rows", "total", "more")

    run: str
    name: str
    state: str
    by: By
    rows: list[Row]
    total: Row
    more: int = 0

    def document(self) -> dict[str, Any]:
        """Return what `headway usage --json` prints."""
        whole = flat(self.total, "category")
        del whole["category"]
        return Answer.document(self) | {"rows": [flat(row, self.by) for row in self.rows], "all": whole}


def usage(
    run: str | None = None,
    directory: str | os.PathLike[str] = ".",
    *,
    by: By | None = None,
    category: str | None = None,
    only: Sequence[str] = (),
    sort: str = "memory-waste",
    top: int | None = None,
) -> RunUsage:
    """Return what the tasks of a run (by default the newest) asked for and used, the largest waste first.

    `category` is the name of a category or a task, or a pattern; `only` chooses tasks by the values of their columns:
    `["sample=s1,s2"]`. `by` is `category` (the default) or `task` (the default if there is a `category`); `sort` is a
    column of the table, such as `memory-waste`, `cores-busy` or `run-time`; `top` limits the number of rows.
    """
    folder = find_run(Path(directory), run)
    if sort not in SORTS:
        raise InputError(f"there is no column {sort!r} to sort by", todo=nearest(sort, SORTS, otherwise="there are"))
    by = by or ("task" if category is not None else "category")
    names = [] if category is None else [category]
    some = bool(names or only)
    with reading(folder) as journal:
        lacking = f"run {folder.run} has no category or task"
        chosen = set(choose(names, only, tasks_of(journal), lacking)) if some else set()
        empty = TaskUsage() if by == "task" else PartUsage(chosen=chosen) if some else CategoryUsage()
        summary = empty.read(journal)
    state = state_of(summary, manager_of(folder, summary))
    rows = [row for row in summary.rows(state) if not some or by == "category" or row.name in chosen]
    total = total_of(rows)
    rows.sort(key=SORTS[sort])
    name = summary.settings.name if summary.settings else ""
    return RunUsage(folder.run, name, state, by, rows[:top], total, max(0, len(rows) - top) if top else 0)
