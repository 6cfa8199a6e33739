"""`headway docs`, the help texts that point to its pages, and the wheel that has them."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import headway
from tests.cli.bench import Bench

ROOT = Path(__file__).parents[2]
SAID = "\n".join(path.read_text() for path in sorted((ROOT / "src/headway").rglob("*.py")))


def test_it_lists_pages_and_shows_one(bench: Bench) -> None:
    listed = bench.succeeds("docs")
    assert re.search(r"^workflow-file +The workflow file$", listed, re.MULTILINE)
    for name in ("workflow-file", "docs/workflow-file.md"):
        assert bench.succeeds("docs", name) == (ROOT / "docs/workflow-file.md").read_text()


def test_a_page_that_is_not_there(bench: Bench) -> None:
    assert bench("docs", "snakmake").stderr == (
        "headway: docs: there is no page 'snakmake'; did you mean 'snakemake'?\n"
    )


def test_help_texts_name_pages_that_there_are(bench: Bench) -> None:
    named = set(re.findall(r"`headway docs ([a-z-]+)`", SAID))
    assert named <= headway.docs().pages.keys()
    assert {"workflow-file", "replay", "simulate"} <= named
    for verb in ("", "run", "replay", "simulate", "plan", "waits", "history"):
        assert ".md" not in bench.succeeds(*verb.split(), "--help")


def test_the_wheel_has_the_pages(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        held = set(wheel.namelist())
    assert {f"headway/pages/{page}.md" for page in headway.docs().pages} <= held
