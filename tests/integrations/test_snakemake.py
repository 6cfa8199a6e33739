"""`snakemake --executor headway` with the real Snakemake: few runs, which many tests look at."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.bench import PATIENCE_S, Bench, Done

SOURCES = Path(__file__).with_name("snakemake")
SNAKEMAKE = (sys.executable, "-m", "snakemake", "--cores", "2")
OURS = ("--executor", "headway", "--headway-options", "--memory 2GB --disk 1GB --grace 1s")


class Flow:
    """A directory with the workflow."""

    def __init__(self, home: Path) -> None:
        self.bench = Bench(home / "work", home)
        self.directory = self.bench.directory
        for source in (SOURCES / "Snakefile", SOURCES / "describe.py"):
            shutil.copy(source, self.directory)

    def __call__(self, *words: str) -> Done:
        return subprocess.run([*SNAKEMAKE, *words], **self._settings(), timeout=PATIENCE_S, check=False)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen([*SNAKEMAKE, *words], **self._settings(), start_new_session=True)

    def _settings(self) -> dict[str, Any]:
        return {
            "cwd": self.directory,
            "env": self.bench.environment,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "text": True,
        }

    def text(self, name: str) -> str:
        return (self.directory / name).read_text()

    def wait_for_line(self, line: str, times: int) -> None:
        """Wait until the commands have noted this line so often."""
        path = self.directory / "executed"
        self.bench.wait_for(lambda: path.exists() and path.read_text().count(line) == times, line)

    def rows(self) -> dict[str, dict[str, Any]]:
        """What the last run used, by rule."""
        return {row["category"]: row for row in self.bench.json("usage")["rows"]}

    def processes(self) -> list[str]:
        """What works in the directory."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if Path(os.readlink(process / "cwd")).is_relative_to(self.directory):
                    found.append((process / "cmdline").read_text())
            except OSError:
                continue
        return found


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Flow:
    return Flow(tmp_path_factory.mktemp("snakemake"))


@pytest.fixture(scope="module")
def first(flow: Flow) -> tuple[str, dict[str, dict[str, Any]]]:
    """The first run: what it says, and what its rules used."""
    done = flow(*OURS)
    assert done.returncode == 0, done.stdout
    return done.stdout, flow.rows()


def test_the_results_are_those_of_the_rules(first: object, flow: Flow) -> None:
    assert flow.text("sum.txt") == "14\n"
    assert [flow.text(f"squares/{n}.txt") for n in (1, 2, 3)] == ["2 1\n", "2 4\n", "2 9\n"]  # threads: two cores
    total, shown, enforced = flow.text("summed.txt").split()
    assert (total, shown) == ("14", enforced)
    assert flow.text("piped.txt") == "1000\n"
    assert flow.processes() == []


def test_what_a_command_reads_is_what_it_may_use(first: tuple[str, object], flow: Flow) -> None:
    """Also after it ran out of memory, without what the attempt before had written."""
    (line,) = flow.text("grown.txt").splitlines()
    shown, half, enforced, literal = line.split()
    assert shown == enforced
    assert int(half) == int(shown) // 2
    assert literal == "{cores}"  # meant by the rule, and nothing that Headway fills in
    said, _ = first
    amounts = re.findall(r"\(grow\) ran out of memory with (\S+ MB); it is run again with (\S+ MB)", said)
    assert amounts[0][0] == "30 MB" and amounts[-1][1] == f"{shown} MB"
    assert "Error in rule" not in said


def test_scripts_read_the_same_amounts(first: object, flow: Flow) -> None:
    memory, threads = flow.text("described.txt").split()
    assert (int(memory), threads) == (1000, "1")  # half of the memory, since nothing is known


def test_benchmarks_have_what_headway_measured(first: tuple[str, dict[str, dict[str, Any]]], flow: Flow) -> None:
    header, figures = (line.split("\t") for line in flow.text("grown.tsv").splitlines())
    mebibytes = float(figures[header.index("max_rss")])
    assert mebibytes == pytest.approx(first[1]["grow"]["memory_most_bytes"] / 2**20, abs=0.01)
    assert mebibytes > 75


def test_tasks_are_called_like_jobs(first: tuple[str, dict[str, dict[str, Any]]], flow: Flow) -> None:
    rules = {"grow", "split", "square", "gather", "describe", "summed", "read+write"}  # a local rule is Snakemake's
    assert first[1].keys() == rules
    assert flow.text("stayed.txt") == "here\n"
    assert flow.bench.json("why", "square[n=2]")["state"] == "succeeded"


def test_the_next_run_asks_for_less_than_half_and_nothing_fails(
    first: tuple[str, dict[str, dict[str, Any]]], flow: Flow
) -> None:
    assert "Nothing to be done" in flow(*OURS).stdout  # other amounts are no reason to run again
    done = flow(*OURS, "--forceall", "sum.txt", "described.txt")
    assert done.returncode == 0
    assert "ran out of" not in done.stdout
    again = flow.rows()
    assert all(row["succeeded"] == row["attempts"] for row in again.values())
    asked = [
        sum(rows[rule]["memory_asked_bytes"] * rows[rule]["tasks"] for rule in again) for rows in (first[1], again)
    ]
    assert asked[1] < asked[0] / 2


def test_errors_are_snakemakes_own(flow: Flow, first: object) -> None:
    """And a rule for which there is no room fails with a sentence."""
    ours = flow(*OURS, "--keep-going", "wrong.txt", "killed.txt", "huge.txt")
    theirs = flow("--keep-going", "wrong.txt", "killed.txt")
    assert ours.returncode == theirs.returncode == 1
    for message in (
        "so it goes",
        "exit 42' returned non-zero exit status 42.",
        "kill -9 $$' died with <Signals.SIGKILL: 9>.",
        "Removing output files of failed job wrong since they might be corrupted:\nwrong.txt",
    ):
        assert message in ours.stdout and message in theirs.stdout
    assert re.search(r"RuleException in rule huge in file .*\nHeadway: no amount would be enough: it asks", ours.stdout)
    assert "Traceback" not in ours.stdout


def test_the_workflows_that_snakemake_offers_to_authors_of_executors(tmp_path: Path) -> None:
    """Through its API, in a process of their own: Snakemake changes the handling of signals."""
    bench = Bench(tmp_path / "work", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(SOURCES / "own_suite.py")]
    done = subprocess.run(
        command, env=bench.environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert "2 passed" in done.stdout, done.stdout


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[Flow]:
    flow = Flow(tmp_path)
    yield flow
    flow.bench("service", "--stop")


def test_ctrl_c_and_kill_leave_nothing_and_the_next_run_goes_on(stopped: Flow) -> None:
    flow = stopped
    begun = (*OURS, "--rerun-incomplete", "--nolock", "long.txt")
    for number, (sent, code) in enumerate(((signal.SIGINT, 1), (signal.SIGKILL, -9)), 1):
        process = flow.start(*begun)
        flow.wait_for_line("long", number)
        os.killpg(process.pid, sent)
        assert process.wait(PATIENCE_S) == code
        process.stdout.close()
        if sent == signal.SIGINT:
            assert flow.processes() == []
    flow.bench.wait_for(lambda: not any("sleep" in each for each in flow.processes()), "the command to end")
    (flow.directory / "go").touch()
    done = flow(*begun)
    assert done.returncode == 0, done.stdout
    assert flow.text("long.txt") == "whole\n"
    assert flow.text("executed").split() == ["first", "long", "long", "long"]


def test_a_service_that_cannot_start_is_a_sentence(stopped: Flow) -> None:
    done = stopped("--executor", "headway", "--headway-on", "mars", "first.txt")
    assert done.returncode == 1
    said = re.search(r"WorkflowError:\n(Headway: --on: there is no cluster called 'mars'.*)\n(.*)", done.stdout)
    assert said and not said[2].startswith("  File")
