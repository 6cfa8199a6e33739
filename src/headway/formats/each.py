"""`Each`: names and values for which one entry of a workflow file stands for many tasks, and texts filled with them.

Only `{name}` with a name that is known here is a placeholder. All other braces belong to the command: awk's `{print}`,
the shell's `${part}` and `{a,b}`, another tool's `{{part}}`. `unknown_names` reports those that look like mistakes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product, repeat
from math import prod
from operator import itemgetter

from msgspec import Struct

Row = tuple[str, ...]


class Factor(Struct, frozen=True):
    """Names that take their values together, such as the columns of a sheet; `labels` tell the rows apart."""

    names: tuple[str, ...]
    rows: list[Row]
    labels: list[str]


def single(name: str, values: list[str]) -> Factor:
    """One name with its values."""
    return Factor((name,), [(value,) for value in values], values)


class Each:
    """All combinations of the rows of some factors. Without factors there is one empty combination, for a single task.

    `constants` are names with one text for all tasks, which may contain placeholders of factors; a factor's name hides
    a constant.

    >>> each = Each([single("a", ["1", "2"]), single("b", ["x", "y"])], {"c": "z"})
    >>> each.ids("diff")
    ['diff[1,x]', 'diff[1,y]', 'diff[2,x]', 'diff[2,y]']
    >>> list(each.template("cp ${a} {a}.{b}.{c}").column(each.rows()))[1]
    'cp ${a} 1.y.z'
    """

    def __init__(self, factors: Sequence[Factor] = (), constants: Mapping[str, str] | None = None) -> None:
        self.factors = factors
        self.constants = constants or {}
        self.names = tuple(name for factor in factors for name in factor.names)
        self.widths = [
            max((len(row[place]) for row in factor.rows), default=0)
            for factor in factors
            for place in range(len(factor.names))
        ]
        self._place = _placeholder(self.names)
        self._constant = _placeholder([name for name in self.constants if name not in self.names])

    def __len__(self) -> int:
        return prod(len(factor.rows) for factor in self.factors)

    def rows(self) -> list[Row]:
        """All combinations, with the last name varying fastest."""
        if len(self.factors) == 1:
            return self.factors[0].rows
        return [tuple(chain.from_iterable(rows)) for rows in product(*(factor.rows for factor in self.factors))]

    def ids(self, category: str) -> list[str]:
        """The task ids in the order of `rows`."""
        if not self.factors:
            return [category]
        return [f"{category}[{','.join(labels)}]" for labels in product(*(factor.labels for factor in self.factors))]

    def longest_id(self) -> int:
        """The length of the longest id, without the category."""
        return sum(max(map(len, factor.labels), default=0) + 1 for factor in self.factors)

    def widened(self, widths: Mapping[str, int]) -> Each:
        """The same with names whose values the caller appends to each row, given the widths of these values."""
        wider = Each()
        wider.names, wider.widths = (*self.names, *widths), [*self.widths, *widths.values()]
        wider.constants, wider._constant, wider._place = self.constants, self._constant, _placeholder(wider.names)
        return wider

    def filled(self, text: str) -> str:
        """The text with the constants filled in."""
        if not self._constant:
            return text
        return self._constant.sub(lambda match: self.constants[match[1]] if match[1] else match[0], text)

    def template(self, text: str) -> Template:
        """Parse the placeholders of `text`, and of the constants in it."""
        text = self.filled(text)
        pieces, places, end = [], [], 0
        for match in self._place.finditer(text) if self._place else ():
            if match[1] is not None:
                pieces.append(text[end : match.start()])
                places.append(self.names.index(match[1]))
                end = match.end()
        return Template(text, (*pieces, text[end:]), tuple(places))

    def longest(self, template: Template) -> int:
        """An upper bound on the length of texts made from `template`."""
        return sum(map(len, template.pieces)) + sum(self.widths[place] for place in template.places)


def _placeholder(names: Iterable[str]) -> re.Pattern[str] | None:
    known = "|".join(map(re.escape, names))
    # The first two alternatives consume `${name}` and `{{name}}`, so that the third does not match inside them.
    return re.compile(rf"\$\{{(?:{known})\}}|\{{\{{(?:{known})\}}\}}|\{{({known})\}}") if known else None


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
