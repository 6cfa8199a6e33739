"""Runs the pipelines that Nextflow is tested with by `headway nextflow`, and those that fail by Nextflow itself.

`python -m tests.integrations.nextflow.published FOLDER [NAME…]`, where FOLDER is `tests` of a checkout of Nextflow's
sources in the version of the tests (`git clone --branch v25.04.4 …`). Each pipeline has a script of checks on its exit
code, output and messages. Pipelines that need Docker or a cloud are left out. Nothing of FOLDER is changed.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests import nextflow as real
from tests.slurm.lab import SlurmLab

_PATIENCE_S = 300
_ELSEWHERE = re.compile(r"-with-docker|s3://|fusion|https?://(?!www\.apache\.org)", re.IGNORECASE)
_SHOWN = 40  # last lines of checks that do not pass with Headway


def main() -> int:
    """Print one line for each pipeline, and how many behave the same; return 1 if one does not.

    Checks that pass with Headway need no comparison: they say how Nextflow behaves.
    """
    parser = argparse.ArgumentParser(description="Compare headway nextflow with Nextflow on Nextflow's own pipelines.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument(
        "--slurm", action="store_true", help="let Headway run the tasks in jobs of a Slurm of the tests"
    )
    given = parser.parse_args()
    if obstacle := real.get():
        sys.exit(obstacle)
    names = given.names or runnable(given.folder)
    same = 0
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nextflow-")))
        lab = stack.enter_context(SlurmLab()) if given.slurm else None
        for name in names:
            passes = checked(given.folder, name, home, lab, headway=True)
            alike = passes or not checked(given.folder, name, home, None, headway=False)
            same += alike
            print(f"{name}: {'passes' if passes else 'fails with Nextflow, too' if alike else 'fails'}", flush=True)
            if not alike:
                said = (home / "headway" / "tests" / "checks" / name / "checks.out").read_text().splitlines()
                print(*(f"    {line}" for line in said[-_SHOWN:]), sep="\n", flush=True)
    print(f"{same} of {len(names)} behave the same")
    return int(same < len(names))


def runnable(folder: Path) -> list[str]:
    """Return the pipelines that need neither Docker nor a network."""
    ignored = (folder / "checks" / ".IGNORE-DOCKER").read_text().split()
    found = []
    for checks in sorted((folder / "checks").glob("*.nf/.checks")):
        pipeline = folder / checks.parent.name
        texts = [file.read_text() for file in (checks, pipeline) if file.exists()]
        if pipeline.exists() and pipeline.name not in ignored and not any(map(_ELSEWHERE.search, texts)):
            found.append(pipeline.name)
    return found


def checked(folder: Path, name: str, home: Path, lab: SlurmLab | None, *, headway: bool) -> bool:
    """Run a pipeline's checks in a copy of the folder, and return whether they pass."""
    by = home / ("headway" if headway else "nextflow")
    if not by.exists():
        shutil.copytree(folder, by / "tests")
    own = real.environment(by) | {"NXF_SCRIPT": f"../../{name}", "HEADWAY_HISTORY": "none"}
    words = [str(real.launcher())]
    if headway:
        options = ["--on", "slurm", "--nodes", "whole"] if lab else []
        words = [
            sys.executable,
            "-P",
            "-m",
            "headway",
            "nextflow",
            "--nextflow",
            *words,
            "--grace",
            "1s",
            *options,
            "--",
        ]
    if lab:
        own |= lab.environment() | {"PATH": f"{own['PATH']}:{lab.environment()['PATH']}"}
    program = by / "nextflow"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    program.chmod(0o755)
    checks = by / "tests" / "checks"
    own |= {"NXF_CMD": str(program), "NXF_RUN": f"{program} -q run ../../{name}", "NXF_WORK": str(checks / "scratch")}
    with (checks / name / "checks.out").open("wb") as said:
        process = subprocess.Popen(
            ["bash", "-ex", ".checks"],
            cwd=checks / name,
            env=os.environ | own,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        try:
            return process.wait(_PATIENCE_S) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            return False


if __name__ == "__main__":
    sys.exit(main())
