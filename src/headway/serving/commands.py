"""From a client's request to a task of the run."""

from __future__ import annotations

import math
import os
import re
import shlex
import signal
from collections.abc import Mapping

from msgspec import structs

from headway.formats.nextflow_records import observations
from headway.model.checks import check_priority_and_retries
from headway.model.errors import InputError
from headway.model.limits import MOST_BYTES
from headway.model.observation import Observation
from headway.model.outcome import Ending, Outcome
from headway.model.resources import NAMES, check_amount
from headway.model.task import Task, Terms
from headway.model.units import parse_bytes, parse_duration
from headway.serving import messages
from headway.serving.wishes import read_wish

_SHELL = ("/bin/sh",)  # starts in half the time of bash; it only goes to the directory and becomes the command
_FUNCTIONS = "BASH_FUNC_"  # how bash passes on functions, such as `module`; other shells drop them
_BASH = ("bash", "-e")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Programs that say nothing about what they do: the script that they run does.
_INTERPRETERS = re.compile(r"(ba|da|z|k)?sh|python[\d.]*|perl|ruby|Rscript|julia|env|nice|time|java|node|octave")
_EXIT_CODES = {Ending.MEMORY: 137, Ending.TIME: 124, Ending.DISK: 137, Ending.CANCELLED: 130, Ending.LAUNCH_FAILED: 126}
_NOT_RUN = 125
_NAME = re.compile(r"[\w.+-]+")


def category_of(wanted: messages.Wanted) -> str:
    """Return the category that a client names, or that of its program: tasks of one learn from each other."""
    if wanted.category:
        return wanted.category
    words = wanted.argv if isinstance(wanted, messages.Submit) else []
    names = [os.path.basename(word) for word in words if not word.startswith("-")]
    telling = next((name for name in names if not _INTERPRETERS.fullmatch(name)), "")
    return telling if _NAME.fullmatch(telling) else next(iter(names), "command")


def task_of(request: messages.Submit, number: int, own: Mapping[str, str], *, in_jobs: bool) -> Task:
    """Return the task that a client asks for, with `own` as the environment that it has without its asking."""
    if bool(request.argv) is bool(request.script):
        raise InputError("a command has either 'argv' or 'script'", todo='send for example "argv": ["sort", "a.txt"]')
    check_priority_and_retries(request.priority, request.retries)
    added, removed = _environment(request.environment, own, in_jobs=in_jobs)
    lines = [f"cd {shlex.quote(request.directory)}"] if request.directory else []
    if request.stdin:
        lines.append(f"exec < {shlex.quote(request.stdin)}")
    lines += [f"unset {name}" for name in removed]
    lines.append(f"exec {shlex.join(request.argv)}" if request.argv else request.script)
    category = category_of(request)
    return sized(
        request,
        Task(
            id=f"{category}[{request.name or number}]",
            category=category,
            command="\n".join(lines),
            environment=added,
            priority=request.priority,
            retries=request.retries,
            sandbox=False,
            shell=_BASH if any(name.startswith(_FUNCTIONS) for name in request.environment or ()) else _SHELL,
            terms=Terms(request.key, request.quote, request.on_exhausted, request.keep, forget=True),
        ),
    )


def sized(wanted: messages.Wanted, task: Task) -> Task:
    """Return the task with what its size depends on."""
    return structs.replace(
        task,
        hints=_amounts(wanted.hints),
        limits=_amounts(wanted.limits),
        input_bytes=_size(wanted.input_bytes),
        malleable=wanted.malleable,
        wish=read_wish(wanted.wish),
    )


def reported(request: messages.Report, run: str) -> list[Observation]:
    """Return what a task teaches that a client ran elsewhere; nothing if it was not run."""
    size = {"hints": _amounts(request.hints), "input_bytes": _size(request.input_bytes)}
    return [structs.replace(seen, **size) for seen in observations([request.record], run, "report")]


def _size(input_bytes: int | None) -> int | None:
    """Return the size of a command's inputs, if it can be one."""
    if input_bytes is not None and not 0 <= input_bytes <= MOST_BYTES:
        raise InputError(f"input_bytes is {str(input_bytes)[:20]}", todo="leave it out if it is not known")
    return input_bytes


def _amounts(stated: Mapping[str, float | str]) -> dict[str, float]:
    """Return amounts by resource; texts are read as in workflow files."""
    found: dict[str, float] = {}
    for name, value in stated.items():
        if name not in NAMES:
            raise InputError(f"there is no resource {name!r}", todo=f"there are {', '.join(NAMES)}")
        read = parse_bytes if name.endswith("_bytes") else parse_duration if name.endswith("_s") else _number
        found[name] = float(read(value)) if isinstance(value, str) else _float(value)
        if found[name] == 0:
            raise InputError(f"{name} is {value}", todo="give more than nothing")
        check_amount(name, found[name])
    return found


def _float(value: float) -> float:
    """Return a number as one with a point; infinite if it is too large for that."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{text!r} is not a number", todo="write for example 4") from None


def _environment(
    wanted: Mapping[str, str] | None, own: Mapping[str, str], *, in_jobs: bool
) -> tuple[dict[str, str], list[str]]:
    """Return the variables to set and to unset for this environment.

    What Headway sets for a task is not the client's to set, nor is in jobs what Slurm does.
    """
    if wanted is None:
        return {}, []
    theirs = ("HEADWAY_", "SLURM_") if in_jobs else ("HEADWAY_",)
    added = {name: text for name, text in wanted.items() if own.get(name) != text and not name.startswith(theirs)}
    gone = [name for name in own if name not in wanted and not name.startswith(theirs)]
    return added, [name for name in gone if _VARIABLE.fullmatch(name)]


def exit_code(outcome: Outcome | None, cause: str) -> int:
    """Return what a shell would say of a command that ended for this cause, with its last outcome if there is one."""
    if cause == Ending.CANCELLED:
        return _EXIT_CODES[Ending.CANCELLED]
    if outcome is None:
        return _NOT_RUN
    if outcome.ending in _EXIT_CODES:
        return _EXIT_CODES[outcome.ending]
    if outcome.signal is not None:
        return 128 + outcome.signal
    return outcome.exit_code if outcome.exit_code is not None else int(outcome.ending is not Ending.SUCCESS)


def ends_programs(number: int) -> bool:
    """Whether this signal asks a program to end."""
    return number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP, signal.SIGQUIT)
