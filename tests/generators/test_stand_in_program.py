"""The program of a stand-in, run as Headway runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headway.workers import stand_in

PROGRAM = [sys.executable, "-I", "-S", "-B", stand_in.__file__]


def run(directory: Path, *words: str, cores: str | None = None) -> tuple[float, float, int]:
    """Return wall time and CPU time in seconds, and the greatest memory of the first process."""
    environment = {"HEADWAY_CORES": cores} if cores else {}
    began = time.monotonic()
    process = subprocess.Popen([*PROGRAM, *words], cwd=directory, env=environment)
    memory_bytes = 0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        found = re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
        memory_bytes = max(memory_bytes, 1024 * int(found[1]) if found else 0)
        time.sleep(0.01)
    wall_s = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return wall_s, usage.ru_utime + usage.ru_stime, memory_bytes


def test_it_takes_time_memory_and_disk(tmp_path: Path) -> None:
    words = ("--run", "1", "--busy", "0.5", "--memory", "200000000", "a=3000000", "b c=5", "d==0")
    wall_s, cpu_s, memory_bytes = run(tmp_path, *words)
    assert wall_s >= 1
    assert cpu_s == pytest.approx(0.5, rel=0.2)
    assert memory_bytes == pytest.approx(200e6, rel=0.01)
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {"a": 3_000_000, "b c": 5, "d=": 0}
    assert (tmp_path / "a").stat().st_blocks * 512 >= 3_000_000, "no holes"
    assert (tmp_path / "a").read_bytes()[:4] == b"a\na\n"


def test_work_is_shared_among_the_cores_that_it_has(tmp_path: Path) -> None:
    for cores, busy, least_wall_s in ((None, "2", 0.3), ("2", "1.5", 0.3), ("1", "2", 0.6), ("0.5", "1", 0.6)):
        wall_s, cpu_s, _ = run(tmp_path, "--run", "0.3", "--busy", busy, cores=cores)
        assert wall_s >= least_wall_s
        # each process looks at its clock after every little piece of work, so that it does hardly more than its part
        assert 0.99 * 0.3 * float(busy) < cpu_s < 0.3 * float(busy) + 0.15


def test_without_amounts_it_ends_at_once_and_uses_little(tmp_path: Path) -> None:
    _, cpu_s, _ = run(tmp_path, "--run", "0")
    assert cpu_s < 0.2
    _, _, memory_bytes = run(tmp_path, "--run", "0.3", "--busy", "0")
    assert 0 < memory_bytes < 8e6


def test_outputs_from_a_list(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("".join(f"o{number}\nline={number}\0" for number in range(50)))
    run(tmp_path, "--run", "0", "--list", "list")
    assert sorted(path.stat().st_size for path in tmp_path.glob("o*")) == list(range(50))


@pytest.mark.parametrize("words", [["--run", "x"], ["--run"], ["no-size"], ["--list", "nowhere"], ["a=b"]])
def test_bad_arguments_are_refused(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run([*PROGRAM, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage:" in done.stderr
    assert "Traceback" not in done.stderr
