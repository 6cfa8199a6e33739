"""`check_inputs`: run a workflow in strict sandboxes, beside its results, and say which inputs are not declared."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, structs, to_builtins

from headway.api.check_directory import CheckDirectory
from headway.api.run_result import RunResult
from headway.api.runnable import runnable
from headway.api.settings import RunSettings
from headway.api.start import start
from headway.drivers.run_history import Warn, warn_program
from headway.drivers.run_settings import STRICT
from headway.drivers.strict_sandboxes import unhidden_paths
from headway.formats.headway_yaml_out import inline
from headway.journal.folder import Project
from headway.model.records import Decision, Event, TaskEnded
from headway.model.workflow import Workflow
from headway.report.run.progress import Progress


class MissingInput(Struct, frozen=True):
    """A file that a task looked for and that is not among its inputs.

    `task` is the task's name in the workflow file and `place` its file and line. `line` is what to write below
    `inputs:`. `maker` is the task that makes the file, if one does.
    """

    task: str
    place: str
    path: str
    line: str
    maker: str = ""

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        made = f" (task {self.maker!r} makes it)" if self.maker else ""
        return f"{where}add `{self.line}` to 'inputs' of task {self.task!r}{made}"


class CheckedInputs(Struct, frozen=True):
    """What a check has found. `unchecked` are tasks that run in the workflow's directory, where they see everything."""

    result: RunResult
    missing: list[MissingInput]
    unchecked: list[str]

    def document(self) -> dict[str, Any]:
        """Return what `headway run --check-inputs --json` prints."""
        found: dict[str, Any] = to_builtins({"missing_inputs": self.missing, "unchecked": self.unchecked})
        return self.result.document() | found


def check_inputs(
    workflow: Workflow | str | os.PathLike[str] = "workflow.yaml",
    directory: str | os.PathLike[str] | None = None,
    settings: RunSettings | None = None,
    *,
    progress: Progress | None = None,
    warn: Warn = warn_program,
) -> CheckedInputs:
    """Run all tasks in strict sandboxes, with the arguments of `start`, and return the inputs that are not declared.

    A task that looked for a hidden file runs again and sees it, so that one check finds all of them. The tasks run in
    a directory of their own in `.headway`, where the files that no task makes are linked: results are not touched. The
    directory is deleted afterwards, unless a task failed.
    """
    what = runnable(workflow, directory, settings, None)
    graph, home = what.workflow.whole, Project(what.directory)
    for text in unhidden_paths((task for task in what.workflow if task.isolated), home.directory):
        warn(text)
    wanted = structs.replace(
        settings or what.settings,
        sandbox=STRICT,
        check_inputs=True,
        keep_going=True,
        project=what.settings.project or home.uid(),  # sizes that were learned before fit here, too
        report=False,
    )
    found: dict[tuple[str, str], MissingInput] = {}

    def collect(records: Sequence[Event | Decision]) -> None:
        for record in records:
            if isinstance(record, TaskEnded):
                for path in record.outcome.unseen:
                    name, place = graph.declared(record.outcome.task)
                    maker = graph.producer.get(path, "")
                    found.setdefault((name, path), MissingInput(name, place, path, f"- {inline(path)}", maker))

    with CheckDirectory(home).prepared(graph) as check:
        result = start(graph, check.path, wanted, progress=progress, observers=[collect], warn=warn)
        check.keep = bool(result.failures)
    order = {name: number for number, name in enumerate(dict.fromkeys(graph.declared(task)[0] for task in graph.tasks))}
    missing = sorted(found.values(), key=lambda each: (order[each.task], each.path))
    return CheckedInputs(result, missing, [task.id for task in what.workflow if not task.isolated])
