"""The experiment as JSON."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from headway_papers.rl.experiment import Results
from headway_papers.rl.figures import as_dict, by_pipeline, totals
from headway_papers.rl.findings import findings
from headway_papers.rl.statements import BAR, CLAIMS, Statement, statements
from headway_papers.rl.units import REQUESTS
from headway_papers.rl.worlds import FRACTIONS


def document(results: Results) -> dict[str, Any]:
    """All figures: what the tables show, and each course."""
    return {
        "experiment": "rl",
        "seed": results.asked.seed,
        "worlds": results.asked.worlds,
        "missing": results.found.missing,
        "totals": [
            {
                "requests": requests,
                "fractions": fractions,
                "approach": name,
                **as_dict(total.figures),
                "pipelines": {pipeline: as_dict(each) for pipeline, each in by_pipeline(total).items()},
            }
            for requests in REQUESTS
            for fractions in FRACTIONS
            for name, total in totals(results.done, requests, fractions).items()
        ],
        "statements": [_statement(requests, each) for requests in REQUESTS for each in _all(results, requests, CLAIMS)],
        "bar": [_statement(requests, each) for requests in REQUESTS for each in _all(results, requests, BAR)],
        "findings": list(findings(results)),
        "courses": [to_builtins(done) for done in results.done],
        "took_s": results.took_s,
    }


def _all(results: Results, requests: str, claims: Any) -> list[Statement]:
    return statements(results.done, requests, claims)


def _statement(requests: str, each: Statement) -> dict[str, Any]:
    return {
        "requests": requests,
        "about": each.claim.words,
        **to_builtins(each.claim),
        "found": to_builtins(each.found),
        "holds": dict(zip(each.found, each.holds, strict=True)),
        "held": each.held,
    }
