"""Runs on a Slurm with a fast clock, with managers that use the fast time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.slurm.fast import FastSlurmLab
from tests.slurm.flows import SlurmFlow

ROOT = Path(__file__).parents[2]
# interval_s and timeout_s are in machine time, where 10 s are long. open_s and resubmit_s are in Slurm's fast time.
BATCH = {"interval_s": "0.3", "timeout_s": "120", "open_s": "36000", "resubmit_s": "3600"}


class FastFlow(SlurmFlow):
    """A workflow in its own directory, and a run of it; `EXECUTIONS` and other variables are as in `SlurmFlow`."""

    def __init__(
        self, lab: FastSlurmLab, parent: Path, workflow: str, environment: Mapping[str, str] | None = None
    ) -> None:
        path = {"PYTHONPATH": str(ROOT)}
        super().__init__(lab, parent, workflow, path | dict(environment or {}))
        self._clock = json.dumps(lab.clock())

    def begin_plan(self, plan: str, **options: object) -> subprocess.Popen[bytes]:
        """Start a run under a plan; `options` are those of `headway.drivers.run_settings.RunSettings`."""
        chosen = json.dumps({"cluster": "slurm", "plan": plan, "history": "none", "batch": BATCH, **options})
        return self.run([sys.executable, "-m", "tests.slurm.fast_run", self._clock, chosen])

    def resume(self) -> subprocess.Popen[bytes]:
        """Go on with the newest run."""
        chosen = json.dumps({"history": "none", "batch": BATCH})
        return self.run([sys.executable, "-m", "tests.slurm.fast_run", self._clock, chosen, "resume"])
