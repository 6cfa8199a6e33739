"""The rules of memory."""

from __future__ import annotations

from headway.sizing.resource_rules.base import ByteRules


class MemoryRules(ByteRules):
    """Every task holds memory, and how much is learned whatever the workflow states."""

    resource = "memory_bytes"
