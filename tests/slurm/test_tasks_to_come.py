"""Tasks that become known while a run on a real Slurm goes on, whose managers are killed."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

from headway.journal.folder import Project
from headway.model.records import Finish
from tests.kills import add as count_kills
from tests.slurm.flows import PATIENCE_S, SlurmFlow
from tests.slurm.lab import SlurmLab

WORKFLOW = """
name: growing
tasks:
  split:
    run: echo split >> "$EXECUTIONS"; mkdir parts; for i in $(seq TASKS); do echo $i > parts/$i; done
    outputs: parts
  work:
    each: {files: "parts/{n}", from: split}
    run: echo "work[{n}]" >> "$EXECUTIONS"; expr $(cat {inputs}) + 10 > {outputs}
    inputs: "parts/{n}"
    outputs: "made/{n}"
  total:
    run: echo total >> "$EXECUTIONS"; xargs cat < {inputs.list} | sort -n > {outputs}
    inputs: {from: work}
    outputs: total
"""


def killed(slurm: SlurmLab, parent: Path, tasks: int, kills: int, seed: int = 1) -> int:
    """Run the workflow on Slurm, kill its managers so often, resume it, and check that each task ran once.

    Returns how many managers were killed: fewer if the run ends early.
    """
    flow = SlurmFlow(slurm, parent, WORKFLOW.replace("TASKS", str(tasks)))
    draw, died = random.Random(seed), 0
    while True:
        begun = Project(flow.directory).runs()
        manager = flow.start("resume") if begun else flow.begin()
        try:
            code = manager.wait(draw.uniform(1.0, 5.0) if died < kills else PATIENCE_S)
        except subprocess.TimeoutExpired:
            manager.send_signal(signal.SIGKILL)
            manager.wait(60)
            died += count_kills()
            time.sleep(0.1)
            if any(isinstance(record, Finish) for record in flow.records()):
                break  # the run had ended, although its manager had not
            continue
        assert code == 0, flow.output()
        break
    assert flow.total() == "".join(f"{number + 10}\n" for number in range(1, tasks + 1))
    flow.check(tasks + 2)
    assert len(flow.executed()) == tasks + 2
    assert set(flow.executed().values()) == {1}
    return died


def test_tasks_become_known_on_slurm(slurm: SlurmLab, tmp_path: Path) -> None:
    assert killed(slurm, tmp_path, tasks=60, kills=3)
