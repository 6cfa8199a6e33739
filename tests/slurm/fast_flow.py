"""Runs on a Slurm with a fast clock, whose managers live in its time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.slurm.fast import FastSlurmLab
from tests.slurm.flows import SlurmFlow

ROOT = Path(__file__).parents[2]
# Of the machine's time, where 10 s are long. Times without an answer are by Slurm's clock, and long ones.
BATCH = {"interval_s": "0.3", "timeout_s": "120", "open_s": "36000", "resubmit_s": "3600"}


class FastFlow(SlurmFlow):
    """A workflow in a directory of its own, and a run of it; `EXECUTIONS` and other variables are as in `SlurmFlow`."""

    def __init__(
        self, lab: FastSlurmLab, place: Path, workflow: str, environment: Mapping[str, str] | None = None
    ) -> None:
        path = {"PYTHONPATH": str(ROOT)}
        super().__init__(lab, place, workflow, path | dict(environment or {}))
        self._clock = json.dumps(lab.clock())

    def begin_plan(self, plan: str, **options: object) -> subprocess.Popen[bytes]:
        """Begin a run under a plan; `options` are those of `headway.drivers.run_settings.RunSettings`."""
        chosen = json.dumps({"cluster": "slurm", "plan": plan, "history": "none", "batch": BATCH, **options})
        return self.run([sys.executable, "-m", "tests.slurm.fast_run", self._clock, chosen])
