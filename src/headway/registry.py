"""Find what other distributions add to Headway through entry points.

Each kind of thing that can be added has a group of entry points and a table of built-in things. A plugin adds
new names; it cannot replace what is built in.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from headway.model.errors import InputError

Thing = TypeVar("Thing")


def with_plugins(group: str, built_in: Mapping[str, Thing]) -> dict[str, Thing]:
    """Return the built-in things of a group, then all that plugins add to it, by name."""
    return {**built_in, **{name: plugin for name, plugin in _plugins(group).items() if name not in built_in}}


@cache
def _plugins(group: str) -> dict[str, Any]:
    return {entry.name: _load(entry) for entry in entry_points(group=group)}


def added_names(group: str) -> list[str]:
    """Return the names that plugins add to a group, without loading the plugins."""
    return sorted(entry.name for entry in entry_points(group=group))


def _load(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:  # a plugin's code may raise anything
        owner = f" of {entry.dist.name} {entry.dist.version}" if entry.dist else ""
        raise InputError(
            f"the plugin {entry.name!r}{owner} cannot be loaded: {type(error).__name__}: {error}",
            where=f"entry point {entry.group}",
            todo="update or uninstall that distribution",
        ) from error
