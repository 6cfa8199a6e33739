"""Settings files: `headway.toml` beside the workflow, and the user's own; what they may say, and what they may not."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from headway.api.nearest import nearest
from headway.cli.options import METHODS, Function, directory_option, parse_cores, parse_size
from headway.model.errors import InputError
from headway.model.units import parse_duration

PROJECT_FILE = "headway.toml"


def user_file() -> Path:
    """Where the user's own settings are."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(base) / "headway" / "config.toml"


def use_settings(ctx: click.Context, _: click.Parameter, workflow: Path) -> Path:
    """Callback of the eager argument WORKFLOW: defaults from the files, before any other option is looked at."""
    use_directory_settings(ctx, _, workflow.parent)
    return workflow


def use_directory_settings(ctx: click.Context, _: click.Parameter, directory: Path) -> Path:
    """Callback of an eager `--directory`, for verbs that run what was started there."""
    if not ctx.resilient_parsing:
        ctx.default_map = read_settings(user_file()) | read_settings(directory / PROJECT_FILE)
    return directory


def settings_directory_option(function: Function) -> Function:
    """`-C` for verbs that run tasks: the settings of that directory count."""
    return directory_option(function, is_eager=True, callback=use_directory_settings)


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a file, by the names of the options' variables; nothing if there is no such file."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"this file cannot be read ({reason})", where=str(path)) from error
    found = {key.replace("-", "_"): _checked(path, text, key, value) for key, value in _parse(path, text).items()}
    if "history" in found:
        found["history"] = _beside(path, found["history"])
    return found


def _beside(path: Path, history: str) -> str:
    """A history's place as a settings file means it: relative to the file, not to where the command is given."""
    is_file = history != "none" and "://" not in history
    return str(path.absolute().parent / os.path.expanduser(history)) if is_file else history


def _parse(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column \d+\)|\(at end of document\)", str(error))
        line = (place and place[1]) or str(text.count("\n") + 1)
        what = str(error).replace(place[0], "").strip() if place else str(error)
        raise InputError(
            f"this is not TOML: {what[:1].lower()}{what[1:]}",
            where=f"{path}:{line}",
            todo='write for example memory = "8 GB"',
        ) from error


def _checked(path: Path, text: str, key: str, value: Any) -> Any:
    where = f"{path}:{_line_of(key, text)}"
    check = _CHECKS.get(key)
    if check is None:
        todo = nearest(key, _CHECKS, otherwise="known are")
        raise InputError(f"unknown setting {key!r}", where=where, todo=todo)
    try:
        return check(value)
    except InputError as error:
        raise InputError(f"{key}: {error.what}", where=where, todo=error.todo) from None


def _line_of(key: str, text: str) -> int:
    """The line in which a key (or a table of that name) stands."""
    found = re.search(rf"^\s*\[*\s*[\"']?{re.escape(key)}[\"']?\s*[\].=]", text, re.MULTILINE)
    return text.count("\n", 0, found.end()) + 1 if found else 1


def _wrong(value: object, wanted: str, todo: str) -> InputError:
    return InputError(f"{value!r} is not {wanted}", todo=todo)


def _cores(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _wrong(value, "a number of cores", "write for example cores = 4")
    return parse_cores(str(value))


def _size(value: object) -> float:
    if not isinstance(value, str):
        raise _wrong(value, "an amount with a unit", 'write for example "8 GB", in quotes')
    return parse_size(value)


def _span(value: object) -> float:
    if not isinstance(value, str):
        raise _wrong(value, "a length of time with a unit", 'write for example "10s", in quotes')
    return parse_duration(value)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(value, "a whole number", "write for example seed = 7")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(value, "true or false", "write true or false, without quotes")
    return value


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(value, "a name", "write it in quotes; `headway policies` lists the names")
    return value


def _method(value: object) -> str:
    if value not in METHODS:
        raise _wrong(value, "a way of measuring", f"choose one of {', '.join(METHODS)}")
    return str(value)


def _place(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _wrong(value, "a file", 'write its path in quotes, or "none" to keep no history')
    return value


_CHECKS: dict[str, Callable[[object], Any]] = {
    "cores": _cores,
    "memory": _size,
    "disk": _size,
    "sizer": _name,
    "order": _name,
    "seed": _whole,
    "keep-going": _flag,
    "quiet": _flag,
    "measure": _method,
    "grace": _span,
    "fresh": _flag,
    "history": _place,
}
