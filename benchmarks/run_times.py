"""Replay the run times of every task log in HEADWAY_DATA with `ladder`, Lotaru and mean + 2 sigma: docs/run-times.md.

`python -m benchmarks.run_times`
"""

from __future__ import annotations

import csv
import datetime
import gzip
import math
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy

from benchmarks.failures import FOLDERS
from headway.formats.read_task_log import read_task_log
from headway.model.errors import InputError
from headway.model.task_log import LoggedTask
from headway.simulation.replay_times import RULES, TimeCost, TimeReplay, as_asked

PAGE = Path(__file__).parents[1] / "docs" / "run-times.md"
TABLES = re.compile(r"(<!-- table: python -m benchmarks.run_times -->\n).*(<!-- end -->)", re.DOTALL)
# The same tasks as in other logs, or one run time for all.
LEFT_OUT = re.compile(r"_(greedy|exhaust|max-seen|max-xput|min-waste)\.|_txn\.|series|_phase_")
TOLERATED = 0.03
FEWEST = 100  # tasks of a log whose coverage is counted
SHORT_S = 900.0


def main() -> None:
    data = Path(os.environ["HEADWAY_DATA"])
    found: dict[str, dict[str, TimeCost]] = {}
    for name, tasks in read_logs(data):
        print(f"{name}: {len(tasks):,} tasks", flush=True)
        found[name] = {rule: TimeReplay(rule, TOLERATED).over(tasks) for rule in RULES}
        if (asked := as_asked(tasks)) is not None:
            found[name]["asked"] = asked
    lines = [f"`python -m benchmarks.run_times`, {datetime.date.today()}:", "", "### Coverage", "", *coverage(found)]
    lines += ["", "### Requests", "", *requests(found), "", "### Waits of batch queues", "", *waits(data)]
    PAGE.write_text(TABLES.sub(lambda match: match[1] + "\n".join(lines) + "\n" + match[2], PAGE.read_text()))


def read_logs(data: Path) -> Iterator[tuple[str, list[LoggedTask]]]:
    """Read the logs with run times, each set of tasks once."""
    for folder in FOLDERS:
        for path in sorted((data / folder).glob("*.gz")):
            if LEFT_OUT.search(path.name):
                continue
            try:
                yield f"{folder.partition('-')[0]}: {path.name.partition('.')[0]}", read_task_log(path).tasks
            except InputError as problem:
                print(f"left out: {problem}")
    yield from lotaru_logs(data / "lotaru-traces" / "lotaru_traces_all.csv.gz")


def lotaru_logs(path: Path) -> Iterator[tuple[str, list[LoggedTask]]]:
    """The traces of Lotaru's authors by machine, small inputs first as in the file."""
    logs: dict[str, list[LoggedTask]] = defaultdict(list)
    with gzip.open(path, "rt") as file:
        for number, row in enumerate(csv.DictReader(file)):
            category, seconds = f"{row['Workflow']}/{row['Task']}", float(row["Realtime"]) / 1000
            size = int(float(row["TaskInputSizeUncompressed"] or 0)) or None
            logs[row["trace_dir"]].append(LoggedTask(str(number), category, seconds, {}, input_bytes=size))
    for machine, tasks in sorted(logs.items()):
        yield f"lotaru: {machine}", tasks


def coverage(found: Mapping[str, Mapping[str, TimeCost]]) -> Iterator[str]:
    yield "| log | tasks | ladder 50% | 90% | 95% | lotaru 50% | 90% | 95% | mean + 2 sigma 50% | 90% | 95% |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for name, costs in found.items():
        shares = [f"{share:.1%}" for rule in RULES for share in costs[rule].coverage().values()]
        yield f"| {name} | {costs['ladder'].tasks:,} | {' | '.join(shares)} |"
    enough = [costs for costs in found.values() if costs["ladder"].tasks >= FEWEST]
    off = {rule: [abs(costs[rule].coverage()[0.9] - 0.9) for costs in enough] for rule in RULES}
    inside = {rule: sum(each <= 0.03 for each in errors) for rule, errors in off.items()}
    said = ", ".join(f"`{rule}` on {inside[rule]} (mean error {sum(off[rule]) / len(enough):.1%})" for rule in RULES)
    yield f"\nOf the {len(enough)} logs with at least {FEWEST} tasks, 87 to 93% end within the 90% quantile: {said}."


def requests(found: Mapping[str, Mapping[str, TimeCost]]) -> Iterator[str]:
    heads = [f"{rule}: delay h | lost h | time-outs" for rule in ("ladder", "lotaru", "mean + 2 sigma")]
    yield f"| log | used h | {' | '.join(heads)} | asked: delay h |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    logarithms: dict[str, list[float]] = defaultdict(list)
    for name, costs in found.items():
        cells = [f"| {name} | {hours(costs['ladder'].used_s)}"]
        for rule in RULES:
            cost = costs[rule]
            logarithms[rule].append(math.log(cost.delay_s / costs["ladder"].delay_s))
            known = cost.known_timeouts / cost.known_attempts if cost.known_attempts else 0.0
            cells.append(f"{hours(cost.delay_s)} | {hours(cost.lost_s)} | {cost.timeouts:,} ({known:.1%})")
        cells.append(hours(costs["asked"].delay_s) if "asked" in costs else "")
        yield " | ".join(cells) + " |"
    means = {rule: math.exp(sum(each) / len(each)) for rule, each in logarithms.items()}
    said = ", ".join(f"`{rule}` {mean:.2f}" for rule, mean in means.items() if rule != "ladder")
    yield f"\nDelay over that of `ladder`, geometric mean: {said}."


def hours(seconds: float) -> str:
    value = seconds / 3600
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def waits(data: Path) -> Iterator[str]:
    """How long jobs wait that are at most as wide as half of all jobs, by the time that they ask for."""
    yield "| log | jobs | mean wait of requests up to 15 min | seconds of waiting for a second asked for |"
    yield "|---|--:|--:|--:|"
    for path in sorted((data / "pwa-swf").glob("*.gz")):
        with gzip.open(path, "rt", errors="replace") as file:
            jobs = numpy.array([[float(x) for x in line.split()[:9]] for line in file if line.strip()[:1].isdigit()])
        width = numpy.where(jobs[:, 7] > 0, jobs[:, 7], jobs[:, 4])
        waited, asked = jobs[:, 2], jobs[:, 8]
        # Requests of more than two days are set to a queue's limit, not by the user.
        usable = (waited >= 0) & (asked > 0) & (asked <= 2 * 86_400) & (width > 0)
        small = usable & (width <= numpy.median(width[usable]))
        slope = numpy.polyfit(asked[small], waited[small], 1)[0]
        short = waited[small & (asked <= SHORT_S)].mean()
        yield f"| {path.name.partition('.')[0]} | {small.sum():,} | {short / 60:.0f} min | {slope:.2f} |"


if __name__ == "__main__":
    main()
