"""Waits in the queue of a real Slurm, by what its queue shows: `python -m benchmarks.real_waits [--every DAYS] [FILE]`.

FILE has the columns of graham_2021.csv.gz, which is the default: folder drac-slurm-waits of HEADWAY_DATA; its SOURCE.md
says where it is from. At noon of each day every job that was submitted that day and still waits is asked about: how
much longer will it wait? That is the question of Popa and Alain 2023 (Mila), who trained neural networks on these
records. A model has learned only jobs that had started by then. The first week is not scored.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headway.model.records import Figure
from headway.waiting.base import Shape, WaitModel
from headway.waiting.corrected_estimate import CorrectedEstimate
from headway.waiting.mixture import Mixture
from headway.waiting.queue_trees import QueueTrees

DAY_S, NOON_S, WARM_UP_DAYS = 86_400, 43_200, 7
SHARES = (0.5, 0.9)
REQUEST = {"cores": "req_cpus", "memory": "req_mem_total", "gpus": "req_gpus", "nodes": "req_nodes"}
WORDS = {"queue": "partition_id", "account": "account_id"}
ALIKE = {
    "queue": ("partition_id",),
    "account": ("account_id",),
    "account in queue": ("account_id", "partition_id"),
    "equal": ("account_id", "partition_id", "time_limit_sec", "req_cpus", "req_mem_total", "req_gpus"),
}
# Not known at noon: how long waiting jobs will run. The priority in the accounting may be that at the start.
NOT_KNOWN = ("q_core_run_hours",)
Column = NDArray[np.float64]


def read(path: Path) -> dict[str, Column]:
    """The columns of the table, in the order of submission; a number that is missing or infinite is -1."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: float(row["submit_epoch"]))
    names = [name for name in rows[0] if name != "state"]
    table = {name: np.array([float(row[name] or "nan") for row in rows]) for name in names}
    return {name: np.nan_to_num(column, nan=-1.0, posinf=-1.0) for name, column in table.items()}


def turns(table: dict[str, Column]) -> dict[str, Column]:
    """Of each job how many waiting jobs came before it, and these per job that started in the day before.

    Those of its account, of its partition, of both, and of equal requests of its account. As a queue shows it at noon:
    jobs count that were submitted by then and had not started; numbers of jobs follow their submissions.
    """
    found: dict[str, Column] = {}
    noons = table["submit_epoch"] // DAY_S * DAY_S + NOON_S
    starts = table["submit_epoch"] + table["start_after_s"]
    for name, columns in ALIKE.items():
        alike = np.unique(np.stack([table[column] for column in columns], axis=1), axis=0, return_inverse=True)[1]
        alike = alike.ravel()
        ahead, started = np.zeros(len(starts)), np.zeros(len(starts))
        for noon in np.unique(noons):
            asked = np.flatnonzero(noons == noon)
            waiting = np.flatnonzero((table["submit_epoch"] < noon) & (starts >= noon))
            waiting = waiting[np.lexsort((table["job_id"][waiting], alike[waiting]))]
            first = np.searchsorted(alike[waiting], alike[waiting])
            place = np.zeros(len(starts))
            place[waiting] = np.arange(waiting.size) - first
            ahead[asked] = place[asked]
            lately = np.bincount(alike[(starts < noon) & (starts >= noon - DAY_S)], minlength=alike.max() + 1)
            started[asked] = lately[alike[asked]]
        found |= {f"{name} ahead": ahead, f"{name} turns": ahead / (started + 1.0)}
    return found


def shapes(table: dict[str, Column], known: str) -> list[Shape]:
    """What is known of each job at noon: the request, the request and the clock, or these and the queue."""
    cores, limit_s = table["req_cpus"].astype(int).tolist(), table["time_limit_sec"].tolist()
    if known == "request":
        return list(map(Shape, cores, limit_s))
    submit_s = table["submit_epoch"]
    columns = {name: table[column] for name, column in REQUEST.items()}
    columns |= {"hour": submit_s % DAY_S // 3600, "weekday": submit_s // DAY_S % 7}
    if known == "queue":
        columns["waited"] = table["poll_after_s"] - table["eligible_after_s"]
        of_queue = [name for name in table if name.startswith(("q_", "r_")) and name not in NOT_KNOWN]
        columns |= {name: table[name] for name in (*of_queue, "level_fs_poll")} | turns(table)
    words = {name: table[column].astype(int).astype(str).tolist() for name, column in WORDS.items()}
    each = (columns[name].tolist() for name in columns) if columns else ()
    names = [*columns, *words]
    return [
        Shape(nodes, asked_s, seen=dict(zip(names, values, strict=True)))
        for nodes, asked_s, *values in zip(cores, limit_s, *each, *words.values(), strict=True)
    ]


def ask(model: WaitModel, jobs: Sequence[Shape], table: dict[str, Column], every: int) -> NDArray[np.float64]:
    """For each job that is asked about the median and the 90% quantile of its remaining wait; for others nan."""
    days = table["submit_epoch"] // DAY_S
    starts = table["submit_epoch"] + table["start_after_s"]
    left_s = (table["start_after_s"] - table["poll_after_s"]).tolist()
    starting = np.argsort(starts, kind="stable").tolist()
    tickets: dict[int, dict[str, Figure]] = {}
    found = np.full((len(jobs), 2), np.nan)
    told = 0
    for number, day in enumerate(np.unique(days)):
        while told < len(starting) and starts[starting[told]] < day * DAY_S + NOON_S:
            job = starting[told]
            model.observe(jobs[job], tickets.pop(job, {}), left_s[job])
            told += 1
        if number % every:
            continue
        for job in np.flatnonzero(days == day).tolist():
            if isinstance(model, Mixture):
                tickets[job] = model.predict(jobs[job]).ticket
                answers_s = [float(tickets[job][f"{model.name} {share:g}"]) for share in SHARES]
            else:
                answers_s = model.quantiles(jobs[job], SHARES)
            if number >= WARM_UP_DAYS:
                found[job] = answers_s
    return found


def within(said_s: Column, true_s: Column, factor: float) -> float:
    """The share of answers within a factor of the truth."""
    ratio = np.maximum(said_s, 1.0) / np.maximum(true_s, 1.0)
    return float((np.maximum(ratio, 1.0 / ratio) <= factor).mean())


def main(path: Path, every: int, models: Sequence[str]) -> None:
    """Print a table."""
    table = read(path)
    left_s, passed_s = table["start_after_s"] - table["poll_after_s"], table["poll_after_s"]
    print("| model | knows | jobs | within 2 | within 3 | whole wait within 2 | mean error / mean | 90% holds |")
    print("|---|---|--:|--:|--:|--:|--:|--:|", flush=True)
    for name, known, make in (
        (CorrectedEstimate.name, "request", CorrectedEstimate),
        (QueueTrees.name, "queue", QueueTrees),
        (QueueTrees.name, "clock", QueueTrees),
        (Mixture.name, "queue", Mixture),
    ):
        if name not in models:
            continue
        found = ask(make(), shapes(table, known), table, every)
        asked = ~np.isnan(found[:, 0])
        said_s, true_s = found[asked, 0], left_s[asked]
        whole = within(said_s + passed_s[asked], true_s + passed_s[asked], 2.0)
        shares = (within(said_s, true_s, 2.0), within(said_s, true_s, 3.0), whole)
        error = float(np.abs(said_s - true_s).mean() / true_s.mean())
        held = float((true_s <= found[asked, 1]).mean())
        cells = (name, known, f"{asked.sum():,}", *(f"{share:.1%}" for share in shares), f"{error:.2f}", f"{held:.1%}")
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE")
    parser.add_argument("--every", type=int, default=1, metavar="DAYS", help="ask on every DAYS-th day only; faster")
    all_models = (CorrectedEstimate.name, QueueTrees.name, Mixture.name)
    parser.add_argument("--models", nargs="+", default=all_models, choices=all_models, metavar="NAME")
    chosen = parser.parse_args()
    data = os.environ.get("HEADWAY_DATA")
    if chosen.file is None and not data:
        parser.error("name a FILE, or set HEADWAY_DATA to the folder that contains drac-slurm-waits")
    main(chosen.file or Path(data or "", "drac-slurm-waits", "graham_2021.csv.gz"), max(1, chosen.every), chosen.models)
