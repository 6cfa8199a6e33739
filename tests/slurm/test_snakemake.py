"""`snakemake --executor headway --headway-on slurm`: the example's commands in jobs of a real Slurm."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from headway.model.outcome import Ending
from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab

EXAMPLE = Path(__file__).parents[2] / "examples" / "snakemake"


def test_the_example_runs_in_few_jobs(slurm_of_session: SlurmLab, tmp_path: Path) -> None:
    slurm_of_session.tidy()
    flow = SlurmFlow(slurm_of_session, tmp_path)
    shutil.copytree(EXAMPLE, flow.directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
    # As a user would, from a virtual environment that is active.
    path = os.pathsep.join([str(Path(sys.executable).parent), slurm_of_session.environment()["PATH"]])
    options = ("--headway-on", "slurm", "--headway-fresh", "--headway-options", "--nodes whole --grace 1s")
    there = ("--set-resources", "estimate:slurm_partition=debug", "sieve:slurm_extra='--partition=main --comment=s'")
    words = ("--executor", "headway", "--cores", "8", *options, *there)
    flow.await_end(flow.run([sys.executable, "-m", "snakemake", *words], PATH=path))
    assert (flow.directory / "pi.txt").read_text().startswith("60792694 of the numbers up to 100000000")
    assert len(flow.submitted()) < len(flow.successes()) == 10
    endings = {outcome.ending for outcome in flow.outcomes()}
    assert endings == {Ending.SUCCESS, Ending.MEMORY}  # the request of `sieve` is too small
    assert flow.partitions() == {"ranges": {"main"}, "sieve": {"main"}, "estimate": {"debug"}}
    assert (tmp_path / "output").read_text().count("options of sbatch that have no effect: --comment;") == 1
    flow.check_queue()
