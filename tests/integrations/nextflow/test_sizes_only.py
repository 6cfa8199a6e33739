"""`headway nextflow --sizes-only`: Nextflow's own local executor runs the tasks, with what earlier ones needed."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests import nextflow as real
from tests.integrations.nextflow.test_nextflow import Pipeline

Rows = list[dict[str, str]]


class Sized(Pipeline):
    """A directory in which a user runs pipelines with the executor that they had before."""

    def trace(self, name: str) -> Rows:
        """Run the pipeline, and return Nextflow's own trace of it."""
        words = ("run", "sizes.nf", "--out", str(self.directory), "-with-trace", name)
        fields = self.write(
            "trace { raw = true; fields = 'process,status,exit,memory,attempt,native_id' }\n", "f.config"
        )
        done = self.process("nextflow", "--sizes-only", "--", *words, "-c", str(fields))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "the sum is 3\n" in done.stdout
        with open(self.directory / name, newline="") as file:
            return list(csv.DictReader(file, delimiter="\t"))


@pytest.fixture(scope="module")
def sized(tmp_path_factory: pytest.TempPathFactory) -> Sized:
    if obstacle := real.get():
        pytest.skip(obstacle)
    return Sized(tmp_path_factory.mktemp("sizes"))


def test_the_second_run_asks_for_less_than_half_and_has_no_failure(sized: Sized) -> None:
    first, second = sized.trace("first.txt"), sized.trace("second.txt")
    asked = [[int(row["memory"]) for row in rows if row["process"] == "SUM"] for rows in (first, second)]
    assert asked[0] == [60 * 2**20, 120 * 2**20, 240 * 2**20]  # although the pipeline allows no error
    assert [row["status"] for row in second] == 4 * ["COMPLETED"]
    assert sum(int(row["memory"]) for row in second) < sum(int(row["memory"]) for row in first) / 2
    assert all(row["native_id"].isdecimal() for row in second)  # processes of Nextflow's own executor
    learned = {each["category"]: each for each in sized.json("history", "show", "commands")["categories"]}
    assert (learned["PART"]["observations"], learned["SUM"]["observations"], learned["SUM"]["failures"]) == (6, 4, 2)
    assert learned["SUM"]["memory_bytes"]["most"] > 150_000_000
    assert "0 tasks" in sized.succeeds("status")


def test_out_of_memory_does_not_use_up_the_pipelines_own_retries(sized: Sized) -> None:
    words = ("--", "run", "sizes.nf", "--broken", "--out", str(sized.directory))
    done = sized.process("nextflow", "--sizes-only", *words)
    assert done.returncode == 1
    assert "BROKEN ran out of memory with 50 MB; it gets 100 MB" in done.stdout
    tried = [line.split() for line in (sized.directory / "tried").read_text().splitlines()]
    assert [int(memory) >= 100 for memory, _ in tried] == [False, True, True]  # once for memory, once as it allows
    assert "terminated with an error exit status (3)" in done.stdout


def test_bad_input_gets_one_sentence(tmp_path: Path) -> None:
    if obstacle := real.get():
        pytest.skip(obstacle)
    said = Sized(tmp_path).fails(2, "nextflow", "--sizes-only", "--on", "slurm", "--", "run", "sizes.nf")
    assert "--on: with --sizes-only, Nextflow's own executor decides where tasks run" in said
