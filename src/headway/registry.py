"""Find what other distributions add to Headway through entry points.

Each kind of thing that can be added has a group of entry points and a table of built-in things. A plugin adds
new names; it cannot replace what is built in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from headway.model.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Thing = TypeVar("Thing")


class WithPlugins(Mapping[str, Thing]):
    """The built-in things of a group, then all that plugins add to it, by name.

    Plugins are looked for only when a name is not built in or all names are listed: most commands need none, and
    looking takes longer than all else that they do at their start.
    """

    def __init__(
        self, group: str, built_in: Mapping[str, Thing], adapted: Callable[[str, Any], Thing] | None = None
    ) -> None:
        self._group = group
        self._built_in = built_in
        self._adapted = adapted  # makes of what a plugin offers what the group needs

    def __getitem__(self, name: str) -> Thing:
        if name in self._built_in:
            return self._built_in[name]
        plugin = _load(_plugins(self._group)[name])
        return self._adapted(name, plugin) if self._adapted else plugin

    def __iter__(self) -> Iterator[str]:
        yield from self._built_in
        yield from (name for name in _plugins(self._group) if name not in self._built_in)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def _plugins(group: str) -> dict[str, EntryPoint]:
    """What plugins add to a group, not loaded yet: one that cannot be loaded stops only those who need it."""
    return {entry.name: entry for entry in _entries(group)}


def added_names(group: str) -> list[str]:
    """Return the names that plugins add to a group, without loading the plugins."""
    return sorted(entry.name for entry in _entries(group))


def _entries(group: str) -> tuple[EntryPoint, ...]:
    from importlib.metadata import distributions

    found: dict[str, EntryPoint] = {}
    known: set[str] = set()
    for distribution in distributions():
        try:
            name, entries = distribution.name, distribution.entry_points
        except Exception:  # noqa: S112 - half uninstalled, or not written by an installer: it adds nothing
            continue
        if name not in known:  # the first of a name on the path is the one that would be imported
            known.add(name)
            found |= {entry.name: entry for entry in entries if entry.group == group and entry.name not in found}
    return tuple(found.values())


@cache
def _load(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except (Exception, SystemExit) as error:  # a plugin's code may raise anything
        owner = f" of {entry.dist.name} {entry.dist.version}" if entry.dist else ""
        raise InputError(
            f"the plugin {entry.name!r}{owner} cannot be loaded: {type(error).__name__}: {error}",
            where=f"entry point {entry.group}",
            todo="update or uninstall that distribution",
        ) from error
