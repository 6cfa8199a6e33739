"""Explain a failed command that looked for a file of the workflow's directory which was not linked for it."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from headway.model.named_paths import named_paths
from headway.model.task import Task, is_pattern
from headway.model.workflow import folders_above
from headway.workers.attempt import AttemptFolder
from headway.workers.sandbox import undeclared
from headway.workers.sources import Sources

_READ_BYTES = 20_000  # the end of what the command wrote to standard error, or to another file
_MOST_FILES = 20  # that the command wrote and that may be logs
_MOST_ROOTS = 200  # directories to which a name may be relative
_WORDS = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|\u2018([^\u2018\u2019\n]+)\u2019|([^\s'\"`:,;()\u2018\u2019]+)")
_MODULE = re.compile(r"No module named '?([\w.]*\w)")
_MEMBER = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
_NO_MAKEFILE = re.compile("no makefile found|no rule to make", re.IGNORECASE)
_INCLUDED = re.compile(r"(?<!\S)-[IL]([\w./-]+)")  # directories in which a compiler looks for files
# What programs say of a file that they do not find, in a line that names the file or in the line before.
_NOT_FOUND = re.compile(
    r"no such|no rule to make|errno 2|filenotfound|missing|does(?:n't| not) exist"
    r"|not (?:be )?(?:found|opened|read|loaded)"
    r"|(?:can ?not|can't|could ?n[o']t|couldn't|unable to|failed to|failure|error) "
    r"(?:access|cd|execute|find|import|include|load|locate|open|read|run|source|stat)",
    re.IGNORECASE,
)
_ADDED_BY_LANGUAGES = ("", ".js", ".rb")  # require('./util') of Node and Ruby finds util.js and util.rb


def unseen_file(stderr: Path, task: Task, work: Path, workflow_directory: Path) -> str:
    """Return a file that the error messages name and that exists in the workflow's directory only, or an empty text."""
    text = end_of(stderr)
    for name in chain(_words(text), _modules(text)):
        path = os.path.normpath(name.removeprefix(f"{work}/"))
        if path.startswith(("/", ".")) or path in task.outputs:
            continue
        if not _exists(work / path) and _exists(workflow_directory / path):
            return path
    return ""


def unseen_files(said: str, folder: AttemptFolder, task: Task, workflow_directory: Path, sources: Sources) -> list[str]:
    """Return what a failed command in a strict sandbox looked for, as paths and patterns that inputs can have.

    The command did not find these files by what it wrote to standard error, to standard output or to a log file;
    `said` is what the system wrote when the command could not be started. Only if no line tells that a file was not
    found, any hidden file counts that the messages or the command name.
    """
    view = _View(task, folder.work, workflow_directory, sources, _roots(task, workflow_directory))
    streams = [said, end_of(folder.stderr), end_of(folder.stdout)]
    for text in chain(streams, _logs(folder.work, task)):
        if found := view.hidden(_looked_for(text)):
            return found
    path_like = (word for text in streams for word in _words(text) if "/" in word or "." in word)
    return view.hidden(chain(path_like, sorted(named_paths(task))))


def end_of(file: Path) -> str:
    """Return the end of what a command wrote; nothing if that cannot be read."""
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, os.path.getsize(file) - _READ_BYTES))
            return stream.read().decode(errors="replace")
    except OSError:
        return ""


def _logs(work: Path, task: Task) -> Iterator[str]:
    """Yield the ends of files that the command made: its messages may be in one."""
    made = (path for path in chain(task.outputs, undeclared(work, task)) if (work / path).is_file())
    for path in islice((path for path in made if "__pycache__" not in path), _MOST_FILES):
        yield end_of(work / path)


# --- what messages name ---


def _words(text: str) -> Iterator[str]:
    for groups in _WORDS.findall(text):
        yield "".join(groups)


def _looked_for(text: str) -> Iterator[str]:
    """Yield the names of files that were not found, by the lines that say so and those after them."""
    lines = text.splitlines()
    telling = [bool(_NOT_FOUND.search(line)) for line in lines]
    for number, line in enumerate(lines):
        if telling[number] or (number and telling[number - 1]):
            for found in _WORDS.finditer(line):
                word = next(filter(None, found.groups()))
                stands_alone = line[found.end() : found.end() + 1] in (":", "") and line[: found.start()].endswith(": ")
                if found.lastindex != 4 or "/" in word or "." in word or stands_alone or found.end() == line.find(":"):
                    yield word
    yield from _modules(text)
    if _NO_MAKEFILE.search(text):
        yield from ("GNUmakefile", "makefile", "Makefile")


def _modules(text: str) -> Iterator[str]:
    """Yield where Python looks for the modules that it could not import: files, and directories that are packages."""
    named = [*_MODULE.findall(text), *(f"{package}.{name}" for name, package in _MEMBER.findall(text))]
    for module in named:
        parts = module.split(".")
        for depth in range(len(parts), 0, -1):
            path = "/".join(parts[:depth])
            yield from (f"{path}.py", path)


# --- what is hidden ---


def _roots(task: Task, workflow_directory: Path) -> list[str]:
    """Return directories to which a name may be relative: those of inputs, and those that the command names.

    A script includes what lies beside it, and a command may set a search path.
    """
    relative = (path for path in (*task.inputs, *task.shown) if not path.startswith(("/", "..")))
    above = (folders_above(path)[-1] for path in relative if "/" in path and not is_pattern(os.path.dirname(path)))
    words = (*named_paths(task), *_INCLUDED.findall(task.command))
    named = [path for path in words if not is_pattern(path) and (workflow_directory / path).is_dir()]
    return list(islice(dict.fromkeys(("", *above, *sorted(named))), _MOST_ROOTS))


class _View(NamedTuple):
    """What a task sees in its directory, beside what is in the workflow's."""

    task: Task
    work: Path
    directory: Path
    sources: Sources
    roots: list[str]

    def hidden(self, names: Iterable[str]) -> list[str]:
        """Return the paths that inputs need for these names, as far as they exist and the task does not see them."""
        found: dict[str, None] = {}
        for name in names:
            if path := self._hidden(name):
                found[path] = None
        return [path for path in found if not any(above in found for above in folders_above(path))]

    def _hidden(self, name: str) -> str:
        name = name.removeprefix(f"{self.work}/").removeprefix(f"{os.path.realpath(self.work)}/")
        if name.startswith("/") or len(name) > 1000 or "\0" in name:
            return ""
        suffixes = _ADDED_BY_LANGUAGES if "." not in os.path.basename(name) else ("",)
        for text in dict.fromkeys((name, name.rstrip(".!?"))):
            for root in self.roots:
                for suffix in suffixes:
                    path = os.path.normpath(os.path.join(root, text + suffix))
                    if self._is_outside(path):
                        continue
                    if _exists(self.work / path):
                        return ""
                    if _exists(self.directory / path) or self.sources.makes(path):
                        return glob.escape(path)
                    if is_pattern(path) and any(glob.iglob(path, root_dir=self.directory)):
                        return "" if any(glob.iglob(path, root_dir=self.work)) else path
        return ""

    def _is_outside(self, path: str) -> bool:
        """Whether no input can have this path: it is not inside the workflow's directory, or the task makes it."""
        first = path.partition("/")[0]
        made = (path, *folders_above(path))
        return first in (".", "..", ".headway") or any(each in self.task.outputs for each in made)


def _exists(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except (OSError, ValueError):  # a null byte, or a name that is too long
        return False
