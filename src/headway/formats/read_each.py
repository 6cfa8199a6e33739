"""Reads the key `each` of a workflow file: lists to combine, or explicit rows."""

from __future__ import annotations

from headway.formats.each import Each, Row
from headway.formats.fields import WORD, Reader, describe, has_control_character, short
from headway.formats.safe_yaml import Entry, Listing, Mapping, Text

_EXAMPLE = "write for example {part: [aa, ab]} or [{left: a, right: b}]"


def read_each(reader: Reader, entry: Entry, owner: str) -> Each:
    """`{left: [a, b], right: [c]}` gives all combinations, `[{left: a, right: c}]` only the listed rows."""
    field = f"'each' of {owner}"
    if isinstance(entry.value, Listing):
        return _read_rows(reader, entry.value, field)
    if not isinstance(entry.value, Mapping):
        raise reader.error(entry.line, f"{field} is {describe(entry.value)}, not a mapping", _EXAMPLE)
    if not entry.value.entries:
        raise reader.error(entry.line, f"{field} is empty", _EXAMPLE)
    return Each({name: _read_values(reader, name, values, field) for name, values in entry.value.entries.items()})


def _read_rows(reader: Reader, listing: Listing, field: str) -> Each:
    if not listing.items:
        raise reader.error(listing.line, f"{field} is empty", _EXAMPLE)
    names: list[str] = []
    seen: dict[Row, None] = {}
    for item in listing.items:
        if not isinstance(item, Mapping) or not item.entries:
            raise reader.error(item.line, f"a row of {field} is {describe(item)}, not names with values", _EXAMPLE)
        names = names or [_checked_name(reader, name, value, field) for name, value in item.entries.items()]
        if item.entries.keys() != set(names):
            todo = f"give every row {', '.join(names)} and nothing else"
            raise reader.error(item.line, f"a row of {field} has other names than the first", todo)
        cells = (reader.text(item.entries[name], f"{short(name)} in {field}") for name in names)
        row = tuple(_checked_value(reader, cell, field) for cell in cells)
        if row in seen:
            raise reader.error(item.line, f"{field} has the row {short(', '.join(row))} twice", "remove one")
        seen[row] = None
    columns = list(zip(*seen, strict=True))
    return Each({name: list(columns[index]) for index, name in enumerate(names)}, rows=list(seen))


def _read_values(reader: Reader, name: str, entry: Entry, field: str) -> list[str]:
    what = f"{short(_checked_name(reader, name, entry, field))} in {field}"
    if not isinstance(entry.value, Listing):
        todo = f"write for example {{{name}: [aa, ab]}}"
        raise reader.error(entry.line, f"{what} is {describe(entry.value)}, not a list", todo)
    if not entry.value.items:
        raise reader.error(entry.line, f"{what} has no values", "list at least one")
    seen: dict[str, None] = {}
    for value in reader.texts(entry, what):
        if _checked_value(reader, value, what) in seen:
            raise reader.error(value.line, f"{what} has the value {short(value.text)} twice", "remove one")
        seen[value.text] = None
    return list(seen)


def _checked_name(reader: Reader, name: str, entry: Entry, field: str) -> str:
    if not WORD.fullmatch(name):
        todo = "use letters, digits and '_', such as {part: [aa, ab]}"
        raise reader.error(entry.line, f"{short(name)} in {field} is not a word", todo)
    return name


def _checked_value(reader: Reader, value: Text, field: str) -> str:
    if has_control_character(value.text):
        raise reader.error(value.line, f"{field} has the value {short(value.text)}", "remove the control character")
    return value.text
