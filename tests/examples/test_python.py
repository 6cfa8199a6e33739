"""The examples of the Python API, Parsl and Dask do what docs/python.md and their own pages say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def output_of(name: str, directory: Path) -> str:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_primes(tmp_path: Path) -> None:
    first, *others = output_of("python/primes", tmp_path).splitlines()
    assert first == "[4, 25, 168]"
    found = {line.partition(" ")[0]: int(re.findall(r"(\d+) MB", line)[0]) for line in others}
    assert set(found) == {"78,498", "1,857,859", "3,562,115"}
    assert 60 < found["3,562,115"] < 200


def test_adaptive(tmp_path: Path) -> None:
    words = re.fullmatch(r"the integral is (\S+), off by (\S+)\n", output_of("python/adaptive", tmp_path))
    assert words and 0 <= float(words[2]) < 1e-5
    assert float(words[1]) > 3000


def test_scenes(tmp_path: Path) -> None:
    lines = output_of("python/scenes", tmp_path).splitlines()
    assert lines[0] == "brightest: noon"
    assert lines[2] == "then 0 of 8 tasks had to run again"


def test_twins_by_parsl(tmp_path: Path) -> None:
    assert output_of("parsl/twins", tmp_path).startswith("14871 pairs of twin primes below 2000000; ")
    assert (tmp_path / "twins.txt").read_text() == "14871\n"


def test_coprime_pairs_by_dask(tmp_path: Path) -> None:
    assert output_of("dask/coprime", tmp_path) == "2433175 of 4000000 pairs are coprime, so pi is about 3.141\n"
