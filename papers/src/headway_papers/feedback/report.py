"""The study's report, and its results as JSON."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from headway.model.units import format_duration
from headway_papers.feedback.differences import differences
from headway_papers.feedback.entrants import EVERY_ORDER, FIRST_GUESS, PUBLISHED_ORDERS, TTFS, is_published
from headway_papers.feedback.figures import (
    METRICS,
    cases_of,
    dominators,
    group_means,
    order_wins,
    pair_wins,
    spread,
)
from headway_papers.feedback.sections import FIGURE_3, sections
from headway_papers.feedback.statements import statements
from headway_papers.feedback.study import FULL, Results
from headway_papers.feedback.verdicts import OURS, lead, verdicts_on
from headway_papers.frame.report import Report, verdicts_json


def report(results: Results) -> Report:
    """Everything to show."""
    cases = cases_of(results.done)
    scenarios = sum(len(done.rows) for done in results.done)
    ending = f"This took {format_duration(results.took_s)}."
    if results.workflows < FULL:
        ending += f" --full, with {FULL} workflows a family, would take about {format_duration(results.full_s)} here;"
        ending += " with --out it can be interrupted and continued."
    return Report(
        title="Witt et al. 2019 run again: feedback between order and prediction, and ours",
        about=f"{results.workflows} workflows of 1,000 tasks of each of five families, {scenarios:,} scenarios in a "
        f"pool of 128 cores and 1,952 GB; predictors start with the estimate {FIRST_GUESS}. Seed {results.seed}; "
        "intervals are 95%, resampled by workflow.",
        sections=list(sections(cases, results.seed)),
        verdicts=verdicts_on(cases),
        seed=results.seed,
        statements=list(statements(cases)),
        findings=[*differences(cases), *lead(cases)],
        ending=ending,
    )


def document(results: Results) -> dict[str, Any]:
    """All figures, and each scenario, as JSON."""
    cases = cases_of(results.done)
    by_ttf = {ttf: [case for case in cases if case.ttf == ttf] for ttf in TTFS}
    return {
        "experiment": "feedback",
        "seed": results.seed,
        "workflows_a_family": results.workflows,
        "default": {"order": OURS[0], "sizer": OURS[1]},
        "verdicts": verdicts_json(verdicts_on(cases)),
        "statements": to_builtins(list(statements(cases))),
        "differences": list(differences(cases)),
        "lead": lead(cases),
        "figure_3": [
            to_builtins(spread(cases, name, EVERY_ORDER if name == OURS[1] else PUBLISHED_ORDERS)) for name in FIGURE_3
        ],
        "figure_4": [
            {"ttf": ttf, "metric": metric, "order": order, "workflows": count}
            for ttf, there in by_ttf.items()
            for metric in METRICS
            for order, count in order_wins(there, metric).items()
        ],
        **{
            figure: [
                {"ttf": ttf, "metric": metric, "order": order, "predictor": name, "workflows": count}
                for ttf, there in by_ttf.items()
                for metric in METRICS
                for (order, name), count in pair_wins(there, metric, worst=worst).most_common()
            ]
            for figure, worst in (("figure_5", False), ("figure_7", True))
        },
        "groups": [
            {
                "family": family,
                "ttf": ttf,
                "dominated_by": [
                    {"order": pair[0], "predictor": pair[1]} for pair in dominators(means, OURS, is_published)
                ],
                "combinations": [
                    {"order": order, "predictor": name, "maq": quality, "days": length}
                    for (order, name), (quality, length) in means.items()
                ],
            }
            for (family, ttf), means in group_means(cases).items()
        ],
        "scenarios": to_builtins(results.done),
        "took_s": results.took_s,
        "full_s": results.full_s,
    }
