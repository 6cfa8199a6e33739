"""Where results are printed: a console for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

from headway.report.console import console_on


def console_for(*, as_json: bool = False) -> Console:
    """Return the console for people: standard output, or standard error if standard output is for a JSON document."""
    return console_on(sys.stderr if as_json else sys.stdout)


def warn(text: str) -> None:
    """Print a warning to standard error."""
    sys.stderr.write(f"headway: {text}\n")
    sys.stderr.flush()


def print_json(answer: Any) -> None:
    """Print one JSON document, indented."""
    sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False))
    sys.stdout.write("\n")
    sys.stdout.flush()
