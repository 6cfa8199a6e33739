"""Shortening names of tasks and categories so that they stay distinguishable."""

from __future__ import annotations

from collections.abc import Collection
from itertools import takewhile

from rich.cells import cell_len

from headway.report.columns import one_line

_BEGINNING = 7


def shared_prefix(names: Collection[str]) -> str:
    """The common prefix of all names, cut after a separator (`.`, `:` or `/`).

    >>> shared_prefix(["flow:align:sort", "flow:align:index"]), shared_prefix(["sort", "sort_all"])
    ('flow:align:', '')
    """
    first, last = min(names, default=""), max(names, default="")
    alike = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))))
    return first[: max(first.rfind(separator, 0, alike) for separator in ".:/") + 1] if len(names) > 1 else ""


def shortened(name: str, cells: int) -> str:
    """The name in at most `cells` terminal cells: its beginning and more of its end, where long names differ.

    >>> shortened("select_variants_in_all_samples", 20)
    'select_…_all_samples'
    """
    name = one_line(name)
    if cell_len(name) <= cells:
        return name
    beginning = min(_BEGINNING, (cells - 1) // 2)
    end = cells - 1 - beginning
    while cell_len(name[:beginning]) + 1 + cell_len(name[-end:]) > cells and end > 1:  # wide characters
        beginning, end = max(1, beginning - 1), end - 1
    return f"{name[:beginning]}…{name[-end:]}"
