"""Known loads, measured by every method that works on this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from headway.model.outcome import Quality, Usage
from tests.workers import loads
from tests.workers.loads import MB, Bench, command, on_bench

pytestmark = pytest.mark.parametrize("method", loads.methods())
PLATEAU_S = 0.8  # half a second is enough on an idle machine


def measure(method: str, directory: Path, argv: list[str]) -> tuple[Usage, dict[str, float]]:
    """Run a load; return what was measured and what the load reports itself."""

    async def work(bench: Bench) -> tuple[Usage, dict[str, float]]:
        end = await bench.run(argv)
        assert (end.exit_code, end.stopped_for, end.launch_error) == (0, None, "")
        assert end.usage.method == method
        return end.usage, bench.truth()

    return on_bench(method, directory, work)


@pytest.mark.parametrize("load", [loads.tree, loads.copy_on_write, loads.copied, loads.shared])
def test_memory_of_several_processes(method: str, load: Callable[..., None], tmp_path: Path) -> None:
    """Up to three tries: on a busy machine the processes of one sample are read at different moments."""
    offs = []
    for number in range(3):
        directory = tmp_path / str(number)
        directory.mkdir()
        usage, truth = measure(method, directory, command(load, PLATEAU_S))
        assert usage.memory_bytes.quality in (Quality.EXACT, Quality.SAMPLED)
        offs.append(abs(usage.memory_bytes.value / truth["held_bytes"] - 1))
        if offs[-1] <= 0.05:
            return
    raise AssertionError(f"three times off: {offs}")


def test_a_short_spike_of_one_process(method: str, tmp_path: Path) -> None:
    usage, truth = measure(method, tmp_path, command(loads.spike, 0.1))
    assert usage.memory_bytes.value == pytest.approx(truth["held_bytes"], rel=0.05)
    assert usage.memory_bytes.quality is Quality.EXACT


def test_page_cache_is_not_memory(method: str, tmp_path: Path) -> None:
    usage, truth = measure(method, tmp_path, command(loads.page_cache, "file"))
    assert truth["held_bytes"] < 20 * MB
    assert usage.memory_bytes.value < 40 * MB


def test_cpu_of_two_processes(method: str, tmp_path: Path) -> None:
    usage, truth = measure(method, tmp_path, command(loads.burn, 1.2))
    assert usage.cpu_s.value == pytest.approx(truth["cpu_s"], rel=0.05, abs=0.05)
    assert usage.cpu_s.quality is Quality.EXACT
    assert usage.cores_average.value == pytest.approx(usage.cpu_s.value / usage.wall_s.value)
    assert usage.cores_average.value <= usage.cores_peak.value < 2.3


def test_the_peak_of_disk_space(method: str, tmp_path: Path) -> None:
    """Hard links, symbolic links and the holes of a sparse file take no space."""
    usage, truth = measure(method, tmp_path, command(loads.disk, 1.5))
    assert usage.disk_bytes.value == pytest.approx(truth["disk_bytes"], rel=0.05)


def test_a_daemon_counts_and_dies_with_its_command(method: str, tmp_path: Path) -> None:
    usage, truth = measure(method, tmp_path, command(loads.daemon, tmp_path / "pid", 0.8, 600, "wait"))
    assert usage.memory_bytes.value == pytest.approx(truth["held_bytes"], rel=0.1)  # the interpreters are forked
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()


def test_the_shortest_command_is_small(method: str, tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        ballast = loads.hold(200 * MB)  # this process is large; its command must not seem so
        for _ in range(5):
            end = await bench.run(["true"])
            assert 0 < end.usage.memory_bytes.value < 10 * MB
            assert end.ended_at - end.started_at == pytest.approx(end.usage.wall_s.value, abs=1e-5)
        ballast.close()

    on_bench(method, tmp_path, work)


def test_without_a_directory_no_disk_is_measured(method: str, tmp_path: Path) -> None:
    async def work(bench: Bench) -> None:
        spec = structs.replace(bench.spec(["true"]), measured_directory=None)
        assert (await bench.trees.run(spec)).usage.disk_bytes is None

    on_bench(method, tmp_path, work)
