"""The thesis's logs and workflows."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

from headway.model.errors import InputError
from headway_papers.frame.data import VARIABLE, data_folder

_LOGS = {"KTH": "KTH-SP2-1996-2.1-cln.swf.gz", "SDSC": "SDSC-SP2-1998-4.2-cln.swf.gz"}
_LOG_FOLDER, _WORKFLOW_FOLDER = "pwa-swf", "glume-dax"
LOGS = tuple(_LOGS)
# §4.2: 100, 500 and 1000 hours of work in a workflow.
DURATIONS = {"360000": "short", "1800000": "medium", "3600000": "long"}
EXPECTED = 36


class Workflow(Struct, frozen=True):
    """A workflow of the thesis, which writes MONTAGE_250_360000 as M-250-short."""

    file: str
    name: str  # as in results
    app: str
    tasks: int
    duration: str

    @property
    def short_name(self) -> str:
        """As in the thesis."""
        return f"{self.app[0]}-{self.tasks}-{self.duration}"


class Found(Struct, frozen=True):
    """The logs and workflows that were found, and a sentence for each thing that is missing."""

    logs: dict[str, str]  # files by name
    workflows: list[Workflow]
    missing: list[str]


def find(wanted: Sequence[str] = (), only_logs: Sequence[str] = ()) -> Found:
    """Logs and workflows under the folder that HEADWAY_DATA names; `wanted` are patterns of workflows' names."""
    for name in only_logs:
        if name not in _LOGS:
            raise InputError(f"the thesis has no log {name!r}", where="--logs", todo=f"there are {' and '.join(LOGS)}")
    data = data_folder()
    if data is None:
        raise InputError(
            f"{VARIABLE} is not set, so the thesis's logs and workflows are missing",
            todo=f"set it to a folder with {_LOG_FOLDER} and {_WORKFLOW_FOLDER} in it; see docs/reproduce.md",
        )
    logs = {name: str(data / _LOG_FOLDER / file) for name, file in _LOGS.items() if not only_logs or name in only_logs}
    for file in logs.values():
        if not Path(file).is_file():
            raise InputError("this log of the thesis is missing", where=file, todo="get it from the Workloads Archive")
    folder = data / _WORKFLOW_FOLDER
    workflows = [found for path in sorted(folder.glob("*.dax*")) if (found := _workflow(path)) is not None]
    if not workflows:
        raise InputError("there is no workflow of the thesis here", where=str(folder))
    missing = []
    if len(workflows) < EXPECTED:
        missing.append(f"{len(workflows)} of the thesis's {EXPECTED} workflows are here")
    chosen = [it for it in workflows if not wanted or any(_matches(it, pattern) for pattern in wanted)]
    if not chosen:
        raise InputError(
            f"no workflow is called {' or '.join(wanted)}",
            where="--workflows",
            todo=f"there are {workflows[0].name}, also called {workflows[0].short_name}, and so on; * stands for any",
        )
    return Found(
        logs, sorted(chosen, key=lambda it: (it.app, it.tasks, list(DURATIONS.values()).index(it.duration))), missing
    )


def _matches(workflow: Workflow, pattern: str) -> bool:
    return fnmatchcase(workflow.name.lower(), pattern.lower()) or fnmatchcase(
        workflow.short_name.lower(), pattern.lower()
    )


def _workflow(path: Path) -> Workflow | None:
    name = path.name.removesuffix(".gz").removesuffix(".dax")
    app, _, rest = name.partition("_")
    tasks, _, seconds = rest.partition("_")
    if seconds not in DURATIONS or not tasks.isdigit():
        return None
    return Workflow(str(path), name, app, int(tasks), DURATIONS[seconds])
