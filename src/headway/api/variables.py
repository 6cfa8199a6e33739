"""Environment variables whose names begin with `HEADWAY_`: which there are, and which are probably misspelt.

A variable in the environment of `headway` that is one letter away from that of a setting is an error, like a misspelt
setting in `headway.toml`. A variable that a command reads is a warning if it is similar to one that there is, and
neither the task nor the environment sets it. Other variables are the user's own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from headway.model.errors import InputError
from headway.model.spelling import meant
from headway.model.workflow import Workflow

_PREFIX = "HEADWAY_"
# What a task's command finds in its environment.
FOR_COMMANDS = ("TASK", "TRY", "CORES", "MEMORY_BYTES", "INPUTS", "KEEP", "NODES", "LAUNCH", "ATTEMPT")
# What Headway reads or sets elsewhere, besides the settings.
OTHERS = (
    *("ARRAY_INDEX", "CALLS", "CONTAINER_RUNTIME", "CRASH", "DATA", "DEBUG", "ISOLATION", "SERVICE"),
    *("NEXTFLOW_SIZES_ONLY", "NEXTFLOW_SOCKET"),
    *("NOTIFY_DIRECTORY", "NOTIFY_EVENT", "NOTIFY_RUN", "NOTIFY_STATE", "NOTIFY_TEXT", "NOTIFY_WORKFLOW"),
)
_LEAST_LETTERS = 4  # of a setting: `ON` and `QOS` are one letter away from too many words
# `$HEADWAY_CORES`, `${HEADWAY_CORES}`, and in other languages "HEADWAY_CORES" in quotes.
_READ = re.compile(rf"(?:\$\{{?[#!]?|[\"']){_PREFIX}([A-Z0-9_]+)")
_SET = r"\b{0}\+?=|\b(?:read|for|export|declare|local|unset)\b[^\n;]*\b{0}\b"


def check_environment(settings: Iterable[str]) -> None:
    """Raise an error for a variable of this process that is a misspelt setting, given the variables of all settings."""
    parts = [variable.removeprefix(_PREFIX) for variable in settings]
    known = {*parts, *FOR_COMMANDS, *OTHERS}
    for variable, value in os.environ.items():
        part = variable.removeprefix(_PREFIX)
        if value and part != variable and part not in known:
            name = meant(part, (part for part in parts if len(part) >= _LEAST_LETTERS), most=1)
            if name:
                raise InputError("unknown setting", where=variable, todo=f"did you mean {_PREFIX + name!r}?")


def misspelt_in_commands(workflow: Workflow, settings: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each misspelt variable that commands read, given the variables of all settings."""
    known = dict.fromkeys((*FOR_COMMANDS, *OTHERS, *(variable.removeprefix(_PREFIX) for variable in settings)))
    seen = set(FOR_COMMANDS)
    for task in workflow:
        text = "\n".join((*task.setup, task.command)) if _PREFIX in task.command or task.setup else ""
        for part in _READ.findall(text):
            variable = _PREFIX + part
            if part in seen or variable in os.environ or variable in task.environment:
                continue
            seen.add(part)
            if (name := _suggestion(part, known)) and not re.search(_SET.format(variable), text):
                place = workflow.places.get(task.id.partition("[")[0], "")
                where = f"{place}: " if place else ""
                what = f"the command of task {task.id!r} reads {variable}, which Headway does not set for commands"
                yield f"{where}{what}; did you mean {_PREFIX + name!r}?"


def _suggestion(part: str, known: Iterable[str]) -> str:
    """Return the variable that was probably meant; instead of a setting, one that commands have and that begins alike.

    >>> _suggestion("CROES", ["CORES", "DISK"]), _suggestion("MEMORY", ["MEMORY"]), _suggestion("DISK", ["DISK"])
    ('CORES', 'MEMORY_BYTES', '')
    """
    name = part if part in known else meant(part, known) or next(iter(get_close_matches(part, FOR_COMMANDS, n=1)), "")
    alike = (longer for longer in FOR_COMMANDS if name and longer.startswith(f"{name}_"))
    return next(alike, "" if name == part else name)
