"""The key `each`: one entry of a workflow file that stands for many tasks, one for each combination or row of values.

Only `{name}` with a name in the task's own `each` is a placeholder. All other braces belong to the command: awk's
`{print}`, the shell's `${part}` and `{a,b}`, another tool's `{{part}}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product, repeat
from math import prod
from operator import itemgetter

from msgspec import Struct

from headway.formats.fields import WORD, Reader, describe, has_control_character, short
from headway.formats.safe_yaml import Entry, Listing, Mapping, Text

Row = tuple[str, ...]

_EXAMPLE = "write for example {part: [aa, ab]} or [{left: a, right: b}]"


class Each:
    """Names with their values. Without names there is one empty combination, for a single task.

    >>> each = Each({"a": ["1", "2"], "b": ["x", "y"]})
    >>> each.ids("diff")
    ['diff[1,x]', 'diff[1,y]', 'diff[2,x]', 'diff[2,y]']
    >>> list(each.template("cp ${a} {a}.{b}").column(each.rows()))[1]
    'cp ${a} 1.y'
    """

    def __init__(self, values: dict[str, list[str]], rows: list[Row] | None = None) -> None:
        self.values = values
        self._rows = rows  # explicit rows instead of all combinations
        self.widths = [max(map(len, column), default=0) for column in values.values()]
        names = "|".join(map(re.escape, values))
        # The first two alternatives consume `${name}` and `{{name}}`, so that the third does not match inside them.
        self._place = re.compile(rf"\$\{{(?:{names})\}}|\{{\{{(?:{names})\}}\}}|\{{({names})\}}") if values else None

    def __len__(self) -> int:
        return prod(map(len, self.values.values())) if self._rows is None else len(self._rows)

    def rows(self) -> list[Row]:
        """All combinations, with the last name varying fastest, or the explicit rows."""
        return list(product(*self.values.values())) if self._rows is None else self._rows

    def ids(self, category: str) -> list[str]:
        """The task ids in the order of `rows`."""
        return [f"{category}[{','.join(row)}]" for row in self.rows()] if self.values else [category]

    def template(self, text: str) -> Template:
        """Parse the placeholders of `text`."""
        columns = {name: index for index, name in enumerate(self.values)}
        pieces, places, end = [], [], 0
        for match in self._place.finditer(text) if self._place else ():
            if match[1] is not None:
                pieces.append(text[end : match.start()])
                places.append(columns[match[1]])
                end = match.end()
        return Template(text, (*pieces, text[end:]), tuple(places))

    def longest(self, template: Template) -> int:
        """An upper bound on the length of texts made from `template`."""
        return sum(map(len, template.pieces)) + sum(self.widths[place] for place in template.places)


class Template(Struct, frozen=True):
    """A text with placeholders."""

    text: str
    pieces: Row  # the text around them
    places: tuple[int, ...]  # the columns that fill them

    def column(self, rows: Sequence[Row]) -> Iterable[str]:
        """The text for each row; without placeholders all rows share one string."""
        if not self.places:
            return repeat(self.text, len(rows))
        layout = "%s".join(piece.replace("%", "%%") for piece in self.pieces)
        return (layout % values for values in map(itemgetter(*self.places), rows))


def table(templates: Sequence[Template], rows: Sequence[Row]) -> Iterator[Row]:
    """For each row, the texts of all templates."""
    if any(template.places for template in templates):
        return zip(*(template.column(rows) for template in templates), strict=True)
    return repeat(tuple(template.text for template in templates), len(rows))


# --- reading it ---


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
