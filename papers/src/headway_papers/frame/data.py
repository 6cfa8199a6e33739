"""Where the papers' logs, traces and workflows are."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "HEADWAY_DATA"


def data_folder() -> Path | None:
    """The folder that the environment variable HEADWAY_DATA names, if it is set."""
    name = os.environ.get(VARIABLE)
    return Path(name) if name else None
