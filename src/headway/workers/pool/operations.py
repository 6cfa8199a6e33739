"""The operations of the pool's scheduler and relays, which the manager calls by name."""

from __future__ import annotations

FIND = "headway-find"  # scheduler: the manager then sends names of nodes and receives a list of addresses for each
CONNECT = "headway-line"  # relay: both ends then send bytes, of any number of lines and parts of lines
GOODBYE = b""  # relay: the manager sends no more
LOCK = "lock"  # file in the pool's folder, locked by the scheduler while it lives


def name_in_pool(tag: str, node: str) -> str:
    """Return the pool's name of a node of a job."""
    return f"{tag}/{node}"
