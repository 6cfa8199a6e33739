"""The mixture of wait models against each of its models and the best constant: `python -m benchmarks.wait_mixture`.

Each log of the Parallel Workloads Archive goes through a simulated queue (conservative backfilling). At every
submission the mixture is asked; its ticket has what each model answered. Without arguments the logs are those in the
folder pwa-swf of HEADWAY_DATA; name others as arguments. Curie takes about ten minutes, the others up to five each.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headway.api.queues import jobs_from
from headway.api.waits import WaitsSettings
from headway.simulation.wait_scores import Waits, waits_of
from headway.waiting.base import Shape
from headway.waiting.mixture import Mixture

MIXTURE = Mixture.name


def answers(waits: Waits) -> dict[str, NDArray[np.float64]]:
    """By model: the median at each submission, for the mixture ("90%") its 90% quantile, too.

    As in `headway waits`, a wait is learned at the first submission after the job's start.
    """
    model, jobs = Mixture(), waits.jobs
    shapes = list(map(Shape, jobs.nodes.tolist(), jobs.req_s.tolist(), waits.estimate_s.tolist()))
    starts_s = jobs.submit_s + waits.wait_s
    starting = np.argsort(starts_s, kind="stable").tolist()
    tickets = {}
    found: dict[str, list[float]] = {}
    told = 0
    for job, now_s in enumerate(jobs.submit_s.tolist()):
        while told < len(starting) and starts_s[starting[told]] < now_s:
            other = starting[told]
            model.observe(shapes[other], tickets.pop(other), float(waits.wait_s[other]))
            told += 1
        tickets[job] = model.predict(shapes[job]).ticket
        for key, answer_s in tickets[job].items():
            if key.endswith(" 0.5") or key == f"{MIXTURE} 0.9":
                found.setdefault(key.removesuffix(" 0.5").replace(" 0.9", " 90%"), []).append(float(answer_s))
    return {name: np.array(each) for name, each in found.items()}


def row(name: str, found: dict[str, NDArray[np.float64]], wait_s: NDArray[np.float64], mask: NDArray[np.bool_]) -> str:
    """One line of the table: the errors in hours over the jobs of the mask."""
    wait_s = wait_s[mask]
    errors_h = {
        model: float(np.abs(said[mask] - wait_s).mean()) / 3600 for model, said in found.items() if "%" not in model
    }
    mixed_h = errors_h.pop(MIXTURE)
    best = min(errors_h, key=errors_h.__getitem__)
    constant_h = float(np.abs(np.median(wait_s) - wait_s).mean()) / 3600
    held = float((wait_s <= found[f"{MIXTURE} 90%"][mask]).mean())
    figures = (f"{hours:.3f}" for hours in (mixed_h, errors_h[best], constant_h))
    ratios = (f"{mixed_h / hours:.3f}" for hours in (errors_h[best], constant_h))
    cells = (name, f"{len(wait_s):,}", *figures, best, *ratios, f"{held:.1%}")
    return "| " + " | ".join(cells) + " |"


def main(logs: Iterable[Path]) -> None:
    """Print two tables: over the jobs that have to wait by the scheduler's plan, and over all jobs."""
    head = "| log | jobs | mixture, h | best model, h | best constant, h | which model | of model | of constant | 90% |"
    print(head, "|---|--:|--:|--:|--:|---|--:|--:|--:|", sep="\n", flush=True)
    everyone = []
    for log in logs:
        asked = WaitsSettings(skip_bad=True)
        waits = waits_of(jobs_from(str(log), asked).jobs, asked.scheduling())
        found, name = answers(waits), log.name.split(".")[0].removesuffix("-2")
        print(row(name, found, waits.wait_s, waits.estimate_s > 0), flush=True)
        everyone.append(row(name, found, waits.wait_s, np.ones(len(waits.wait_s), bool)))
    print("\nAll jobs:\n", *everyone, sep="\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*", type=Path, metavar="LOG")
    chosen = parser.parse_args().logs
    data = os.environ.get("HEADWAY_DATA")
    if not chosen and not data:
        parser.error("name logs, or set HEADWAY_DATA to the folder that contains pwa-swf")
    main(chosen or sorted(Path(data or "", "pwa-swf").glob("*.swf.gz"), key=lambda path: path.stat().st_size))
