"""`headway nextflow --on slurm`: the tasks of the example's pipeline in jobs of a real Slurm."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from tests import nextflow as real
from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab

EXAMPLE = Path(__file__).parents[2] / "examples" / "nextflow"
# As for Nextflow's own executor: the first tasks go to the partition that is the default, the last to another.
QUEUE = """
process.executor = 'slurm'
process.clusterOptions = '--mail-user=me@example.org'
process { withName: TOTAL { queue = 'main'; clusterOptions = '-p debug --comment total' } }
"""


def test_tasks_of_a_pipeline_share_jobs(slurm_of_session: SlurmLab, tmp_path: Path) -> None:
    if obstacle := real.get():
        pytest.skip(obstacle)
    slurm_of_session.tidy()
    flow = SlurmFlow(slurm_of_session, tmp_path)
    shutil.copytree(EXAMPLE, flow.directory, dirs_exist_ok=True)
    options = ("--on", "slurm", "--nodes", "whole", "--grace", "1s")
    (flow.directory / "nextflow.config").write_text(QUEUE)
    own = real.environment(tmp_path) | {"PATH": f"{real.launcher().parent}:{slurm_of_session.environment()['PATH']}"}
    flow.await_end(flow.start("nextflow", *options, "--", "run", "main.nf", **own))
    assert "primes below 1000000: 78498\n" in flow.output()
    assert set(flow.successes()) == {"SIEVE[0]", "SIEVE[250000]", "SIEVE[500000]", "SIEVE[750000]", "TOTAL[1]"}
    assert len(flow.submitted()) < len(flow.launches())
    assert flow.partitions() == {"SIEVE": {"main"}, "TOTAL": {"debug"}}
    said = flow.output()
    assert said.count("options of sbatch that have no effect: --mail-user;") == 1  # of four tasks
    assert said.count("options of sbatch that have no effect: --comment;") == 1
    flow.check_queue()


# Its last task needs more than it says. Slurm ends such a job with the task's wrapper, so that there is no exit code.
SIZES = """
process PART {
    memory '600 MB'
    input: val number
    output: path 'part.txt'
    script: "echo $number > part.txt; sleep 4"
}
process SUM {
    memory '100 MB'
    input: path 'part*.txt'
    output: path 'sum.txt'
    script: \"\"\"
    python3 -c 'import time; held = bytearray(100_000_000); time.sleep(5)'
    cat part*.txt | wc -l > sum.txt
    \"\"\"
}
workflow { SUM(PART(Channel.of(1, 2, 3)).collect()).view { 'the sum is ' + it.text } }
"""
OWN = """
process.executor = 'slurm'
executor { queueStatInterval = '1s'; pollInterval = '1s'; exitReadTimeout = '5s' }
trace { raw = true; fields = 'process,status,memory' }
"""


def test_nextflows_own_executor_asks_for_what_was_learned(slurm_of_session: SlurmLab, tmp_path: Path) -> None:
    if obstacle := real.get():
        pytest.skip(obstacle)
    slurm_of_session.tidy()
    flow = SlurmFlow(slurm_of_session, tmp_path)
    (flow.directory / "main.nf").write_text(SIZES)
    (flow.directory / "nextflow.config").write_text(OWN)
    own = real.environment(tmp_path) | {"PATH": f"{real.launcher().parent}:{slurm_of_session.environment()['PATH']}"}
    own["HEADWAY_HISTORY"] = str(tmp_path / "history.db")
    rows = []
    for name in ("first.txt", "second.txt"):
        words = ("nextflow", "--sizes-only", "--", "run", "main.nf", "-with-trace", name)
        flow.await_end(flow.start(*words, **own))
        with open(flow.directory / name, newline="") as file:
            rows.append(list(csv.DictReader(file, delimiter="\t")))
    assert flow.output().count("the sum is 3\n") == 2
    asked = [[int(row["memory"]) for row in run if row["process"] == "SUM"] for run in rows]
    assert asked[0] == [100 * 2**20, 200 * 2**20]  # although the pipeline allows no error
    assert [row["status"] for row in rows[1]] == 4 * ["COMPLETED"]
    first, second = (sum(int(row["memory"]) for row in run) for run in rows)
    assert second < first / 2
