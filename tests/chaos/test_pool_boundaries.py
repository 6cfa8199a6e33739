"""A pool whose manager is killed before each thing that it does outside of its memory, while a workflow uses it."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests import kills
from tests.cli.bench import PATIENCE_S, Bench
from tests.serving.pools import Pool, ended

SLICES = 12
NO_POOL = 3  # how a run ends that finds no pool
FLOW = """
name: {name}
tasks:
  made:
    each: {{n: [1, 2]}}
    run: echo {{n}} >> {home}/ran-{name}; echo {{n}} > made-{{n}}
    outputs: ["made-{{n}}"]
    resources: {{cores: 1, memory: 100 MB, disk: 10 MB}}
  total:
    run: echo total >> {home}/ran-{name}; cat made-1 made-2 > total
    inputs: [made-1, made-2]
    outputs: [total]
"""


class Used:
    """A pool that one workflow uses from its start to its end."""

    def __init__(self, home: Path, plan: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.flag = home / "crashed"
        self.pool = Pool(home, started=False)
        self.flow = self.pool.flow("one", FLOW)
        self._plan = f"manager#{plan}:{self.flag}"

    def use(self) -> None:
        """Start the pool, run the workflow and stop the pool; whenever the pool's manager is killed, start another."""
        self._start()
        self._run_workflow(self.flow)
        while self._is_killed() or self._stop():
            self._start()

    def _start(self) -> None:
        self.pool.bench.environment["HEADWAY_CRASH"] = self._plan
        self.pool._begin()
        del self.pool.bench.environment["HEADWAY_CRASH"]

    def _is_killed(self) -> bool:
        code = self.pool.process.poll()
        assert code in (None, -signal.SIGKILL), self.pool.process.communicate()
        return code is not None

    def _run_workflow(self, flow: Bench) -> None:
        running = flow.start("run", "-q", "--pool")
        deadline = time.monotonic() + PATIENCE_S
        while (code := running.poll()) in (None, NO_POOL):
            assert time.monotonic() < deadline, self.pool.status()
            if self._is_killed():
                self._start()
            if code == NO_POOL:  # that was just killed
                ended(running, NO_POOL)
                running = flow.start("run", "-q", "--pool")
            time.sleep(0.02)
        ended(running)

    def _stop(self) -> bool:
        """Stop the pool; return whether its manager was killed before it had ended."""
        self.pool.bench.process("pool", "stop")
        code = self.pool.process.wait(PATIENCE_S)
        assert code in (0, -signal.SIGKILL), self.pool.process.communicate()
        return code != 0

    def check(self) -> None:
        where = self.flag.read_text() if self.flag.exists() else "never reached"
        assert self.pool.ran("one") == {"1": 1, "2": 1, "total": 1}, where
        assert (self.flow.directory / "total").read_text() == "1\n2\n", where
        assert self.flow.json("status")["tasks"]["succeeded"] == 3, where
        assert not (self.pool.directory / ".headway" / "pool").is_symlink(), where


@pytest.fixture(scope="session")
def boundaries(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """List what the manager of a pool does that nothing disturbs."""
    used = Used(tmp_path_factory.mktemp("pool"), "0")
    used.use()
    used.check()
    return used.flag.read_text().splitlines()


def crash(home: Path, number: int) -> None:
    used = Used(home, str(number))
    used.use()
    used.check()
    kills.add(used.flag.exists())


@pytest.mark.parametrize("part", [0.3, 0.5, 0.7, 0.9])
def test_a_crash_of_a_pool_before_some_boundary(tmp_path: Path, boundaries: list[str], part: float) -> None:
    crash(tmp_path, 1 + int(part * len(boundaries)))


@pytest.mark.chaos
@pytest.mark.parametrize("slice_", range(SLICES))
def test_a_crash_of_a_pool_before_every_boundary(tmp_path: Path, boundaries: list[str], slice_: int) -> None:
    for number in range(1 + slice_, len(boundaries) + 1, SLICES):
        crash(tmp_path / str(number), number)
