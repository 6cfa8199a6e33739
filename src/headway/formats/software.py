"""The keys `conda`, `pixi`, `uv`, `venv` and `modules` of a task, and of the workflow for tasks without their own."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

from headway.formats.each import Each, Row, Template, table
from headway.formats.fields import Reader
from headway.formats.safe_yaml import Entry
from headway.model.software import ENVIRONMENTS, KINDS

Entries = list[tuple[str, Template]]  # the kind and the text of each


def read_software(reader: Reader, keys: dict[str, Entry], owner: str, each: Each, inherited: Entries) -> Entries:
    """Read what a task needs; an environment, and modules, replace those of the workflow."""
    own = [kind for kind in KINDS if kind in keys]
    environments = [kind for kind in own if kind in ENVIRONMENTS]
    if len(environments) > 1:
        one, other = environments[:2]
        raise reader.error(keys[other].line, f"{owner} has both {one!r} and {other!r}", "remove one of them")
    if "container" in keys:
        if own:
            what = f"{owner} has both 'container' and {own[0]!r}"
            raise reader.error(keys[own[0]].line, what, "remove one: an image has its software inside")
        return []
    entries = [entry for entry in inherited if entry[0] not in own and not (entry[0] in ENVIRONMENTS and environments)]
    for kind in own:
        field = f"{kind!r} of {owner}"
        texts = reader.texts(keys[kind], field) if kind == "modules" else [reader.value(keys[kind], field)]
        for text in texts:
            reader.name(text.text, text.line, field, longest=4096)
            entries.append((kind, each.template(text.text)))
    return entries


def software_column(entries: Entries, rows: list[Row]) -> Iterable[dict[str, tuple[str, ...]]]:
    """Return the software of each row's task."""
    if not any(template.places for _, template in entries):
        return repeat(_by_kind(entries, [template.text for _, template in entries]))
    return (_by_kind(entries, row) for row in table([template for _, template in entries], rows))


def _by_kind(entries: Entries, texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for (kind, _), text in zip(entries, texts, strict=True):
        found[kind] = (*found.get(kind, ()), text)
    return found
