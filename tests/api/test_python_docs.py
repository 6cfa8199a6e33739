"""The examples of docs/python.md and docs/parsl.md run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
ABOUT_RUNS, _, STUDIES = TEXT.partition("\n## Studies\n")


def run_examples(text: str, directory: Path) -> str:
    """Run all examples of a text as one script, as a user would who copies them."""
    script = directory / "examples.py"
    script.write_text("\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)))
    done = subprocess.run(
        [sys.executable, str(script)], cwd=directory, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_examples_about_runs(tmp_path: Path) -> None:
    printed = run_examples(ABOUT_RUNS, tmp_path)
    assert "6.0 " in printed, "the best mean"
    assert "1 succeeded 3 {}" in printed
    assert "('total', 'stands', 'unchanged since run 1')" in printed
    assert printed.splitlines()[-1] == "succeeded"


def test_examples_about_studies(tmp_path: Path) -> None:
    printed = run_examples("```python\nimport headway\nfrom pathlib import Path\n```\n" + STUDIES, tmp_path)
    assert "('ladder'" in printed


def test_examples_about_parsl_and_dask(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "parsl.md").read_text()
    assert run_examples(text, tmp_path).splitlines() == ["81 0", "(1.0, 2.0)"]
    assert (tmp_path / "greeting.txt").read_text() == "hello you\n"
