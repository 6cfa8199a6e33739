"""What the tasks of a category do, found in their commands: tasks of one name may be different work in two projects.

Values that differ between the tasks of a category, such as the names of samples, are not part of it. Shell commands are
not parsed, only searched: whoever hides a program well gets a less exact identity, not an error.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from headway.model.origin import Identity
from headway.model.task import Task, digest, is_shell

_MOST_TASKS = 50  # of a category that are compared, evenly spread
_MOST_BYTES = 1_000_000  # of a script
_SCRIPTS = {".awk", ".bash", ".ipynb", ".jl", ".js", ".lua", ".m", ".pl", ".py", ".r", ".rb", ".sh", ".sql", ".ts"}

_WORD = re.compile(r"[\w./~@%+-]+")
_NO_PROGRAMS = re.compile(
    r"<<-?\s*(?P<quote>['\"]?)(?P<mark>\w+)(?P=quote)"  # a here-document begins
    r"|'[^']*'|\"(?:\\.|[^\"\\])*\""
    r"|(?<!\S)\#[^\n]*|\\\n|(?P<escaped>\\.)",
    re.DOTALL,
)
_PROGRAM = re.compile(
    r"(?:^|[|;(`\n]|(?<!>)&)[ \t]*"
    r"(?:(?:do|elif|else|exec|if|then|time|until|while|!|\{|\w+=\S{0,200})[ \t]+)*"
    r"([^\s|&;()<>`]+)"
)

Item = TypeVar("Item")


def identities_of(tasks: Iterable[Task], directory: Path) -> dict[str, Identity]:
    """Return what the tasks of each category do; scripts are looked up in `directory`."""
    categories: dict[str, list[Task]] = {}
    made: set[str] = set()
    for task in tasks:
        categories.setdefault(task.category, []).append(task)
        made.update(task.outputs)
    return {name: _identity(_spread(members), made, directory) for name, members in categories.items()}


def identity_of_program(path: Path) -> Identity:
    """Return the identity of calls that a Python program makes."""
    content = _content(path)
    return Identity("", digest([content]) if content else "")


def _identity(tasks: Sequence[Task], made: set[str], directory: Path) -> Identity:
    words = _common(set(_WORD.findall(_text(task).replace(f"{directory}/", ""))) for task in tasks)
    scripts = {word: text for word in sorted(words - made) if (text := _script(directory / word))}
    programs = _common(_programs(task) for task in tasks) | {Path(name).name for name in scripts}
    return Identity(digest(sorted(programs)), digest([*sorted(words), *scripts.values()]))


def _text(task: Task) -> str:
    software = [name for names in task.software.values() for name in names]
    return "\n".join([task.command, task.container or "", *software, *task.setup, *task.environment, *task.shell])


def _programs(task: Task) -> set[str]:
    """Return the names of the programs that a command starts, also those in the middle of a pipeline."""
    if not is_shell(task.shell):
        return {Path(task.shell[0]).name}
    return {name.rsplit("/", 1)[-1] for name in _PROGRAM.findall(_lines(_without_texts(task.command)))}


def _without_texts(command: str) -> str:
    """Return a command without its here-documents, texts in quotes and comments.

    >>> _without_texts("cat <<END\\nsort\\nEND\\nuniq 'a b' # c")
    'cat  \\nuniq    '
    """
    ends: dict[str, list[int]] = {}  # of lines, by their text: a pattern would look for the same end again and again
    position = 0
    for line in command.split("\n") if "<<" in command else ():
        ends.setdefault(line.strip(), []).append(position + len(line))
        position += len(line) + 1
    kept: list[str] = []
    position = 0
    while found := _NO_PROGRAMS.search(command, position):
        end, instead = found.end(), " "
        if found["mark"]:
            later = ends.get(found["mark"], [])
            place = bisect_right(later, end)
            end, instead = (later[place], " ") if place < len(later) else (found.start() + 2, "<<")
        kept += [command[position : found.start()], found["escaped"] or instead]
        position = end
    return "".join([*kept, command[position:]])


def _lines(text: str) -> str:
    """Return a text without empty lines and the space around lines."""
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _script(path: Path) -> str:
    """Return the content of a script; empty if there is none, or if the file is data."""
    content = _content(path)
    return content if path.suffix.lower() in _SCRIPTS or content.startswith("#!") else ""


def _content(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return ""
        return path.read_bytes().decode("utf-8", "replace")
    except (OSError, ValueError):  # a word of a command may be no possible name of a file
        return ""


def _common(sets: Iterable[set[str]]) -> set[str]:
    return set.intersection(*sets)


def _spread(items: list[Item]) -> list[Item]:
    """Return the first item, the last, and some between them."""
    step = max(1, -(-len(items) // _MOST_TASKS))
    return [*items[::step], items[-1]]
