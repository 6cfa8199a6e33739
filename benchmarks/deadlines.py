"""Is a stated chance true? `python -m benchmarks.deadlines`: `headway plan --deadline` against what then happened.

Workflows start at random moments of real logs, each at another. Each passes through imagined futures of the queue, from
which chances follow, and through what the log has after that moment. A chance of 90% is true if 90% of the workflows
were in time. The logs are those in the folder pwa-swf of HEADWAY_DATA, the workflows those in glume-dax. With `--out
FILE` each run is a line of that file, and a command that was stopped goes on after the last line.
"""

from __future__ import annotations

import argparse
import json
import os
from itertools import cycle
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headway.api.plan import FUTURES_FOR_A_CHANCE
from headway.api.queues import QueueSettings, jobs_from
from headway.drivers.assemble import plans
from headway.drivers.simulated import simulate
from headway.drivers.through_queue import Through, run_through
from headway.kernels.batch.queue import BatchQueue
from headway.model.instance import Instance
from headway.model.records import SeenWait
from headway.report.queue.through_queue import passage_of
from headway.simulation.batch import queue_of, seen_waits
from headway.simulation.futures import imagined_future
from headway.studies.runs import instance_of

LOGS = ("KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln", "CTC-SP2-1996-3.1-cln", "SDSC-DS-2004-2.1-cln")
WORKFLOWS = ("MONTAGE_50_360000", "SIPHT_50_360000", "GENOME_50_360000", "CYBERSHAKE_50_360000")
CHANCES = (0.5, 0.75, 0.9, 0.95)
PLAN = "headway"
MOST_JOBS = 16
DAY_S = 86_400.0


def makespan_s(instance: Instance, queue: BatchQueue, start_s: float, seen: tuple[SeenWait, ...]) -> float:
    """How long a workflow takes through a queue from now on."""
    run = run_through(instance, Through(plans()[PLAN], start_s, seen_waits=seen))
    simulate(queue, [run])
    return passage_of(PLAN, run.journal).makespan_s


class Ledger:
    """What each run found, by log, number of starts, seed and moment; kept in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self._known = {tuple(line["run"]): line["found"] for line in map(json.loads, lines)}

    def get(self, run: tuple[object, ...]) -> list[list[float]] | None:
        return self._known.get(run)

    def add(self, run: tuple[object, ...], found: list[list[float]]) -> None:
        self._known[run] = found
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps({"run": run, "found": found}) + "\n")


def kept_deadlines(log: Path, workflows: list[Instance], starts: int, seed: int, ledger: Ledger) -> NDArray[np.float64]:
    """For each run and each of the chances: the chance that is stated for such a deadline, and whether it was kept.

    A deadline with a chance of 90% is the shortest that is kept in at least 90% of the futures. Where many futures take
    the same time, more of them keep it, and the stated chance is higher.
    """
    settings = QueueSettings(skip_bad=True)
    found = jobs_from(str(log), settings)
    draw = np.random.default_rng([seed, len(found.jobs.submit_s)])
    last_s = float(found.jobs.submit_s.max())
    queue = queue_of(found.jobs, settings.scheduling(), MOST_JOBS)
    rows = []
    moments = sorted(draw.uniform(30 * DAY_S, last_s - 30 * DAY_S, starts).tolist())
    for start_s, instance in zip(moments, cycle(workflows), strict=False):
        run = (log.name, starts, seed, start_s)
        known = ledger.get(run)
        if known is not None:
            rows.append(known)
            continue
        queue.advance(start_s)
        seen = seen_waits(queue, found.jobs, unit=1)
        actual_s = makespan_s(instance, queue.clone(), start_s, seen)
        futures = (imagined_future(queue, found.jobs, number) for number in range(FUTURES_FOR_A_CHANCE))
        imagined_s = np.array([makespan_s(instance, future, start_s, seen) for future in futures])
        deadlines_s = np.quantile(imagined_s, CHANCES, method="inverted_cdf")
        rows.append([[float((imagined_s <= until).mean()), float(actual_s <= until)] for until in deadlines_s])
        ledger.add(run, rows[-1])
        took = f"{actual_s:.0f} s, deadlines {deadlines_s.round().astype(int).tolist()} s"
        print(f"{log.name} {start_s:.0f}: {took}, chances {[stated for stated, _ in rows[-1]]}", flush=True)
    return np.array(rows)


def main() -> None:
    """Print, for each chance, the mean of the stated chances and the share of the runs that were in time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=50, help="moments in each log")
    parser.add_argument("--logs", nargs="+", choices=LOGS, default=LOGS, metavar="LOG", help=", ".join(LOGS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, metavar="FILE", help="a line for each run, which is not made again")
    options = parser.parse_args()
    data = Path(os.environ["HEADWAY_DATA"])
    workflows = [instance_of(str(next(data.glob(f"glume-dax/{name}.dax*")))) for name in WORKFLOWS]
    logs = [next(data.glob(f"pwa-swf/{name}*")) for name in options.logs]
    ledger = Ledger(options.out)
    found = {log.name: kept_deadlines(log, workflows, options.starts, options.seed, ledger) for log in logs}
    found["all"] = np.concatenate(list(found.values()))
    print("\n| log | runs |" + "".join(f" {chance:.0%}: stated | kept |" for chance in CHANCES))
    print("|---|--:|" + "--:|--:|" * len(CHANCES))
    for name, rows in found.items():
        means = " | ".join(f"{stated:.1%} | {kept:.1%}" for stated, kept in rows.mean(axis=0))
        print(f"| {name.partition('.')[0]} | {len(rows)} | {means} |")


if __name__ == "__main__":
    main()
