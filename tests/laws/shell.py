"""A shell that is as small as the commands of these workflows: it takes microseconds where bash takes milliseconds."""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

_LOOP = re.compile(r"for w in \$\(cat (?P<read>.+)\); do echo (?P<said>.+) (?P<how>>>?) (?P<to>\S+); done")


class CommandError(Exception):
    """A command of a script has failed, and with it the script."""


def run(script: str, directory: Path, lines: slice = slice(None), now_ns: int | None = None) -> int:
    """Run a script, or some of its lines, in a directory; return its exit code. What it writes is dated `now_ns`."""
    made: list[Path] = []
    try:
        _lines("\n".join(script.splitlines()[lines]), directory, (), made)
    except (CommandError, OSError):
        return 1
    finally:
        for path in made if now_ns is not None else ():
            for each in (path, path.parent):
                if each.exists() and not each.is_symlink():
                    os.utime(each, ns=(now_ns, now_ns))
    return 0


def _lines(script: str, directory: Path, arguments: Sequence[str], made: list[Path]) -> str:
    """Run all lines of a script; return what they print."""
    for number, value in enumerate(arguments, 1):
        script = script.replace(f"${number}", value)
    return "".join(_line(line, directory, made) for line in script.splitlines() if line not in ("", "set -u"))


def _line(line: str, directory: Path, made: list[Path]) -> str:
    if loop := _LOOP.fullmatch(line):
        words = _cat(_expanded(loop["read"].split(), directory), directory).split()
        for word in words:
            made.append(directory / loop["to"].replace("$w", word))
            _write(made[-1], loop["said"].replace("$w", word) + "\n", loop["how"])
        return ""
    words = line.split()
    target = (words[-2], words[-1]) if len(words) > 2 and words[-2] in (">", ">>") else None
    words = words[:-2] if target else words
    said = _said(words[0], _expanded(words[1:], directory), directory, made)
    if target is None:
        return said
    made.append(directory / target[1])
    _write(made[-1], said, target[0])
    return ""


def _write(path: Path, text: str, how: str) -> None:
    with path.open("a" if how == ">>" else "w") as file:
        file.write(text)


def _expanded(words: Sequence[str], directory: Path) -> list[str]:
    found: list[str] = []
    for word in words:
        found += (sorted(glob.glob(word, root_dir=directory)) if "*" in word else []) or [word]
    return found


def _cat(paths: Sequence[str], directory: Path) -> str:
    return "".join((directory / path).read_text() for path in paths)


def _said(program: str, words: list[str], directory: Path, made: list[Path]) -> str:
    match program, *words:
        case "cat", *paths:
            return _cat(paths, directory)
        case "xargs", "cat", "<", listed:
            return _cat((directory / listed).read_text().splitlines(), directory)
        case "echo", *said:
            return " ".join(said) + "\n"
        case "ls", folder:
            return "".join(f"{name}\n" for name in sorted(os.listdir(directory / folder)))
        case "sh", script, *arguments:
            return _lines((directory / script).read_text(), directory, arguments, made)
        case "mkdir", "-p", folder:
            made.append(directory / folder)
            made[-1].mkdir(parents=True, exist_ok=True)
        case "cp", source, target:
            made.append(directory / target)
            shutil.copyfile(directory / source, made[-1])
        case "test", "!", "-e", path:
            if (directory / path).exists():
                raise CommandError(path)
        case _:
            raise NotImplementedError(f"{program} {words}")
    return ""
