"""The JSON Schema of the workflow file, with which editors complete and check it."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import msgspec


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12); a test checks that it agrees with the reader."""
    text = files("headway.formats").joinpath("workflow.schema.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, Any])
