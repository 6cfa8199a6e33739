"""`Report`: everything that a study shows, independent of where: on a screen, on a page, in the docs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct, structs

from headway.studies.paired import Interval


class Verdict(Struct, frozen=True):
    """A question, the figure that answers it, and the bound that the figure has to keep."""

    about: str
    value: float
    needed: float
    at_most: bool  # else at least
    detail: str = ""

    @property
    def passed(self) -> bool:
        """Whether the figure keeps its bound."""
        return self.value <= self.needed if self.at_most else self.value >= self.needed

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.value:.4g} {'≤' if self.at_most else '≥'} {self.needed:g}  {self.about}{detail}"


def verdicts_json(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Verdicts for a JSON document."""
    return [{**structs.asdict(verdict), "passed": verdict.passed} for verdict in verdicts]


class Statement(Struct, frozen=True):
    """A sentence of the paper, what the study found, and whether the two agree."""

    paper: str
    ours: str
    agrees: bool


class Marked(Struct, frozen=True):
    """The text of a cell that stands out; `hint` is shown when a reader points at it."""

    text: str
    kind: Literal["best", "ours", "quiet", "good", "bad"]
    hint: str = ""


Cell = str | Marked


class Section(Struct, frozen=True):
    """A table with a title and a note. Without columns it is a heading of the sections that follow."""

    title: str
    heads: Sequence[tuple[str, str]] = ()  # a group, and a title; the first is that of the row names
    rows: Sequence[Sequence[Cell]] = ()
    note: str = ""
    pictures: Sequence[str] = ()  # HTML, for the page
    keep: Sequence[int] = ()  # for each column: the smallest leaves a narrow screen first; by default the last one
    total: bool = False  # the last row sums up
    only_on_page: bool = False


class Report(Struct, frozen=True):
    """A study's title, how it was run, and what it found."""

    title: str
    about: str
    sections: Sequence[Section]
    verdicts: Sequence[Verdict]
    seed: int
    skipped: Sequence[str] = ()  # questions without a verdict, and why
    statements: Sequence[Statement] = ()
    findings: Sequence[str] = ()
    terms: Sequence[tuple[str, str]] = ()  # for the page: names in the tables, and what they mean
    ending: str = ""


def columns(names: str, *groups: tuple[str, ...]) -> list[tuple[str, str]]:
    """Heads of a table: that of the row names, then the titles of each group, which is its name and its titles.

    >>> columns("plan", ("wait", "total", "perceived"), ("", "jobs"))
    [('', 'plan'), ('wait', 'total'), ('wait', 'perceived'), ('', 'jobs')]
    """
    return [("", names), *((group, title) for group, *titles in groups for title in titles)]


def plus_minus(found: Interval, digits: int = 2) -> str:
    """A mean and half the width of its interval: `0.98 ±0.01`."""
    words = f"{found.mean:.{digits}f}"
    return words if found.low is None or found.high is None else f"{words} ±{(found.high - found.low) / 2:.{digits}f}"


def bracketed(found: Interval, digits: int = 3, sign: str = "") -> str:
    """A mean and its interval: `0.98 [0.97, 0.99]`."""
    ends = "" if found.low is None else f" [{found.low:{sign}.{digits}f}, {found.high:{sign}.{digits}f}]"
    return f"{found.mean:{sign}.{digits}f}{ends}"
