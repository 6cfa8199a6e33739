"""Every command of the tutorial and the how-to pages runs as it stands; those on Slurm: tests/slurm/test_docs.py."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ON_SLURM, reader, script

# What a page's commands print, in this order.
PRINTED = {
    "index": ["5 would run", "succeeded", "it ran because", ".html"],
    "install": ["headway 0.", "ok  machine"],
    "first-workflow": [
        *("3 would run", "3 tasks run", "1271 total", "3 reused", "2 tasks run, 1 reused", "input sevens.txt changed"),
        *("attempt 2 with 1 GB memory", "it used up its 500 MB memory"),
    ],
    "first-advice": ["ALIGN", "withName: 'ALIGN'", "5500 MB", "ladder"],
    "many-samples": ["101 tasks run", "100 1", "2 tasks run, 100 reused", "3 tasks run", "101"],
    "environments": ["1 task run", ".headway/envs", "ok  containers"],
    "resume": ["its manager is gone, nothing is lost", "succeeded", "20", "20 tasks run"],
}


def test_all_pages_with_commands_are_tested() -> None:
    pages = {path.stem for path in DOCS.glob("*.md") if "\n```bash\n" in path.read_text()}
    untested = pages - PRINTED.keys() - ON_SLURM
    assert not untested, f"```bash blocks are run by a test: add {untested} to PRINTED, or write ```sh"


@pytest.mark.parametrize("page", PRINTED)
def test_commands_of_a_page(page: str, tmp_path: Path) -> None:
    directory = tmp_path / "work"
    directory.mkdir()
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script(page)],
        cwd=directory,
        env=reader(tmp_path),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "Traceback" not in said
    rest = " ".join(done.stdout.split())
    for expected in PRINTED[page]:
        found = re.search(re.escape(" ".join(expected.split())), rest)
        assert found, f"{expected!r} is not in the rest of what was printed: {rest}"
        rest = rest[found.end() :]
