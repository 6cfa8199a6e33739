"""Completion of tasks and columns, in a real bash."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.bench import Bench

FLOW = """
    name: samples
    tasks:
      call:
        each: samples.csv
        run: echo {sample}
      plot: {run: "true"}
"""
# As bash does: `=` is a word of its own.
SCRIPT = """
compopt() { :; }  # works only while a key is pressed
eval "$(_HEADWAY_COMPLETE=bash_source headway)"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_headway_completion headway
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def samples(bench: Bench) -> Bench:
    bench.write(FLOW)
    bench.write("sample,tissue\ns1,lung\ns2,liver\ns10,lung\n", "samples.csv")
    return bench


def completed(bench: Bench, *words: str) -> list[str]:
    bash = shutil.which("bash")
    assert bash is not None
    path = f"{Path(sys.executable).parent}:{bench.environment['PATH']}"
    done = subprocess.run(
        [bash, "--norc", "-c", SCRIPT, "bash", "headway", *words],
        cwd=bench.directory,
        env=bench.environment | {"PATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["run", "ca"], ["call", "call[s1]", "call[s2]", "call[s10]"]),  # before the first run
        (["run", "--until", "call[s1"], ["call[s1]", "call[s10]"]),
        (["run", "call[s?"], []),  # stays as it was typed
        (["run", "--only", ""], ["sample=", "tissue="]),
        (["run", "--only", "sam"], ["sample=", "sample=s1", "sample=s2", "sample=s10"]),
        (["run", "--only", "sample", "="], ["s1", "s2", "s10"]),
        (["run", "--only", "sample", "=", "s2,s1"], ["s2,s1", "s2,s10"]),
        (["run", "--only", "=", "tissue", "=", "l"], ["lung", "liver"]),
        (["run", "--only", "sample", "=", "s*"], []),
    ],
)
def test_of_a_workflow(samples: Bench, words: list[str], found: list[str]) -> None:
    assert completed(samples, *words) == found


def test_of_a_run(samples: Bench) -> None:
    assert completed(samples, "status", "--by", "") == []  # there is none
    samples.succeeds("run", "--only", "tissue=lung")
    assert completed(samples, "status", "--by", "t") == ["tissue"]
    assert completed(samples, "usage", "--only", "sample", "=", "s") == ["s1", "s10"]
    assert completed(samples, "why", "call[") == ["call[s1]", "call[s10]"]
