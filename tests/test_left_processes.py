"""A failed test leaves no process behind."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_failed_test_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "test_inner.py").write_text(
        textwrap.dedent(f"""
        import subprocess
        from pathlib import Path

        def start(name):
            command = f"sleep 600 & echo $! > {tmp_path}/{{name}}; wait"
            process = subprocess.Popen(["sh", "-c", command], start_new_session=True)
            while not (Path({str(tmp_path)!r}) / name).exists():
                pass
            return process

        def test_fails():
            start("failed")
            assert False

        def test_passes():
            start("passed")
        """)
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTEST_ADDOPTS": ""}, capture_output=True, text=True, check=False
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    for name in ("failed", "passed"):
        pid = int((tmp_path / name).read_text())
        assert not _runs(pid), f"the process of the test that {name} goes on"


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
