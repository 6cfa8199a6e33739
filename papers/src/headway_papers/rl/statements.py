"""What the thesis says of its approaches, and what is found here for each law by which cores make tasks faster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from headway.studies.paired import Interval
from headway_papers.frame.report import Verdict
from headway_papers.rl.courses import BANDIT, DEFAULT, LOOP, OURS, Q
from headway_papers.rl.figures import ratio, totals
from headway_papers.rl.units import AS_THESIS, REQUESTS, Done
from headway_papers.rl.worlds import AMDAHL, LAWS

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

    def allowed(self, usual: float = 1.0) -> float:
        """The greatest ratio with which the claim is kept: a claim of "only 4% slower" allows 4%."""
        return usual if self.less or self.published is None else self.published


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
# Under every law, also those that are not Amdahl's, ours is not worse by more than noise.
NOT_WORSE = tuple(Claim(OURS, other, metric, True) for metric in (CPU, MEMORY, TIME) for other in (LOOP, DEFAULT))
NOISE = 1.05


class Statement(Struct, frozen=True):
    """A claim and what was found, by law."""

    claim: Claim
    found: dict[str, Interval]

    @property
    def holds(self) -> list[bool]:
        """Whether the claim holds, for each law."""
        return self.holds_within(1.0)

    def holds_within(self, allowed: float) -> list[bool]:
        """Whether the claim holds for each law, if the ratio may be that large."""
        return [each.mean < allowed if self.claim.less else each.mean > 1 for each in self.found.values()]

    @property
    def held(self) -> bool:
        """Whether it holds for all of them."""
        return bool(self.found) and all(self.holds)


def statements(
    done: Sequence[Done], requests: str, claims: Iterable[Claim] = CLAIMS, laws: Iterable[str] = AMDAHL
) -> list[Statement]:
    """Each claim, with the ratio that was found for each law."""
    by_law = {law: totals(done, requests, law) for law in laws}
    found = []
    for claim in claims:
        ratios = {
            law: ratio(claim.metric, own[claim.one].cells, own[claim.other].cells)
            for law, own in by_law.items()
            if claim.one in own and claim.other in own
        }
        found.append(Statement(claim, ratios))
    return found


def verdicts_on(done: Sequence[Done]) -> list[Verdict]:
    """The nine claims of the thesis's abstract, our goals, and ours under every law."""
    found = [_verdict("claim of Zunker 2021: ", each) for each in statements(done, AS_THESIS, CLAIMS[:ABSTRACT])]
    for requests in REQUESTS:
        found += [_verdict(f"requests {requests}: ", each) for each in statements(done, requests, GOALS)]
    every_law = statements(done, AS_THESIS, NOT_WORSE, laws=LAWS)
    return found + [_verdict("under every law: ", each, needed=NOISE) for each in every_law]


def _verdict(whose: str, each: Statement, needed: float = 1.0) -> Verdict:
    """The worst of the laws decides."""
    claim = each.claim
    worst = max(interval.mean for interval in each.found.values())
    published = "" if claim.published is None else f"; the thesis: {claim.published:g}"
    by_law = ", ".join(f"{name} {interval.mean:.2f}" for name, interval in each.found.items())
    about = f"{whose}{claim.one}'s {WORDS[claim.metric]} against {claim.other}'s, at worst"
    return Verdict(about, worst, claim.allowed(needed), at_most=True, detail=f"{by_law}{published}")
