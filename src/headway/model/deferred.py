"""`Deferred`: entries of a workflow file that become tasks while the run goes on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, structs

from headway.model.job import Wish


class DeferredBlock(Struct, frozen=True, omit_defaults=True):
    """One entry of `tasks` whose tasks are not known yet.

    Its tasks are made from what the tasks `of` these categories have made, when all of these have succeeded. An entry
    that only depends on other deferred ones has none; it waits until those that it comes `after` have become tasks.
    """

    name: str
    of: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # further categories that are known, and on which its tasks may depend
    words: str = ""  # what its tasks are made for, such as "each file parts/{part}.txt"
    wish: Wish | None = None
    hints: dict[str, float] = {}
    makes: tuple[str, ...] = ()  # its outputs, with a star wherever the file has a name in braces

    @property
    def coming(self) -> str:
        """What its tasks wait for, in words."""
        if self.of:
            return f"one for {self.words}, when {' and '.join(self.of)} has succeeded"
        return f"they depend on {' and '.join(self.after)}"


class Deferred(Struct, frozen=True, omit_defaults=True):
    """The deferred entries of one workflow file, and all that is needed to turn them into tasks later.

    The run goes on with the `text` of the file, the values of `config` and the `sheets` as they were when it began,
    whatever is edited meanwhile.
    """

    blocks: tuple[DeferredBlock, ...] = ()
    file: str = ""
    text: str = ""
    config: dict[str, str | list[str]] = {}
    sheets: dict[str, Any] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entries: the categories of their tasks."""
        return tuple(block.name for block in self.blocks)

    def __contains__(self, category: str) -> bool:
        return any(block.name == category for block in self.blocks)

    def __bool__(self) -> bool:
        return bool(self.blocks)

    def only(self, names: Iterable[str]) -> Deferred:
        """The same with some of the entries, and those that they come after."""
        wanted = set(names)
        for block in reversed(self.blocks):  # each comes after those that it depends on
            if block.name in wanted:
                wanted |= {*block.after, *(name for name in block.of if name in self)}
        kept = tuple(block for block in self.blocks if block.name in wanted)
        return structs.replace(self, blocks=kept) if kept else Deferred()

    def until(self, names: Iterable[str]) -> Deferred:
        """The same without the entries that depend on tasks of these categories."""
        gone = set(names)
        kept = []
        for block in self.blocks:
            if gone.intersection((*block.of, *block.after, *block.needs)):
                gone.add(block.name)
            else:
                kept.append(block)
        return structs.replace(self, blocks=tuple(kept)) if kept else Deferred()


def may_make(patterns: Iterable[str], path: str, *, is_folder: bool = False) -> bool:
    """Whether tasks that are not known yet may make a path, something in it if it is a folder, or a folder above it.

    `patterns` are those of `DeferredBlock.makes`. A star stands for any text, also with slashes.

    >>> may_make(["o/*.txt"], "o/1.txt"), may_make(["o/*.txt"], "o/1.log"), may_make(["o/*.txt"], "o", is_folder=True)
    (True, False, True)
    """
    paths = [path]
    while "/" in paths[-1]:
        paths.append(paths[-1].rpartition("/")[0])
    for pattern in patterns:
        pieces = pattern.split("*")
        if any(_fits(each, pieces) for each in paths):
            return True
        parts = pattern.split("/") if is_folder else []
        if any(_fits(path, "/".join(parts[:depth]).split("*")) for depth in range(1, len(parts))):
            return True
    return False


def _fits(path: str, pieces: Sequence[str]) -> bool:
    """Whether a path is made of these pieces, with any text between two of them; in linear time."""
    if len(pieces) == 1:
        return path == pieces[0]
    if not path.startswith(pieces[0]):
        return False
    end = len(pieces[0])
    for piece in pieces[1:-1]:
        begin = path.find(piece, end)
        if begin < 0:
            return False
        end = begin + len(piece)
    return path.endswith(pieces[-1], end)
