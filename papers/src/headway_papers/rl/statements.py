"""What the thesis says of its approaches, and what is found here for each distribution of fractions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from headway.studies.paired import Interval
from headway_papers.frame.report import Verdict
from headway_papers.rl.courses import BANDIT, DEFAULT, LOOP, OURS, Q
from headway_papers.rl.figures import ratio, totals
from headway_papers.rl.units import AS_THESIS, REQUESTS, Done
from headway_papers.rl.worlds import FRACTIONS

ABSTRACT = 9  # claims
CPU, EFFECTIVE, MEMORY, TIME = "cpu_hours", "effective_cpu_hours", "memory_gb_hours", "run_s"
WORDS = {CPU: "CPU hours", EFFECTIVE: "effective CPU hours", MEMORY: "memory GB·h", TIME: "run time"}


class Claim(Struct, frozen=True):
    """One approach needs less, or more, of something than another; and by how much in the thesis, where it says so."""

    one: str
    other: str
    metric: str
    less: bool
    published: float | None = None  # the ratio

    @property
    def words(self) -> str:
        """The claim in words."""
        return f"{self.one} against {self.other}: {'less' if self.less else 'more'} {WORDS[self.metric]}"


# The abstract (the first nine), and section 5.2.1.
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
GOALS = (
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
        """Whether the claim holds, for each distribution."""
        return [each.mean < 1 if self.claim.less else each.mean > 1 for each in self.found.values()]

    @property
    def held(self) -> bool:
        """Whether it holds for all of them."""
        return bool(self.found) and all(self.holds)


def statements(done: Sequence[Done], requests: str, claims: Iterable[Claim] = CLAIMS) -> list[Statement]:
    """Each claim, with the ratio that was found for each distribution."""
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


def verdicts_on(done: Sequence[Done]) -> list[Verdict]:
    """The nine claims of the thesis's abstract, with requests as in the thesis, and our goals for all requests."""
    found = [_verdict("claim of Zunker 2021: ", each) for each in statements(done, AS_THESIS, CLAIMS[:ABSTRACT])]
    for requests in REQUESTS:
        found += [_verdict(f"requests {requests}: ", each) for each in statements(done, requests, GOALS)]
    return found


def _verdict(whose: str, each: Statement) -> Verdict:
    """The worst of the three distributions decides. A claim of "only 4% slower" allows 4%."""
    claim = each.claim
    needed = 1.0 if claim.less or claim.published is None else claim.published
    worst = max(interval.mean for interval in each.found.values())
    published = "" if claim.published is None else f"; the thesis: {claim.published:g}"
    by_fractions = ", ".join(f"{name} {interval.mean:.2f}" for name, interval in each.found.items())
    about = f"{whose}{claim.one}'s {WORDS[claim.metric]} against {claim.other}'s, at worst"
    return Verdict(about, worst, needed, at_most=True, detail=f"{by_fractions}{published}")
