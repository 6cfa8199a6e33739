"""One command a stage of the workflow: ``python3 -m power STAGE ...`` (see workflow.yaml)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from power import check, combine, cores, flaws, household, meter, one_pass, report, weather
from power.clean import Counts, clean
from power.describe import Summary, describe
from power.explain import Finding, explain
from power.period import CHUNKS, Period, neighbourhood
from power.readings import Readings
from power.truth import Truth, faults

PERIOD = Period.from_environment()


def write_json(path: str, content: object) -> None:
    Path(path).write_text(json.dumps(content, indent=1) + "\n")


def read_json(path: str) -> Any:
    return json.loads(Path(path).read_text())


def chunk_files(folder: str, suffix: str = "npz") -> list[Path]:
    return [Path(folder, f"{name}.{suffix}") for name in CHUNKS]


def make_household(values: str, outdoor: str, truth: str) -> None:
    """Make the household that is going to be metered."""
    made, hourly_c = household.simulate(Truth(), PERIOD)
    np.save(values, made)
    weather.save(Path(outdoor), hourly_c)
    write_json(truth, asdict(Truth()) | {"faults": [asdict(fault) for fault in faults(PERIOD)]})


def write_log(name: str, values: str, log: str) -> None:
    """Write down a chunk of what its meter shows."""
    made = np.load(values, mmap_mode="r")
    Path(log).write_text(meter.log(made, PERIOD.chunk(name), flaws.plan(PERIOD)))


def clean_all(logs: str, cleaned: str, counted: str) -> None:
    """Sequential 1: one reading a minute, in order, without the impossible, short gaps filled."""
    counts = Counts()
    Path(cleaned).mkdir(exist_ok=True)
    for name in CHUNKS:
        readings = clean(Path(logs, f"{name}.txt").read_bytes(), PERIOD.chunk(name), counts)
        readings.save(Path(cleaned, f"{name}.npz"))
    write_json(counted, asdict(counts))


def load_near(name: str, cleaned: str) -> Readings:
    """A chunk with a day of each neighbour."""
    files = [Path(cleaned, f"{part}.npz") for part in neighbourhood(name)]
    return Readings.load_all(files).cut(PERIOD.with_neighbours(name))


def describe_chunk(name: str, cleaned: str, outdoor: str, summary: str) -> None:
    """Parallel 1: a chunk's sums."""
    readings, hourly_c = load_near(name, cleaned), weather.load(Path(outdoor))
    describe(PERIOD.chunk(name), readings, PERIOD, hourly_c, cores.given()).save(Path(summary))


def combine_all(described: str, merged: str, model: str) -> None:
    """Sequential 2: the whole period's sums, and the model that follows."""
    summaries = [Summary.load(path) for path in chunk_files(described)]
    combine.merge(summaries).save(Path(merged))
    write_json(model, combine.model(summaries, PERIOD))


def explain_chunk(name: str, cleaned: str, outdoor: str, model: str, into: str) -> None:
    """Parallel 2: a chunk against the model."""
    readings, hourly_c = load_near(name, cleaned), weather.load(Path(outdoor))
    summary, found = explain(PERIOD.chunk(name), readings, PERIOD, hourly_c, read_json(model), cores.given())
    summary.save(Path(f"{into}.npz"))
    write_json(f"{into}.json", [asdict(finding) for finding in found])


def report_all(explained: str, model: str, found: str, report_file: str) -> None:
    """Sequential 3: the household's numbers, and what was wrong in it."""
    parts = [Summary.load(path) for path in chunk_files(explained)]
    findings = [Finding(**row) for path in chunk_files(explained, "json") for row in json.loads(path.read_text())]
    combine.merge(parts).save(Path(found))
    numbers = report.parameters(parts, read_json(model), PERIOD)
    write_json(report_file, {"parameters": numbers, "findings": [asdict(f) for f in report.join(findings)]})


def compare(cleaned: str, counted: str, merged: str, found: str, report_file: str, verdict: str) -> None:
    """Fail unless the truth was found; the verdict is written only if it was."""
    content, sums = read_json(report_file), Summary.load(Path(found))
    comparisons = check.compare(content["parameters"], Truth(), sums, PERIOD)
    allowed = check.allowed_score(len(comparisons))
    for c in comparisons:
        print(f"{c.name:36} {c.found:12.6g} (true: {c.true:10.6g}, error {c.error:8.2g}) {c.score:+6.2f}")
    readings, findings = Readings.load_all(chunk_files(cleaned)), [Finding(**row) for row in content["findings"]]
    apart = one_pass.differences(Summary.load(Path(merged)), readings, PERIOD)
    wrong = check.complaints(comparisons, sums)
    wrong += check.fault_complaints(findings, faults(PERIOD))
    wrong += check.coverage_complaints(sums, readings, findings, PERIOD)
    wrong += check.cleaning_complaints(Counts(**read_json(counted)), flaws.plan(PERIOD), PERIOD)
    wrong += [f"{name}: merged and one pass differ by {d:.2g}" for name, d in apart.items() if d > one_pass.ROUNDING]
    worst = max(abs(c.score) for c in comparisons)
    print(f"{len(comparisons)} numbers, the worst {worst:.2f} standard errors off (at most {allowed:.2f} allowed)")
    print(f"{len(findings)} things found wrong; parallel against one pass: {max(apart.values()):.1g}")
    if wrong:
        sys.exit("\n".join(["this is not the household that was metered:", *wrong]))
    numbers = check.as_table(comparisons)
    write_json(verdict, {"allowed_score": allowed, "worst_score": worst, "one_pass": apart, "parameters": numbers})


def paint(cleaned: str, outdoor: str, merged: str, model: str, found: str, report_file: str, png: str) -> None:
    """A year at a glance."""
    from power import picture

    readings, hourly_c = Readings.load_all(chunk_files(cleaned)), weather.load(Path(outdoor))
    sums, content = Summary.load(Path(merged)), read_json(report_file)
    canvas = picture.paint(readings, hourly_c, sums, Summary.load(Path(found)), read_json(model), content, PERIOD)
    canvas.save(Path(png))


STAGES: dict[str, Callable[..., None]] = {
    "household": make_household,
    "meter": write_log,
    "clean": clean_all,
    "describe": describe_chunk,
    "combine": combine_all,
    "explain": explain_chunk,
    "report": report_all,
    "check": compare,
    "picture": paint,
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in STAGES:
        sys.exit(f"usage: python3 -m power {{{','.join(STAGES)}}} ...")
    STAGES[sys.argv[1]](*sys.argv[2:])
