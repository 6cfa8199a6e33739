"""Fixtures of the command line's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.bench import SMALL, Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "work", tmp_path / "home")


DEMO = """
    name: demo
    tasks:
      make:
        each: {part: [a, b]}
        run: echo "making {part}"; echo {part} > {part}.txt
        outputs: ["{part}.txt"]
        resources: {memory: 100 MB}
      noisy:
        run: echo to stdout; printf 'to stderr' >&2
      broken:
        needs: [noisy]
        run: echo "the reason" >&2; exit 3
      after:
        needs: [broken]
        run: "true"
"""


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A directory with two finished runs, to be looked at and not touched: both failed, the second reused."""
    home = tmp_path_factory.mktemp("finished")
    bench = Bench(home / "work", home)
    bench.write(DEMO)
    for _ in range(2):
        done = bench("run", "-k", *SMALL)
        assert done.returncode == 1, done.stderr
    return bench
