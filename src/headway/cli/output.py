"""Where answers go: a console for people, one JSON document for programs."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_LOG_WIDTH = 100


def console_for(*, as_json: bool = False) -> Console:
    """The console for people: standard output, or standard error while that is for the JSON document."""
    from rich.console import Console

    stream = sys.stderr if as_json else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else _LOG_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def print_json(answer: Any) -> None:
    """One document, readable for people too."""
    sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False))
    sys.stdout.write("\n")
    sys.stdout.flush()
