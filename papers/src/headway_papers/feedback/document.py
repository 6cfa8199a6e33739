"""The experiment as JSON."""

from __future__ import annotations

from typing import Any

from msgspec import structs, to_builtins

from headway_papers.feedback.bar import OURS, lead, verdicts_on
from headway_papers.feedback.differences import differences
from headway_papers.feedback.entrants import EVERY_ORDER, PUBLISHED_ORDERS, TTFS, is_published
from headway_papers.feedback.experiment import Results
from headway_papers.feedback.figures import (
    METRICS,
    dominators,
    group_means,
    order_wins,
    pair_wins,
    places_of,
    spread,
)
from headway_papers.feedback.sections import FIGURE_3
from headway_papers.feedback.statements import statements


def document(results: Results) -> dict[str, Any]:
    """All figures, and each scenario."""
    places = places_of(results.done)
    by_ttf = {ttf: [place for place in places if place.ttf == ttf] for ttf in TTFS}
    return {
        "experiment": "feedback",
        "seed": results.seed,
        "workflows_a_family": results.workflows,
        "default": {"order": OURS[0], "sizer": OURS[1]},
        "verdicts": [{**structs.asdict(it), "passed": it.passed} for it in verdicts_on(places)],
        "statements": to_builtins(list(statements(places))),
        "differences": list(differences(places)),
        "lead": lead(places),
        "figure_3": [
            to_builtins(spread(places, name, EVERY_ORDER if name == OURS[1] else PUBLISHED_ORDERS)) for name in FIGURE_3
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
            for (family, ttf), means in group_means(places).items()
        ],
        "scenarios": to_builtins(results.done),
        "took_s": results.took_s,
        "full_s": results.full_s,
    }
