"""Dask's settings in the pool: it passes messages on, and runs no code that is sent to it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

# A worker that only passes messages on needs no self-monitoring, and the login node is shared with other users.
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


def configure(scratch: str) -> None:
    """Configure Dask in a process of the pool. The user's own Dask settings (files, variables) are ignored.

    `scratch` is a folder that is closed to other users. By default Dask writes files of known names into a folder that
    all users of the machine share, where another user's link would lead it to any file of ours.
    """
    import dask
    import distributed  # noqa: F401  -- registers its default settings

    dask.config.refresh(paths=[], env={})
    dask.config.set(_SETTINGS)
    dask.config.set({"temporary-directory": scratch})
    logging.getLogger("distributed").setLevel(logging.WARNING)
