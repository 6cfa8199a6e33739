"""What managers and the pool say to each other, before and after the lines themselves."""

from __future__ import annotations

FIND = "headway-find"  # a manager to the scheduler; then, for each place that it sends, it hears addresses
CONNECT = "headway-line"  # a manager to a node's relay; after that, both send parts of the line as bytes
GOODBYE = b""  # a manager has said all
LOCK = "lock"  # in the pool's folder, held by its scheduler while it lives


def name_in_pool(tag: str, node: str) -> str:
    """How the pool calls a node of a job."""
    return f"{tag}/{node}"
