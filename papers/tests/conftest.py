"""The papers' tests use the fixtures of the product's tests."""

from __future__ import annotations

from tests.cli.conftest import *  # noqa: F403
from tests.conftest import own_history, small_disk

__all__ = ["own_history", "small_disk"]
