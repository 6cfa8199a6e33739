"""`python -m tests.gpu`: GPUs as they really are, on a machine that has one. Run by hand; it needs `nvidia-ml-py`.

A workflow of small programs, which use CUDA's driver alone, is run by `headway run`. The command prints a line for
each thing that must hold, then what `headway usage` and `headway why` say, and ends with 1 if one does not hold.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
GIB = 2**30
HELD_GIB = 24
CONTEXT_BYTES = 0.6 * GIB  # what CUDA itself takes for each process: half a gigabyte on an H200
WITHIN = 0.05

WORKFLOW = """
name: real-gpu
tasks:
  hold:
    run: PYTHON PROGRAM hold HELD 0.5
    resources: {gpus: 1}
  half:
    each: {n: [1, 2]}
    run: PYTHON PROGRAM hold 4 2; echo $CUDA_VISIBLE_DEVICES > half-{n}
    outputs: ["half-{n}"]
    resources: {gpus: 0.5}
  none:
    run: PYTHON PROGRAM count > none
    outputs: [none]
  one:
    run: PYTHON PROGRAM count > one
    outputs: [one]
    resources: {gpus: 1}
  idle:
    run: sleep 2
    resources: {gpus: 1}
  fill:
    run: PYTHON PROGRAM fill
    resources: {gpus: 1}
    retries: 3
"""
TORCH = """
  torch:
    run: PYTHON -c "import torch; kept = [torch.empty(2**33, device='cuda') for _ in range(99)]"
    resources: {gpus: 1, memory: 8 GB}
    retries: 3
"""


class Checks:
    """Prints what holds and what does not."""

    def __init__(self) -> None:
        self.failed = 0

    def that(self, what: str, holds: bool, found: object = "") -> None:
        """Print a line about one thing."""
        self.failed += not holds
        print(f"{'holds' if holds else 'FAILS'}  {what}{f': {found}' if found != '' else ''}", flush=True)


def headway(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Headway in the workflow's directory."""
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "HEADWAY_HISTORY": str(directory / "history.db")}
    command = [sys.executable, "-m", "headway", *words]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


def check(directory: Path, checks: Checks, *, with_torch: bool) -> None:
    """Run the workflow and look at what is known of it."""
    text = WORKFLOW + (TORCH if with_torch else "")
    program = Path(__file__).with_name("program.py")
    text = text.replace("PYTHON", sys.executable).replace("PROGRAM", str(program)).replace("HELD", str(HELD_GIB))
    (directory / "workflow.yaml").write_text(text)
    done = headway(directory, "run", "--keep-going")
    print(done.stdout, done.stderr, flush=True)
    tasks: dict[str, Any] = {}
    for task in ("hold", "half[1]", "idle", "fill", *(["torch"] if with_torch else [])):
        answer = headway(directory, "why", task, "--json")
        tasks[task] = json.loads(answer.stdout)["attempts"]
    last = {task: attempts[-1] for task, attempts in tasks.items()}

    def memory(task: str) -> float:
        value: float = last[task]["used"].get("gpu_memory_bytes", {"value": -1.0})["value"]
        return value

    def said(name: str) -> str:
        path = directory / name
        return path.read_text().strip() if path.exists() else "nothing"

    least, most = HELD_GIB * GIB, HELD_GIB * GIB + CONTEXT_BYTES
    is_near = least * (1 - WITHIN) <= memory("hold") <= most * (1 + WITHIN)
    checks.that(f"{HELD_GIB} GiB held for 0.5 s are measured within 5%", is_near, f"{memory('hold') / GIB:.2f} GiB")
    is_near = 4 * GIB <= memory("half[1]") <= (4 * GIB + CONTEXT_BYTES) * (1 + WITHIN)
    checks.that("of two that share a GPU, each is measured alone", is_near, f"{memory('half[1]') / GIB:.2f} GiB")
    halves = [said("half-1"), said("half-2")]
    checks.that("two halves can have the same GPU, by its UUID", halves[0].startswith(("GPU-", "MIG-")), halves)
    seen = [said("none"), said("one")]
    checks.that("a task without gpus sees none, one with a GPU sees one", seen == ["0", "1"], seen)
    checks.that("a task that never uses its GPU is measured so", memory("idle") == 0, memory("idle"))
    checks.that("and named at the end of the run", "idle never used its GPUs" in done.stdout)
    for task in ("fill", "torch")[: 1 + with_torch]:
        ending, message = last[task]["ending"], last[task]["message"]
        checks.that(f"{task} ran out of GPU memory and is named so", ending == "gpu-memory", message)
        checks.that(f"{task} is not tried again, since there is no larger GPU", len(tasks[task]) == 1)
    print(headway(directory, "usage").stdout, headway(directory, "why", "hold").stdout, flush=True)


def main() -> int:
    """Check all and return the exit code."""
    if importlib.util.find_spec("pynvml") is None:
        print("the package nvidia-ml-py is missing: pip install nvidia-ml-py")
        return 3
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="headway-gpu-") as folder:
        check(Path(folder), checks, with_torch=importlib.util.find_spec("torch") is not None)
    print("all holds" if not checks.failed else f"{checks.failed} do not hold")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
