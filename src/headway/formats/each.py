"""`each`: one entry of a workflow file that stands for many tasks, one for each combination or row of values.

Only `{name}` with a name in the task's own `each` is a placeholder. All other braces belong to the command: awk's
`{print}`, the shell's `${part}` and `{a,b}`, another tool's `{{part}}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product, repeat
from math import prod
from operator import itemgetter

Row = tuple[str, ...]


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


class Template:
    """A text with placeholders: `pieces` are the text around them, `places` the columns that fill them."""

    def __init__(self, text: str, pieces: Row, places: tuple[int, ...]) -> None:
        self.text = text
        self.pieces = pieces
        self.places = places

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
