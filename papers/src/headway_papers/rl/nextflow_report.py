"""What the runs in a real Nextflow took: Figures 5.1 and 5.2, how it changed from run to run, and verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from msgspec import to_builtins

from headway.model.units import format_duration
from headway.studies.processes import cores
from headway_papers.frame.report import Report, Section, Verdict, verdicts_json
from headway_papers.rl.courses import RunFigures
from headway_papers.rl.figures import added, ratio
from headway_papers.rl.nextflow import APPROACHES, Courses
from headway_papers.rl.sections import pictures_of, statements_section, total_section
from headway_papers.rl.statements import ABSTRACT, CLAIMS, CPU, MEMORY, NOISE, NOT_WORSE, TIME, WORDS, Claim, Statement

_LAW = "measured"  # instead of a law by which cores make tasks faster
_PARTS = 4
# A table's title; for each group of its columns a title, the figure, and its unit in seconds or pieces.
_COURSES = (
    ("CPU and run time", (("CPU seconds", CPU, 3600.0), ("run time, s", TIME, 1.0))),
    ("memory and kills", (("memory, GB·s", MEMORY, 3600.0), ("killed", "killed", 1.0))),
)


def nextflow_report(courses: Courses) -> Report:
    """Everything to show."""
    counted = {name: added(list(courses.counted(name).values())) for name in APPROACHES}
    runs = f"runs {courses.first_counted} to {courses.runs}"
    pictures = pictures_of({"small.nf": counted}, APPROACHES)
    title = f"Figures 5.1 and 5.2, measured in Nextflow: {runs}"
    return Report(
        title="Zunker 2021 in a real Nextflow: a small pipeline repeated under each approach",
        about=f"{cores()} cores, {courses.runs} runs of each approach, in turns. Sums and verdicts are of {runs}; "
        "intervals are 95%, resampled by runs.",
        sections=[
            total_section(title, APPROACHES, list(counted.values()), seconds=True, pictures=pictures),
            *(_course(courses, about, groups) for about, groups in _COURSES),
            statements_section(
                f"The thesis's statements, measured in Nextflow: {runs}", _found(courses, CLAIMS), [_LAW]
            ),
        ],
        verdicts=_verdicts(courses),
        seed=courses.seed,
        ending=f"This took {format_duration(courses.took_s)}.",
    )


def nextflow_document(courses: Courses) -> dict[str, Any]:
    """The results as JSON."""
    return {
        "experiment": "rl-nextflow",
        "seed": courses.seed,
        "courses": to_builtins(courses.found),
        "verdicts": verdicts_json(_verdicts(courses)),
        "took_s": courses.took_s,
    }


def _course(courses: Courses, about: str, groups: Iterable[tuple[str, str, float]]) -> Section:
    """A row an approach; in the columns the means of the first, second, ... quarter of its runs."""
    ends = [round(courses.runs * part / _PARTS) for part in range(_PARTS + 1)]
    parts = [(begin + 1, end) for begin, end in pairwise(ends) if end > begin]
    heads = [("", "approach")]
    heads += [(group, f"{first}-{last}") for group, _, _ in groups for first, last in parts]
    rows = []
    for name in APPROACHES:
        runs = courses.of(name)
        means = [_mean(runs, metric, *part) * scale for _, metric, scale in groups for part in parts]
        rows.append([name, *(f"{mean:,.1f}" for mean in means)])
    return Section(f"Means a run over the course of runs: {about}", heads, rows)


def _mean(runs: dict[int, RunFigures], metric: str, first: int, last: int) -> float:
    return float(sum(getattr(runs[number], metric) for number in range(first, last + 1)) / (last + 1 - first))


def _found(courses: Courses, claims: Iterable[Claim]) -> list[Statement]:
    return [
        Statement(claim, {_LAW: ratio(claim.metric, courses.counted(claim.one), courses.counted(claim.other))})
        for claim in claims
    ]


def _verdicts(courses: Courses) -> list[Verdict]:
    """The nine claims of the thesis's abstract; ours is not worse than the loop and the default by more than noise."""
    claims = [_verdict("claim of Zunker 2021: ", each, 1.0) for each in _found(courses, CLAIMS[:ABSTRACT])]
    return claims + [_verdict("ours: ", each, NOISE) for each in _found(courses, NOT_WORSE)]


def _verdict(whose: str, each: Statement, needed: float) -> Verdict:
    claim, found = each.claim, each.found[_LAW]
    details = [] if found.low is None else [f"between {found.low:.2f} and {found.high:.2f}"]
    details += [] if claim.published is None else [f"the thesis: {claim.published:g}"]
    about = f"{whose}{claim.one}'s {WORDS[claim.metric]} against {claim.other}'s in Nextflow"
    return Verdict(about, found.mean, claim.allowed(needed), at_most=True, detail="; ".join(details))
