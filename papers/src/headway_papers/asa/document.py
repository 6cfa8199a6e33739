"""The experiment as JSON."""

from __future__ import annotations

from typing import Any

from msgspec import structs, to_builtins

from headway_papers.asa.comparing import pairs_of, standing
from headway_papers.asa.experiment import Results
from headway_papers.asa.findings import findings
from headway_papers.asa.machines import MACHINES, QUEUES
from headway_papers.asa.published import TABLE_1, TABLE_2
from headway_papers.asa.shapes import stages
from headway_papers.asa.verdicts import skipped, verdicts_on


def document(results: Results) -> dict[str, Any]:
    """All figures, and each run."""
    alone = results.convergence
    return {
        "experiment": "asa",
        "seed": results.seed,
        "size": to_builtins(results.size),
        "verdicts": [{**structs.asdict(it), "passed": it.passed} for it in verdicts_on(results)],
        "skipped": skipped(results),
        "findings": list(findings(results)),
        "figure_5": {
            "recoveries": to_builtins(alone.recoveries),
            "bounds": [
                {**to_builtins(it), "last_regret": it.last.regret, "worst_regret": it.worst.regret}
                for it in alone.bounds
            ],
        },
        "stages": [
            {"workflow": workflow, "cores": cores, "stages": to_builtins(stages(workflow, cores, it.cores_of_node))}
            for (workflow, cores) in TABLE_1
            for it in MACHINES.values()
            if cores in it.cores
        ],
        "published": {
            "table_1": [
                {"workflow": workflow, "cores": cores, **to_builtins(row)} for (workflow, cores), row in TABLE_1.items()
            ],
            "table_2": [
                {"workflow": workflow, "cores": cores, **to_builtins(row)} for (workflow, cores), row in TABLE_2.items()
            ],
        },
        "loads": to_builtins(results.calibrated),
        "standings": [
            {"queue": queue, "machine": machine, **to_builtins(standing(pairs))}
            for queue in QUEUES
            for machine in MACHINES
            for pairs in pairs_of(
                [it for it in results.done if (it.unit.backfill, it.unit.machine) == (queue, machine)]
            )
        ],
        "units": to_builtins(results.done),
        "took_s": results.took_s,
        "full_s": results.full_s,
    }
