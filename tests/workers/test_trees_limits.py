"""Limits are enforced for the whole tree, however it reacts, by every method that works on this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.model.outcome import Ending, Quality
from headway.workers.trees import CommandEnd
from tests.workers import loads
from tests.workers.loads import MB, Bench, command, endless, left_of, on_bench

HOW_IT_ENDS = {"plain": (None, signal.SIGTERM), "polite": (0, None), "deaf": (None, signal.SIGKILL)}
pytestmark = pytest.mark.parametrize("method", loads.methods())


def run(method: str, directory: Path, argv: list[str], **limits: float) -> CommandEnd:
    """Run one command and check that none of its processes is left."""

    async def work(bench: Bench) -> CommandEnd:
        end = await bench.run(argv, **limits)
        assert left_of(bench.directory) == []
        return end

    return on_bench(method, directory, work)


def test_memory(method: str, tmp_path: Path) -> None:
    end = run(method, tmp_path, command(loads.grow, 10, 0.02), memory_bytes=100 * MB)
    assert end.stopped_for is Ending.MEMORY
    assert end.usage.memory_bytes.quality is Quality.LOWER_BOUND
    assert end.usage.memory_bytes.value >= 100 * MB


def test_memory_of_a_command_that_exits_0_on_sigterm(method: str, tmp_path: Path) -> None:
    end = run(method, tmp_path, command(loads.grow, 1, 0.02, "polite"), memory_bytes=60 * MB)
    assert end.stopped_for is Ending.MEMORY
    if method == "polling":  # with cgroups the kernel may kill it before SIGTERM
        assert end.exit_code == 0


def test_a_command_that_grows_during_the_grace_is_killed_at_once(method: str, tmp_path: Path) -> None:
    began = time.monotonic()
    end = run(method, tmp_path, command(loads.grow, 10, 0.02, "deaf"), memory_bytes=100 * MB, grace_s=500)
    assert (end.stopped_for, end.signal) == (Ending.MEMORY, signal.SIGKILL)
    assert time.monotonic() - began < 100


@pytest.mark.parametrize("load", [loads.tree, loads.copied])
def test_memory_of_several_processes(method: str, load: Callable[..., None], tmp_path: Path) -> None:
    """Together above the limit, each of them below it."""
    end = run(method, tmp_path, command(load, 600), memory_bytes=200 * MB)
    assert end.stopped_for is Ending.MEMORY


@pytest.mark.parametrize("load", [loads.copy_on_write, loads.shared])
def test_shared_memory_counts_once(method: str, load: Callable[..., None], tmp_path: Path) -> None:
    end = run(method, tmp_path, command(load, 0.8), memory_bytes=230 * MB)
    assert (end.stopped_for, end.exit_code) == (None, 0)


def test_page_cache_does_not_count(method: str, tmp_path: Path) -> None:
    end = run(method, tmp_path, command(loads.page_cache, "file"), memory_bytes=60 * MB)
    assert (end.stopped_for, end.exit_code) == (None, 0)


def test_a_command_just_below_its_limit_is_left_alone(method: str, tmp_path: Path) -> None:
    """The kernel's own memory must not count against it."""
    end = run(method, tmp_path, command(loads.tree, 0.5), memory_bytes=308 * MB)
    assert (end.stopped_for, end.exit_code) == (None, 0)


def test_memory_of_a_child_whose_parent_ignores_its_death(method: str, tmp_path: Path) -> None:
    end = run(method, tmp_path, command(loads.lost_child, 20, 0.01), memory_bytes=150 * MB)
    assert end.stopped_for is Ending.MEMORY


def test_a_spike_is_stopped_by_the_kernel(method: str, tmp_path: Path) -> None:
    end = run(method, tmp_path, command(loads.spike, 0), memory_bytes=100 * MB)
    if method == "polling":  # usually too short to be stopped; then its peak is known
        assert end.stopped_for is Ending.MEMORY or end.usage.memory_bytes.value > 290 * MB
    else:
        assert end.stopped_for is Ending.MEMORY
        assert end.usage.memory_bytes.value == pytest.approx(100 * MB, rel=0.1)


@pytest.mark.parametrize("manner", ["plain", "polite", "deaf"])
def test_time(method: str, manner: str, tmp_path: Path) -> None:
    end = run(method, tmp_path, endless(manner), walltime_s=0.5, grace_s=0.3)
    assert end.stopped_for is Ending.TIME
    assert end.usage.wall_s.quality is Quality.LOWER_BOUND
    assert end.usage.wall_s.value >= 0.5
    assert (end.exit_code, end.signal) == HOW_IT_ENDS[manner]


def test_a_command_that_ignores_sigterm_is_killed_before_it_would_end(method: str, tmp_path: Path) -> None:
    end = run(method, tmp_path, ["sh", "-c", "trap '' TERM; exec sleep 20"], walltime_s=0.5, grace_s=0.3)
    assert (end.stopped_for, end.signal) == (Ending.TIME, signal.SIGKILL)


@pytest.mark.parametrize("manner", ["", "polite"])
def test_disk(method: str, manner: str, tmp_path: Path) -> None:
    end = run(method, tmp_path, command(loads.fill, 5, 0.05, manner), disk_bytes=40 * MB)
    assert end.stopped_for is Ending.DISK
    assert end.usage.disk_bytes.quality is Quality.LOWER_BOUND
    assert end.usage.disk_bytes.value > 40 * MB


async def wait_for(path: str | Path) -> None:
    while not os.path.exists(path) or not os.path.getsize(path):
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("manner", ["plain", "deaf", "anonymous"])
@pytest.mark.parametrize("leader_waits_s", [0, 600])
def test_a_daemon_is_killed(method: str, manner: str, leader_waits_s: float, tmp_path: Path) -> None:
    """Double-forked, in a session of its own, ignoring SIGTERM or without any environment."""
    pid_file = tmp_path / "pid"

    async def work(bench: Bench) -> CommandEnd:
        spec = bench.spec(command(loads.daemon, pid_file, leader_waits_s, 600, "wait", manner), grace_s=0.3)
        running = asyncio.create_task(bench.trees.run(spec))
        await wait_for(pid_file)
        if leader_waits_s:
            bench.trees.kill(spec.key)
        return await running

    end = on_bench(method, tmp_path, work)
    assert end.stopped_for is (Ending.CANCELLED if leader_waits_s else None)
    assert end.exit_code == (None if leader_waits_s else 0)
    assert not Path(f"/proc/{pid_file.read_text()}").exists()


def test_trees_that_grow_while_they_are_stopped(method: str, tmp_path: Path) -> None:
    script = "(setsid sleep 600 & sleep 600 & (sleep 600 &) ; wait) & exit 0"

    async def work(bench: Bench) -> None:
        for _ in range(5):
            ends = await asyncio.gather(*(bench.run(["sh", "-c", script]) for _ in range(20)))
            assert [end.exit_code for end in ends] == [0] * 20
            assert left_of(bench.directory) == []

    on_bench(method, tmp_path, work)


@pytest.mark.parametrize("manner", ["plain", "polite", "deaf"])
def test_kill(method: str, manner: str, tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        spec = bench.spec(endless(manner), grace_s=0.3)
        running = asyncio.create_task(bench.trees.run(spec))
        await wait_for(spec.stdout)
        bench.trees.kill(spec.key)
        end = await running
        assert end.stopped_for is Ending.CANCELLED
        assert (end.exit_code, end.signal) == HOW_IT_ENDS[manner]
        assert left_of(bench.directory) == []
        bench.trees.kill(spec.key)  # it has ended: nothing happens
        bench.trees.kill("unknown")

    on_bench(method, tmp_path, work)


def test_the_time_in_which_a_job_is_suspended_does_not_count(method: str, tmp_path: Path) -> None:
    """Slurm stops all processes of a suspended job, this one too."""

    async def work(bench: Bench) -> CommandEnd:
        began = Path(bench.path("began"))
        running = asyncio.create_task(bench.run(["sh", "-c", f"echo $$ > {began}; kill -STOP $$; :"], walltime_s=3.9))
        await wait_for(began)
        time.sleep(4.0)  # nothing else runs in this process
        os.kill(int(began.read_text()), signal.SIGCONT)
        return await running

    end = on_bench(method, tmp_path, work)
    assert (end.stopped_for, end.exit_code) == (None, 0)
    assert end.usage.wall_s.value < 3.9
