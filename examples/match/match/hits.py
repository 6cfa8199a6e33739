"""The tables of what was found: one a part, with the queries it answers for, and one of all, ranked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

SEARCHED = "# searched "


class Hit(NamedTuple):
    """One alignment; positions are ``[start, end)``, counted from 0."""

    evalue: float
    bits: float
    score: int
    query: str
    query_start: int
    query_end: int
    entry: str
    entry_start: int
    entry_end: int

    def rank(self) -> tuple[float, int, str, str]:
        """No two hits have the same, as a query has one hit an entry: the ranking does not depend on who came first."""
        return self.evalue, -self.score, self.query, self.entry


def write_hits(path: Path, hits: Iterable[Hit], searched: Sequence[str] | None = None) -> None:
    lines = ["\t".join(Hit._fields)]
    if searched is not None:
        lines.insert(0, SEARCHED + " ".join(searched))
    lines += ["\t".join([f"{hit.evalue:.3g}", f"{hit.bits:.1f}", *map(str, hit[2:])]) for hit in hits]
    path.write_text("\n".join(lines) + "\n")


def read_hits(path: Path) -> list[Hit]:
    rows = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    return [
        Hit(
            float(row[0]),
            float(row[1]),
            int(row[2]),
            row[3],
            int(row[4]),
            int(row[5]),
            row[6],
            int(row[7]),
            int(row[8]),
        )
        for row in rows[1:]
    ]


def merge(parts: Iterable[Path], queries: Iterable[str]) -> list[Hit]:
    """Return all hits, best first. A query that was not searched would seem to have no hits, so it is an error."""
    hits: list[Hit] = []
    times: Counter[str] = Counter()
    for part in parts:
        head = part.read_text().partition("\n")[0]
        times.update(head.removeprefix(SEARCHED).split())
        hits += read_hits(part)
    asked = set(queries)
    if wrong := sorted(query for query in asked | set(times) if times[query] != (query in asked)):
        raise ValueError(
            f"not searched exactly once: {len(wrong)} queries, the first is {wrong[0]} ({times[wrong[0]]} times)"
        )
    return sorted(hits, key=Hit.rank)
