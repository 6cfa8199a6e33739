"""A table with a line for each allocator, in which our figures stand beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from msgspec import Struct
from rich.text import Text

from headway.report.columns import Field, table_lines
from headway.report.words import NOTHING
from headway_papers.bucketing.allocators import ENTRANTS, OURS

Of = Callable[[str], float | None]  # a figure of an allocator

_DEAREST = 90  # the first pair of columns; on a narrow screen the last go first


class Pair(Struct, frozen=True):
    """A column of ours, and the paper's beside it if there are any."""

    title: str
    ours: Of
    paper: Of = lambda name: None
    best: Callable[[Sequence[float]], float] | None = max  # which of ours to point out
    form: str = "{:.2f}"
    group: str = ""  # heading over several columns, where there are none of the paper


def pair_table(heading: str, pairs: Sequence[Pair], width: int) -> list[Text]:
    """Without a figure of the paper in any column the columns of the paper are left out."""
    names = list(ENTRANTS)
    has_paper = any(pair.paper(name) is not None for pair in pairs for name in names)
    fields: list[Field] = []
    for place, pair in enumerate(pairs):
        fields += _fields(pair, place, has_paper, names)
    return table_lines(heading, names, names, fields, width, total=False)


def _fields(pair: Pair, place: int, has_paper: bool, names: Sequence[str]) -> list[Field]:
    known = [value for value in map(pair.ours, names) if value is not None]
    best = pair.best(known) if pair.best and known else None

    def ours(name: str) -> str:
        return _written(pair, pair.ours(name))

    def style(name: str) -> str:
        return "bold green" if best is not None and pair.ours(name) == best else "bold" if name == OURS else ""

    if not has_paper:
        return [Field(pair.group, pair.title, ours, _DEAREST - place, style)]
    return [
        Field(pair.title, "ours", ours, _DEAREST - place, style),
        Field(pair.title, "001", lambda name: _written(pair, pair.paper(name)), _DEAREST - place, lambda name: "dim"),
    ]


def _written(pair: Pair, value: float | None) -> str:
    return NOTHING if value is None else pair.form.format(value)


def mean_pair(pairs: Sequence[Pair]) -> Pair:
    """The mean of all columns; of the paper's only where it has them all."""

    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return fmean(known) if known and len(known) == len(values) else None

    return Pair(
        "mean",
        lambda name: mean([pair.ours(name) for pair in pairs]),
        lambda name: mean([pair.paper(name) for pair in pairs]),
        pairs[0].best,
    )
