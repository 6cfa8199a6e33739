"""For all tests: no deadlines on a busy machine, a history of each test's own, and no processes left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import kills
from tests.left_processes import SESSION, VARIABLE, end_processes, mark_environment
from tests.marks import is_left_out, marks_of

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("patient"), max_examples=30)  # for `make check`
settings.load_profile("patient")


# Runs that fixtures make for many tests read no history and write none.
os.environ["HEADWAY_HISTORY"] = "none"
# Runs of other tests, which are at work at the same time, are not known here, nor those of the user.
_STATE = tempfile.TemporaryDirectory(prefix="headway-state-")
os.environ["XDG_STATE_HOME"] = _STATE.name
mark_environment("fixtures of many tests")

# `make test &` ignores this signal, and so would every process that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

FAILED = pytest.StashKey[bool]()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file whose tests are all deselected."""
    return is_left_out(collection_path, config.option.markexpr) or None


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by their files, and give those that share a fixture of their module to one worker of pytest-xdist."""
    for item in items:
        for mark in sorted(marks_of(item.path)):
            item.add_marker(mark)
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            if _shares_with_its_module(item) and item.get_closest_marker("xdist_group") is None:
                item.add_marker(pytest.mark.xdist_group(item.nodeid.split("::")[0]))


def _shares_with_its_module(item: pytest.Item) -> bool:
    fixtures = item._fixtureinfo.name2fixturedefs if hasattr(item, "_fixtureinfo") else {}
    return any(fixture.scope == "module" for found in fixtures.values() for fixture in found)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


def pytest_unconfigure() -> None:
    end_processes(SESSION)


@pytest.fixture(autouse=True)
def no_processes_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """End all processes of a failed test; those of tests that pass are ended with the session."""
    before = mark_environment("fixtures of many tests")
    mark = mark_environment(request.node.nodeid)
    yield
    os.environ[VARIABLE] = before
    if request.node.stash.get(FAILED, False):
        end_processes(mark)


@pytest.fixture(autouse=True)
def counted_kills(request: pytest.FixtureRequest) -> Iterator[None]:
    """Report how many processes this test has killed."""
    before = kills.total()
    yield
    if kills.total() > before:
        request.node.user_properties.append((kills.PROPERTY, kills.total() - before))


@pytest.fixture(autouse=True)
def own_history(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give this test's runs a history of their own; the user's real history is neither read nor written."""
    place = tmp_path_factory.mktemp("history") / "history.db"
    monkeypatch.setenv("HEADWAY_HISTORY", str(place))
    monkeypatch.setenv("XDG_STATE_HOME", str(place.parent))  # which runs are at work, and pools
    return place


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of three megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", place], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("needs permission to mount a small file system")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)
