"""The CWL example counts right, by the command and by the function."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.bench import Bench

EXAMPLE = Path(__file__).parents[2] / "examples" / "cwl"


def test_primes(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "cwl")
    bench = Bench(tmp_path / "cwl", tmp_path)
    done = bench.process("cwl", "--json", "--fresh", "--", "primes.cwl", "ranges.yml")
    assert done.returncode == 0, done.stderr
    assert '"basename": "primes.txt"' in done.stdout
    assert (bench.directory / "primes.txt").read_text() == "1270607\n"
    assert {row["category"] for row in bench.json("usage")["rows"]} == {"count", "total"}
