"""The papers' tests use the fixtures of the product's tests."""

from __future__ import annotations

from tests.cli.conftest import *  # noqa: F403
from tests.conftest import (
    no_processes_left,
    own_history,
    pytest_collection_modifyitems,
    pytest_ignore_collect,
    pytest_runtest_makereport,
    small_disk,
)

__all__ = [
    "no_processes_left",
    "own_history",
    "pytest_collection_modifyitems",
    "pytest_ignore_collect",
    "pytest_runtest_makereport",
    "small_disk",
]
