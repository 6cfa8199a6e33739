"""The study's report, and its results as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import to_builtins

from headway.model.units import format_duration
from headway.report.words import count
from headway_papers.frame.report import Report, verdicts_json
from headway_papers.rl.courses import BANDIT, COUNTED, DEFAULT, LOOP, Q
from headway_papers.rl.figures import as_dict, by_pipeline, totals
from headway_papers.rl.sections import sections
from headway_papers.rl.statements import (
    CLAIMS,
    CPU,
    EFFECTIVE,
    GOALS,
    NOT_WORSE,
    TIME,
    Claim,
    Statement,
    statements,
    verdicts_on,
)
from headway_papers.rl.study import Results
from headway_papers.rl.units import AS_THESIS, AS_TRACED, REQUESTS
from headway_papers.rl.worlds import AMDAHL, LAWS, OVERHEAD


def report(results: Results) -> Report:
    """Everything to show."""
    asked = results.asked
    missing = "".join(f" {sentence}." for sentence in results.found.missing)
    return Report(
        title="Zunker 2021 run again: reinforcement learning sizes tasks, and ours",
        about=f"32 cores, 125 GB, five pipelines, {count(asked.worlds, 'world')} each, seed {asked.seed}; the last "
        f"{COUNTED} runs of each approach count. Intervals are 95%, resampled by worlds and pipelines.{missing}",
        sections=list(sections(results)),
        verdicts=verdicts_on(results.done),
        seed=asked.seed,
        findings=list(findings(results)),
        ending=f"This took {format_duration(results.took_s)}.",
    )


def document(results: Results) -> dict[str, Any]:
    """All figures, and each course, as JSON."""
    return {
        "experiment": "rl",
        "seed": results.asked.seed,
        "worlds": results.asked.worlds,
        "missing": results.found.missing,
        "totals": [
            {
                "requests": requests,
                "law": law,
                "approach": name,
                **as_dict(total.figures),
                "pipelines": {pipeline: as_dict(each) for pipeline, each in by_pipeline(total).items()},
            }
            for requests in REQUESTS
            for law in LAWS
            for name, total in totals(results.done, requests, law).items()
        ],
        "verdicts": verdicts_json(verdicts_on(results.done)),
        **{
            key: [_statement(it, each) for it in REQUESTS for each in statements(results.done, it, claims)]
            for key, claims in (("statements", CLAIMS), ("bar", GOALS))
        },
        "every_law": [
            _statement(AS_THESIS, each) for each in statements(results.done, AS_THESIS, NOT_WORSE, laws=LAWS)
        ],
        "findings": list(findings(results)),
        "courses": [to_builtins(done) for done in results.done],
        "took_s": results.took_s,
    }


def _statement(requests: str, each: Statement) -> dict[str, Any]:
    return {
        "requests": requests,
        "about": each.claim.words,
        **to_builtins(each.claim),
        "found": to_builtins(each.found),
        "holds": dict(zip(each.found, each.holds, strict=True)),
        "held": each.held,
    }


# Why a statement of the thesis does not hold here, where it does not.
_REASONS: dict[tuple[str, str, str], str] = {
    (
        BANDIT,
        DEFAULT,
        TIME,
    ): "the default's generous memory keeps tasks from running side by side here, so that smaller requests are faster",
    (BANDIT, LOOP, CPU): "by Amdahl's law the cores that a serial task keeps busy on the whole machine are few, so the "
    "loop gives it one or two; the bandit is no lower than what it draws",
    (BANDIT, LOOP, TIME): "the loop gives serial tasks so few cores that it loses the lead",
    (LOOP, DEFAULT, CPU): "work that is mostly parallel keeps most of 32 cores busy in training, and is given as many",
    (Q, LOOP, CPU): "where work is mostly parallel the loop gives as many cores as were busy on the whole machine, the "
    "agent at most twice the request",
    (LOOP, DEFAULT, TIME): "the loop gives serial tasks fewer cores than the developers do",
}


def findings(results: Results) -> Iterator[str]:
    """Where we agree with the thesis, where not, and why: sentences made from the figures."""
    for requests in (AS_THESIS, AS_TRACED):
        found = statements(results.done, requests)
        held = [each for each in found if each.held]
        yield (
            f"Requests {requests}: {len(held)} of {len(found)} statements of the thesis hold under all three "
            f"distributions of fractions, {sum(any(each.holds) for each in found)} under one of them or more."
        )
        if requests == AS_THESIS:
            yield from (_difference(each) for each in found if not each.held)
    yield from _memory(results)
    yield _effective(results)
    yield (
        f"Effective CPU hours grow with cores because splitting work costs {100 * OVERHEAD:.0f}% more work a core in "
        "this model; without that Amdahl's law keeps them the same for all, and the loop could not use more."
    )
    yield (
        "The thesis's gigabyte hours cannot be compared: 15,000 saved in 50 runs of at most 40 minutes would be more "
        "than a machine of 125 GB has in that time (4,200). Ratios can."
    )
    yield from _goals(results)
    yield (
        "Nothing is wrong with the loop where programs keep all cores busy: it gives what was busy, and all were. Only "
        "run times with different cores tell that they did not help."
    )


def _difference(each: Statement) -> str:
    said = ", ".join(f"{100 * (found.mean - 1):+.0f}% {name}" for name, found in each.found.items())
    claim = each.claim
    reason = _REASONS.get((claim.one, claim.other, claim.metric), "")
    published = f" (the thesis: {100 * (claim.published - 1):+.0f}%)" if claim.published else ""
    return f"Not so here: {claim.words}{published}; ours {said}{'; ' + reason if reason else ''}."


def _memory(results: Results) -> Iterator[str]:
    """How much of its memory the default uses: what there is to gain."""
    shares = []
    for requests in (AS_THESIS, AS_TRACED):
        found = [totals(results.done, requests, law)[DEFAULT].figures for law in AMDAHL]
        mean = sum(each.memory_use for each in found) / len(found)
        weighted = sum(each.used_gb_hours for each in found) / sum(each.memory_gb_hours for each in found)
        shares.append(
            f"{requests} {100 * mean:.0f}% of a task's memory and {100 * weighted:.0f}% of all gigabyte hours"
        )
    yield (
        f"With requests {' and '.join(shares)} are used under the default (the thesis: 5% of a task's). A memory "
        "bandit is fined two chunks for a kill with one chunk, and nine for nine unused ones: where a tenth of the "
        "request is not enough, it learns to be killed. Hence it gains where requests are generous, and loses "
        "where they are not. The same goes for Q-learning: where half of a request is often not enough, it pays for "
        "kills with time and memory, and its smallest step saves nothing."
    )


def _effective(results: Results) -> str:
    claims = [Claim(name, DEFAULT, EFFECTIVE, False) for name in (BANDIT, Q)]
    found = [
        interval.mean - 1 for each in statements(results.done, AS_THESIS, claims) for interval in each.found.values()
    ]
    return (
        f"Effective CPU hours of bandit and Q-learning are {100 * min(found):+.1f} to {100 * max(found):+.1f}% off "
        "the default's, requests as in the thesis: they remain constant, as the thesis says of all but the loop."
    )


def _goals(results: Results) -> Iterator[str]:
    for requests in (AS_THESIS, AS_TRACED):
        for name in dict.fromkeys(claim.one for claim in GOALS):
            own = statements(results.done, requests, _goals_of(name))
            passed = [all(holds) for holds in zip(*(each.holds for each in own), strict=True)]
            words = ", ".join(f"{law} {'yes' if good else 'NO'}" for law, good in zip(AMDAHL, passed, strict=True))
            what = " and ".join(
                "less memory" if claim.metric != TIME else "no longer run time" for claim in _goals_of(name)
            )
            yield f"Requests {requests}: {name} with {what} than the feedback loop: {words}."


def _goals_of(name: str) -> list[Claim]:
    return [claim for claim in GOALS if claim.one == name and claim.metric not in (CPU, EFFECTIVE)]
