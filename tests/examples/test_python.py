"""The examples of the Python API do what docs/python.md says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"


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
    first, *others = output_of("primes", tmp_path).splitlines()
    assert first == "[4, 25, 168]"
    found = {line.partition(" ")[0]: int(re.findall(r"(\d+) MB", line)[0]) for line in others}
    assert set(found) == {"78,498", "1,857,859", "3,562,115"}
    assert 60 < found["3,562,115"] < 200


def test_adaptive(tmp_path: Path) -> None:
    words = re.fullmatch(r"the integral is (\S+), off by (\S+)\n", output_of("adaptive", tmp_path))
    assert words and 0 <= float(words[2]) < 1e-5
    assert float(words[1]) > 3000


def test_scenes(tmp_path: Path) -> None:
    lines = output_of("scenes", tmp_path).splitlines()
    assert lines[0] == "brightest: noon"
    assert lines[2] == "then 0 of 8 tasks had to run again"
