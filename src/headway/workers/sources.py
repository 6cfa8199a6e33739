"""`Sources`: which files of the workflow's directory a task sees besides its inputs."""

from __future__ import annotations

import fnmatch
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import groupby, islice, takewhile
from pathlib import Path
from typing import NamedTuple

from headway.model.task import is_pattern

MOST_UNDECLARED = 50  # entries of one directory that are linked although the task does not declare them
_HEADWAY_FOLDER = ".headway"
_DIRECTORIES = "/"  # a kind of entry, like the extensions of files


class _Listing(NamedTuple):
    """A directory's entries that no task makes, as paths; `hidden`, which is sorted, are too many to be linked."""

    modified_ns: int
    shown: list[str]
    hidden: list[str]


class Sources:
    """The entries of the workflow's directory that no task makes. They are linked into the directories of tasks.

    A directory in which no task makes anything is linked as a whole. Of any other directory, at most MOST_UNDECLARED
    entries are linked one by one, so that a task starts as fast among 100,000 files as among ten. If there are more,
    the entries are grouped by their kind, which is the file name's extension, and the largest groups are hidden: they
    are the samples, not the scripts and settings. A task sees those hidden entries that it declares or names, and
    those that differ from them only in what follows a dot (`ref.fa.fai` beside `ref.fa`).

    A directory is listed again only when its modification time has changed. Publishing an output changes it, too;
    `expect_change` avoids the listing then, without which 10,000 tasks would list 10,000 entries 10,000 times.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._produced: set[str] = set()
        self._above: set[str] = {"."}  # directories in which tasks make something
        self._listed: dict[str, _Listing] = {}  # by directory

    def add_produced(self, paths: Iterable[str]) -> None:
        """Add paths that tasks make."""
        for path in paths:
            self._produced.add(path)
            self._above.update(str(parent) for parent in Path(path).parents)
        self.forget()

    def makes(self, path: str) -> bool:
        """Whether a task makes this path."""
        return path in self._produced

    def forget(self) -> None:
        """List all directories anew: a task that is not isolated can have changed any of them."""
        self._listed.clear()

    def entries(self, opened: Set[str], wanted: Mapping[str, Set[str]], folder: str = ".") -> Iterator[str]:
        """Yield the relative paths to link: files, and directories to link as a whole.

        `wanted` are paths and patterns by the directory they lie in. A directory is entered instead of being linked if
        tasks make something in it, or if it is in `opened` and has no hidden entries.
        """
        listing = self._listing(folder)
        if listing.hidden and folder not in self._above:
            yield folder
            return
        found = _find(wanted.get(folder, ()), listing.hidden) if listing.hidden else ()
        for path in dict.fromkeys((*listing.shown, *found)):
            if path in self._above or (path in opened and (self._directory / path).is_dir()):
                yield from self.entries(opened, wanted, path)
            else:
                yield path

    def _listing(self, folder: str) -> _Listing:
        modified_ns = (self._directory / folder).stat().st_mtime_ns
        listing = self._listed.get(folder)
        if listing is None or listing.modified_ns != modified_ns:
            listing = _Listing(modified_ns, *_split(dict(self._scan(folder))))
            self._listed[folder] = listing
        return listing

    def _scan(self, folder: str) -> Iterator[tuple[str, str]]:
        """Yield the path and the kind of each entry that no task makes."""
        prefix = "" if folder == "." else f"{folder}/"
        with os.scandir(self._directory / folder) as entries:
            for entry in entries:
                path = prefix + entry.name
                if path not in self._produced and path != _HEADWAY_FOLDER:
                    yield path, _DIRECTORIES if entry.is_dir() else os.path.splitext(entry.name)[1]

    def expect_change(self, folder: str, before_ns: int) -> None:
        """Keep the listing of a directory that only we have changed since its modification time was `before_ns`."""
        listing = self._listed.get(folder)
        if listing and listing.modified_ns == before_ns:
            self._listed[folder] = listing._replace(modified_ns=(self._directory / folder).stat().st_mtime_ns)

    def modified_ns(self, folder: str) -> int:
        """Return the directory's modification time; 0 if it does not exist."""
        path = self._directory / folder
        return path.stat().st_mtime_ns if path.exists() else 0


def _split(kinds: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Split entries, given with their kinds, into those to link and those to hide: whole kinds, the largest hidden.

    >>> samples = {f"s{number}.fq": ".fq" for number in range(300)}
    >>> shown, hidden = _split(samples | {"align.py": ".py"})
    >>> shown, len(hidden)
    (['align.py'], 300)
    """
    if len(kinds) <= MOST_UNDECLARED:
        return list(kinds), []
    groups: dict[str, list[str]] = {}
    for path, kind in kinds.items():
        groups.setdefault(kind, []).append(path)
    shown: list[str] = []
    # Kinds of the same size share their fate, so that which files are linked does not depend on the order of listing.
    for _, equals in groupby(sorted(groups.values(), key=len), key=len):
        more = [path for group in equals for path in group]
        if len(shown) + len(more) > MOST_UNDECLARED:
            break
        shown += more
    return shown, sorted(kinds.keys() - set(shown))


def _find(wanted: Iterable[str], hidden: list[str]) -> Iterator[str]:
    """Yield the hidden paths that are wanted: by name, with some that belong to them, or by a pattern."""
    for path in wanted:
        if is_pattern(path):
            matches = re.compile(fnmatch.translate(path)).match
            dots = os.path.basename(path).startswith(".")
            start = re.split(r"[*?\[]", path, maxsplit=1)[0]
            for name in _starting_with(start, hidden):
                if matches(name) and (dots or not os.path.basename(name).startswith(".")):
                    yield name
        else:
            if next(_starting_with(path, hidden), None) == path:
                yield path
            yield from islice(_starting_with(os.path.splitext(path)[0] + ".", hidden), MOST_UNDECLARED)


def _starting_with(prefix: str, ordered: list[str]) -> Iterator[str]:
    return takewhile(lambda path: path.startswith(prefix), islice(ordered, bisect_left(ordered, prefix), None))
