"""What the thesis says of its approaches, beside what ours did: each statement under each distribution of fractions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from headway.studies.paired import Interval
from headway_papers.rl.courses import BANDIT, DEFAULT, LOOP, OURS, Q
from headway_papers.rl.figures import ratio, totals
from headway_papers.rl.units import Done
from headway_papers.rl.worlds import FRACTIONS

CPU, EFFECTIVE, MEMORY, TIME = "cpu_hours", "effective_cpu_hours", "memory_gb_hours", "run_s"
WORDS = {CPU: "CPU hours", EFFECTIVE: "effective CPU hours", MEMORY: "memory GB·h", TIME: "run time"}


class Claim(Struct, frozen=True):
    """One approach against another: less or more of something, and by how much in the thesis, where it says so."""

    one: str
    other: str
    metric: str
    less: bool
    published: float | None = None  # the ratio

    @property
    def words(self) -> str:
        """For people."""
        return f"{self.one} against {self.other}: {'less' if self.less else 'more'} {WORDS[self.metric]}"


# The abstract, and section 5.2.1.
CLAIMS = (
    Claim(BANDIT, DEFAULT, CPU, True, 0.58),
    Claim(Q, DEFAULT, CPU, True, 0.93),
    Claim(LOOP, DEFAULT, CPU, True, 0.87),
    Claim(BANDIT, DEFAULT, MEMORY, True, 0.20),
    Claim(Q, DEFAULT, MEMORY, True, 0.69),
    Claim(LOOP, DEFAULT, MEMORY, True, 0.13),
    Claim(BANDIT, DEFAULT, TIME, False, 1.04),
    Claim(Q, DEFAULT, TIME, True, 0.93),
    Claim(LOOP, DEFAULT, TIME, True, 0.93),
    Claim(BANDIT, LOOP, CPU, True, 0.75),
    Claim(BANDIT, LOOP, TIME, False, 1.11),
    Claim(Q, LOOP, CPU, False),
    Claim(Q, LOOP, MEMORY, False),
    Claim(Q, LOOP, TIME, False, 1.0003),
    Claim(BANDIT, Q, MEMORY, True),
    Claim(LOOP, BANDIT, MEMORY, True),
    Claim(LOOP, DEFAULT, EFFECTIVE, False),
)
# What our default has to show.
BAR = (
    Claim(OURS, LOOP, MEMORY, True),
    Claim(OURS, LOOP, TIME, True),
    Claim(OURS, LOOP, CPU, True),
)


class Statement(Struct, frozen=True):
    """A claim and what was found, by distribution of fractions."""

    claim: Claim
    found: dict[str, Interval]

    @property
    def holds(self) -> list[bool]:
        """Under each distribution."""
        return [each.mean < 1 if self.claim.less else each.mean > 1 for each in self.found.values()]

    @property
    def held(self) -> bool:
        """Under all of them."""
        return bool(self.found) and all(self.holds)


def statements(done: Sequence[Done], requests: str, claims: Iterable[Claim] = CLAIMS) -> list[Statement]:
    """Each claim, under each distribution."""
    by_fractions = {fractions: totals(done, requests, fractions) for fractions in FRACTIONS}
    found = []
    for claim in claims:
        ratios = {
            fractions: ratio(claim.metric, own[claim.one].cells, own[claim.other].cells)
            for fractions, own in by_fractions.items()
            if claim.one in own and claim.other in own
        }
        found.append(Statement(claim, ratios))
    return found
