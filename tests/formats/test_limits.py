"""Amounts that no machine has are refused with a sentence, in little time and memory."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from headway.api.settings import read_settings
from headway.formats.read_any import read_instance
from headway.formats.read_batch_log import read_batch_log
from headway.formats.read_task_log import read_task_log
from headway.kernels.batch.queue import Scheduling
from headway.model.errors import InputError
from headway.model.limits import MOST_CORES, MOST_SECONDS
from headway.report.queue.clock import Clock
from headway.simulation.batch import queue_of
from headway.simulation.batch_jobs import Choices, jobs_of
from tests.formats.test_wfformat import specified


def job(number: int, *, run_s: float = 10, width: int = 4, asked_s: float = 20, at: float = 0) -> str:
    return f"{number} {at} 0 {run_s} {width} -1 -1 {width} {asked_s} -1 1 1 1 1 1 1 -1 -1\n"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (job(1, run_s=10**13), "the run time (field 4) is 10000000000000"),
        (job(1, width=2**31), "the number of processors allocated (field 5) is 2147483648"),
        (job(1, asked_s=1e12), "the requested time (field 9) is 1000000000000"),
        (job(1, at=1e13), "the submit time (field 2) is 10000000000000"),
    ],
)
def test_absurd_jobs(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "log.swf").write_text(line + job(2, at=1e13))
    with pytest.raises(InputError) as problem:
        read_batch_log(tmp_path / "log.swf")
    assert words in str(problem.value)
    assert "out of range" in str(problem.value)


def test_a_request_of_32_bits_means_no_limit(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(job(1, asked_s=2**31 - 1))
    assert read_batch_log(tmp_path / "log.swf").requested_s[0] == 2**31 - 1


def test_certain_nodes_of_a_huge_machine(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(job(1, width=MOST_CORES))
    log = read_batch_log(tmp_path / "log.swf")
    assert queue_of(jobs_of(log), Scheduling()).machine == MOST_CORES
    with pytest.raises(InputError, match="more than can be simulated"):
        queue_of(jobs_of(log), Scheduling(nodes="ids"))
    with pytest.raises(InputError, match="more than can be simulated"):
        jobs_of(log, Choices(machine=2**40))


def test_a_clock_without_an_end() -> None:
    assert Clock().words(1e15).startswith("day 11,574,074,074")
    assert Clock(started_at=1e9, dated=True).words(1e15).startswith("9999-12-")


@pytest.mark.parametrize("figures", ['"runtimeInSeconds": 2147483648', '"coreCount": 2147483648'])
def test_absurd_records(tmp_path: Path, figures: str) -> None:
    text = specified({"id": "t"}, tasks=[{"id": "t", "priority": 987}]).replace(b'"priority": 987', figures.encode())
    (tmp_path / "w.json").write_bytes(text)
    with pytest.raises(InputError, match="2147483648, which is out of range"):
        read_instance(tmp_path / "w.json")
    dax = f'<adag name="w"><job id="a" name="a" runtime="{2 * MOST_SECONDS}"/></adag>'
    (tmp_path / "w.dax").write_text(dax)
    with pytest.raises(InputError, match=r"run time of job 'a'.*out of range"):
        read_instance(tmp_path / "w.dax")


@pytest.mark.parametrize(
    "resource", ["cores: 2147483648", "memory: 5000 PB", "time: 200w 60000d", "gpus: 1e9", "nodes: 1e9", "licence: 1e9"]
)
def test_absurd_requests(tmp_path: Path, resource: str) -> None:
    (tmp_path / "w.yaml").write_text(f"name: w\ntasks: {{t: {{run: x, resources: {{{resource}}}}}}}\n")
    with pytest.raises(InputError, match=f"w.yaml:2: resource {resource.split(':', maxsplit=1)[0]!r} of task 't'"):
        read_instance(tmp_path / "w.yaml")


@pytest.mark.parametrize("name", ["w.json.gz", "w.dax.gz", "log.swf.gz", "trace.txt.gz"])
def test_a_small_file_that_unpacks_to_gigabytes(tmp_path: Path, name: str) -> None:
    bomb = tmp_path / name
    bomb.write_bytes(gzip.compress((b" " * 99_999 + b"\n") * 600, 9))
    read = {"log.swf.gz": read_batch_log, "trace.txt.gz": read_task_log}.get(name, read_instance)
    with pytest.raises(InputError, match="larger than 50 MB"):
        read(bomb)


def test_settings_of_thousands_of_digits(tmp_path: Path) -> None:
    settings = tmp_path / "headway.toml"
    settings.write_text(f"seed = {'9' * 4301}\n")
    with pytest.raises(InputError, match="a number in it is too long"):
        read_settings(settings)
    settings.write_text("seed = " + "[" * 100_000)
    with pytest.raises(InputError, match="nested too deeply"):
        read_settings(settings)
    settings.write_text("#" * 1_000_001)
    with pytest.raises(InputError, match="larger than 1 MB"):
        read_settings(settings)
