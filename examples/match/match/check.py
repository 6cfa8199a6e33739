"""Is it right? We know which queries were copied, from where, and that the others are random."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from match.hits import Hit
from match.made import Planted

CERTAIN = 0.85  # planted queries of at least this similarity must be found
OVERLAP = 0.8  # a query is found if this share of the bases in the hit or the copied piece is in both
PROMISED_AT = (10.0, 1.0, 0.1, 0.01)  # E-values at which hits of random queries are counted
# The error of E that follows from an error of lambda of about 1 %, at scores twenty points above those of the fit.
FIT_ERROR = 0.25
SIGMAS = 4
LEAST = 0.2  # the smallest share of the expected hits; words of eleven bases find 0.3 to 0.4 of them: see README.md


@dataclass(frozen=True)
class Report:
    """How many planted queries were found, and how many hits random queries have and should have."""

    planted: int
    found: int
    certain: int
    certain_found: int
    random_queries: int
    random_hits: dict[float, int]  # by E-value: hits that have at most that
    faults: list[str]


def is_found(planted: Planted, best: Hit | None) -> bool:
    """The query's best hit is the entry it was copied from, at the right place."""
    if best is None or best.entry != planted.entry:
        return False
    both = min(best.entry_end, planted.end) - max(best.entry_start, planted.start)
    either = max(best.entry_end, planted.end) - min(best.entry_start, planted.start)
    return both >= OVERLAP * either


def best_hits(hits: Iterable[Hit]) -> dict[str, Hit]:
    """Each query's best; ``hits`` need not be ranked."""
    best: dict[str, Hit] = {}
    for hit in hits:
        if hit.query not in best or hit.rank() < best[hit.query].rank():
            best[hit.query] = hit
    return best


def check(hits: list[Hit], planted: list[Planted], queries: Iterable[str]) -> Report:
    """Compares the table with the truth; ``faults`` is empty if it is right."""
    faults = []
    if hits != sorted(hits, key=Hit.rank):
        faults.append("the table is not ranked by E-value")
    best = best_hits(hits)
    found = {each.query for each in planted if is_found(each, best.get(each.query))}
    certain = [each for each in planted if each.similarity >= CERTAIN]
    if missing := [each for each in certain if each.query not in found]:
        faults.append(
            f"{len(missing)} of {len(certain)} queries of at least {CERTAIN:.0%} similarity were not found where they "
            f"were copied from; the first is {missing[0].query}, from {missing[0].entry} at {missing[0].start}"
        )
    random = set(queries) - {each.query for each in planted}
    evalues = [hit.evalue for hit in hits if hit.query in random]
    counts = {at: sum(evalue <= at for evalue in evalues) for at in PROMISED_AT}
    for at, count in counts.items():
        promised = at * len(random)
        if count > promised * (1 + FIT_ERROR) + SIGMAS * math.sqrt(promised):
            faults.append(
                f"random queries have {count} hits of an E-value of at most {at:g}, which promises {promised:g}"
            )
    most, promised = counts[PROMISED_AT[0]], PROMISED_AT[0] * len(random)
    if most < LEAST * promised - SIGMAS * math.sqrt(promised):
        faults.append(
            f"random queries have only {most} hits of an E-value of at most {PROMISED_AT[0]:g}, not {promised:g}"
        )
    return Report(
        planted=len(planted),
        found=len(found),
        certain=len(certain),
        certain_found=sum(each.query in found for each in certain),
        random_queries=len(random),
        random_hits=counts,
        faults=faults,
    )
