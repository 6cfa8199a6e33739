"""Reading processes from /proc."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headway.workers.trees import processes
from headway.workers.trees.processes import (
    MARKER,
    children_lookup,
    descendants,
    marker_of,
    proportional_bytes,
    read_memory,
    read_process,
)
from tests.workers import loads
from tests.workers.loads import MB, Bench, command, on_bench


@contextmanager
def running(script: str, **environment: str) -> Iterator[int]:
    """Start a Python process that runs `script` and then sleeps; kill its process group at the end."""
    script += "\nprint(flush=True)\nimport time; time.sleep(600)"
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env=os.environ | environment, process_group=0
    )
    with process:
        assert process.stdout
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_a_name_with_brackets_and_blanks() -> None:
    with running("open('/proc/self/comm', 'w').write('a) R (b')") as pid:
        process = read_process(pid)
        assert process
        assert (process.pid, process.parent, process.threads) == (pid, os.getpid(), 1)
        assert not process.dead
        assert process.session == os.getsid(0)


def test_a_zombie_and_a_reaped_process() -> None:
    process = subprocess.Popen(["true"])
    while not (zombie := read_process(process.pid)) or not zombie.dead:
        time.sleep(0.001)
    assert read_memory(process.pid) is None
    assert descendants([process.pid], children_lookup()) == []
    process.wait()
    assert read_process(process.pid) is None
    assert marker_of(process.pid) is None
    assert proportional_bytes([process.pid]) == 0


def test_cpu_counts_reaped_children() -> None:
    script = "import os\nif os.fork() == 0:\n    for _ in range(10**7): pass\n    os._exit(0)\nos.wait()"
    with running(script) as pid:
        process = read_process(pid)
        assert process
        assert process.cpu_s > 0.05


@pytest.mark.parametrize("listed", [True, False])
def test_descendants(listed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Children of all threads are found, with and without the kernel's list of children."""
    if not listed:
        monkeypatch.setattr(processes, "_lists_children", lambda: False)
    script = """
import subprocess, threading
start = lambda: subprocess.Popen(["sh", "-c", "sleep 600 & wait"])
start()
thread = threading.Thread(target=lambda: (start(), ready.set(), threading.Event().wait()), daemon=True)
ready = threading.Event()
thread.start()
ready.wait()
import time
time.sleep(0.3)
"""
    with running(script) as pid:
        deadline_s = time.monotonic() + 60
        while len(found := descendants([pid], children_lookup())) < 5 and time.monotonic() < deadline_s:
            time.sleep(0.01)
        assert len(found) == 5
        assert found[0].pid == pid


def test_a_thousand_children() -> None:
    """The kernel returns a list of this length in several parts."""
    script = "import os, signal\nfor _ in range(1000):\n    if os.fork() == 0: signal.pause()"
    with running(script) as pid:
        assert len(descendants([pid], children_lookup())) == 1001


def test_the_marker() -> None:
    with running("", **{MARKER: "r1/count[aa]/2"}) as pid:
        assert marker_of(pid) == "r1/count[aa]/2"
    with running("", **{f"NOT_{MARKER}": "r1"}) as pid:
        assert marker_of(pid) is None


def test_shared_memory_counts_once() -> None:
    script = """
import mmap, os
block = mmap.mmap(-1, 50_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
block.write(b"x" * len(block))
reader, writer = os.pipe()
if os.fork() == 0:
    block[0]
    os.write(writer, b".")
    import time; time.sleep(600)
os.read(reader, 1)
"""
    with running(script) as pid:
        pids = [process.pid for process in descendants([pid], children_lookup())]
        summed = sum(memory.held_bytes for pid in pids if (memory := read_memory(pid)))
        assert summed > 100 * MB
        assert 50 * MB < proportional_bytes(pids) < 75 * MB


def test_a_daemon_is_killed_if_the_kernel_lists_no_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_lists_children", lambda: False)
    pid_file = tmp_path / "pid"

    async def work(bench: Bench) -> None:
        end = await bench.run(command(loads.daemon, pid_file, 0.3, 600, "wait"))
        assert end.exit_code == 0
        assert end.usage.memory_bytes.value > 95 * MB

    on_bench("polling", tmp_path, work)
    assert not Path(f"/proc/{pid_file.read_text()}").exists()
