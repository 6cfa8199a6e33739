"""Write a file and say so."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from headway.api import whole_files


def write_whole(path: Path, lines: Iterable[str]) -> None:
    """Write all lines to a file, or none, and say so on standard error."""
    whole_files.write_whole(path, lines)
    click.echo(f"wrote {path}", err=True)
