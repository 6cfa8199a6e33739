"""Dask as the pool needs it: a way to carry messages, and nothing that runs what somebody sends."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

# A worker that only passes messages on needs none of its watching of itself, and the login node is everybody's.
_SETTINGS: Mapping[str, Any] = {
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.memory.monitor-interval": "1 hour",
    "distributed.admin.system-monitor.interval": "1 minute",
    "distributed.admin.tick.interval": "1 second",
    "distributed.admin.tick.limit": "1 minute",
    "distributed.admin.low-level-log-length": 100,
    "distributed.diagnostics.nvml": False,
}


def configure() -> None:
    """For a process that is only a part of the pool: files and variables of the user's own Dask do not count."""
    import dask
    import distributed  # noqa: F401  -- its defaults come with it

    dask.config.refresh(paths=[], env={})
    dask.config.set(_SETTINGS)
    logging.getLogger("distributed").setLevel(logging.WARNING)


def all_but(handlers: Iterable[str], needed: Iterable[str]) -> list[str]:
    """What a server refuses to do. Some of Dask's operations run functions that are sent to them."""
    return sorted(set(handlers) - set(needed))
