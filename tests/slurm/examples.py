"""Small versions of the project's examples, run on a test's Slurm; each example checks its own results."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab

EXAMPLES = Path(__file__).parents[2] / "examples"
ALL_PARTS = """["01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12",
                  "13", "14", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24"]"""
SMALL = {
    "mosaic": {"MOSAIC_PITCH_PX: 900": "MOSAIC_PITCH_PX: 120"},
    "match": {
        "MATCH_VOLUME_MB: 4": "MATCH_VOLUME_MB: 0.1",
        "MATCH_QUERIES: 1800": "MATCH_QUERIES: 72",
        "MATCH_PARTS: 24": "MATCH_PARTS: 4",
        ALL_PARTS: ALL_PARTS[: ALL_PARTS.index(', "05"')] + "]",
    },
    "power": {"POWER_DAYS: 365": "POWER_DAYS: 48"},
}
RESULTS = {
    "mosaic": ("mosaic.npz", "mosaic.png", "check.json"),
    "match": ("hits.tsv", "match.png", "check.json"),
    "power": ("found.npz", "report.json", "power.png", "check.json"),
}
TASKS = {"mosaic": 62, "match": 14, "power": 42}


def example_flow(lab: SlurmLab, parent: Path, name: str) -> SlurmFlow:
    """Copy an example, scaled down, into its own directory."""
    text = (EXAMPLES / name / "workflow.yaml").read_text()
    for full, small in SMALL[name].items():
        assert full in text
        text = text.replace(full, small)
    ours = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), lab.environment()["PATH"]])}
    flow = SlurmFlow(lab, parent, text, ours)
    shutil.copytree(EXAMPLES / name / name, flow.directory / name, ignore=shutil.ignore_patterns("__pycache__"))
    return flow


def check_results(flow: SlurmFlow, name: str) -> dict[str, bytes]:
    """Assert that all tasks succeeded, including the example's own check; return the contents of the result files."""
    flow.check(tasks=TASKS[name])
    checked: dict[str, Any] = json.loads((flow.directory / "check.json").read_text())
    assert checked
    return {result: (flow.directory / result).read_bytes() for result in RESULTS[name]}
