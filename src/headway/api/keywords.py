"""Keyword arguments of an api function, turned into the settings struct of its verb and checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, ValidationError, convert, structs

from headway.api.nearest import nearest
from headway.model.errors import InputError

Settings = TypeVar("Settings", bound=Struct)
# Progress callback of the verbs that take long: what is being done, how much of it is done, of how much.
Tell = Callable[[str, float, float], None]


def settled(kind: type[Settings], settings: Settings | None, named: Mapping[str, Any]) -> tuple[Settings, set[str]]:
    """Merge keyword arguments into settings; also return the names of the fields that the caller has set.

    The error for a wrong value names the field as the command line spells it: `--most-jobs`.
    """
    for name in named:
        if name not in kind.__struct_fields__:
            todo = nearest(name, kind.__struct_fields__, otherwise="there are")
            raise InputError(f"there is no setting called {name!r}", where=kind.__name__, todo=todo)
    usual = kind()
    chosen = structs.asdict(settings or usual)
    given = {name: value for name, value in chosen.items() if value != getattr(usual, name)}
    given |= {name: str(value) if isinstance(value, Path) else value for name, value in named.items()}
    try:
        return convert(structs.asdict(usual) | given, kind), set(given)
    except ValidationError as error:
        what, _, field = str(error).partition(" - at `$.")
        where = "--" + field.partition("`")[0].replace("_", "-").partition("[")[0] if field else kind.__name__
        raise InputError(what[:1].lower() + what[1:], where=where, todo="see `help()` of the settings") from None


def refuse(names: Iterable[str], given: Collection[str], whom: str, todo: str = "leave it out") -> None:
    """Raise InputError for the first of these settings that was given: it has no effect on this kind of input."""
    for name in names:
        if name in given:
            raise InputError(f"this is for {whom}", where=f"--{name.replace('_', '-')}", todo=todo)


def chosen_names(names: tuple[str, ...], known: Mapping[str, Any], what: str, where: str) -> list[str]:
    """The names in their order, each once; InputError if one of them is unknown."""
    for name in names:
        if name not in known:
            todo = nearest(name, sorted(known), otherwise="there are")
            raise InputError(f"there is no {what} called {name!r}", where=where, todo=todo)
    return list(dict.fromkeys(names))
