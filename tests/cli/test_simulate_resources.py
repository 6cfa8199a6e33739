"""`headway simulate` where memory and partitions limit jobs, too."""

from __future__ import annotations

import pytest

import headway
from tests.cli.bench import Bench

GIB = 1024 * 1024  # in KiB, as the log counts, and per processor
# Submission, run and request, nodes, used memory, requested memory, partition. Eight nodes.
JOBS = [(0, 100, 4, -1, GIB, 1), (10, 50, 2, -1, 3 * GIB, 2), (20, 60, 1, GIB, -1, 2), (30, 60, 2, -1, -1, 2)]


@pytest.fixture
def log(bench: Bench) -> str:
    lines = [
        f"{number} {submit} -1 {run} {nodes} -1 {used} {nodes} {run} {asked} 1 1 1 1 1 {partition} -1 -1"
        for number, (submit, run, nodes, used, asked, partition) in enumerate(JOBS, start=1)
    ]
    bench.write("; MaxProcs: 8\n" + "\n".join(lines) + "\n", "log.swf")
    return "log.swf"


def starts(bench: Bench, log: str, *args: str) -> list[int]:
    bench.succeeds("simulate", log, "--starts", "starts.csv", "--force", *args)
    return [int(line.rpartition(",")[2]) for line in (bench.directory / "starts.csv").read_text().splitlines()[1:]]


def test_jobs_wait_for_memory_and_for_nodes_of_their_partition(bench: Bench, log: str) -> None:
    """Job 2 wants 6 GiB beside the 4 of job 1; partition 2 has room for job 2, for job 3, or for job 4."""
    assert starts(bench, log) == [0, 10, 20, 60]
    for backfill in ("easy", "conservative"):
        assert starts(bench, log, "--machine-memory", "8GiB", "--backfill", backfill) == [0, 100, 20, 30]
    assert starts(bench, log, "--machine-memory", "8GiB", "--backfill", "fcfs") == [0, 100, 100, 100]
    assert starts(bench, log, "--partitions", "2=2") == [0, 10, 60, 120]
    assert starts(bench, log, "--partitions", "2=2,1=4", "--machine-memory", "8GiB") == [0, 100, 20, 150]


def test_the_answer_says_what_counted(bench: Bench, log: str) -> None:
    options = ("--machine-memory", "8GiB", "--partitions", "2=2")
    output = bench.succeeds("simulate", log, *options, COLUMNS="200")
    assert "requests as logged, memory of 8GiB, 2 nodes in partition 2\n" in output
    assert "\nin use    45% of memory by 3 jobs, 67% of partition 2 by 3 jobs\n" in output
    document = bench.json("simulate", log, *options)
    assert document["further"] == {"memory_bytes": 8 * 2**30, "partitions": {"2": 2}}
    assert document["resources"]["memory"] == {"utilisation": pytest.approx(760 / 8 / 210), "jobs": 3}
    path = bench.directory / log
    answer = headway.simulate(path, machine_memory="8GiB", partitions=("2=2",)).document()
    assert answer | {"trace": log} == document


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("--machine-memory 5GiB", "log.swf:3: job 2 wants 6.44 GB of memory, and the machine has 5.37 GB; state more"),
        ("--machine-memory much", "'much' is not an amount of memory or disk; write for example"),
        ("--partitions 7=3", "--partitions: no job of this log is in partition 7; it has 1, 2"),
        ("--partitions 2", "--partitions: '2' is not a partition's number with its nodes; write for example"),
        ("--partitions 2=0", "--partitions: '2=0' is not a partition's number with its nodes; write for example"),
        ("--partitions 2=2,2=3", "--partitions: partition 2 stands there twice; state it once"),
        ("--partitions 2=9", "--partitions: partition 2 cannot have 9 of the machine's 8 processors; state fewer"),
        (
            "--partitions 2=1",
            "log.swf:3: job 2 wants 2 processors, and partition 2 has 1; state more with --partitions",
        ),
        ("--partitions 2=2 --nodes ids", "--nodes: memory and partitions can be simulated only where nodes are"),
        ("--partitions 2=2 --workflow w.json", "--partitions: this is for the queue alone; leave it out"),
    ],
)
def test_a_mistake_is_one_sentence(bench: Bench, log: str, options: str, error: str) -> None:
    assert bench.fails(2, "simulate", log, *options.split()).startswith(f"headway: {error}")


def test_a_log_that_says_nothing_of_it(bench: Bench, log: str) -> None:
    assert "--machine-memory: this is for logs" in bench.fails(2, "simulate", "lublin", "--machine-memory", "1TB")
    bench.write("JobIDRaw|Submit|Start|End|AllocCPUS\n1|100|100|200|4\n", "sacct.txt")
    for option in ("--machine-memory=1TB", "--partitions=2=2"):
        error = bench.fails(2, "simulate", "sacct.txt", option)
        assert "no job of this log" in error
        assert "leave it out" in error


def test_jobs_that_are_too_large_can_be_left_out(bench: Bench, log: str) -> None:
    output = bench.succeeds("simulate", log, "--partitions", "2=1", "--skip-bad")
    assert "left out  2 (too large for partition 2)" in output
