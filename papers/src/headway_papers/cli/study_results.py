"""What is done with a study's results: kept as files, answered as JSON, or shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.text import Text

from headway.cli.output import console_for, print_json
from headway.model.errors import SiteError
from headway.report.saying import say, show

Results = TypeVar("Results")


def make_folder(out: Path | None) -> None:
    """The folder that results are kept in."""
    if out is None:
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SiteError(f"cannot make this folder: {error.strerror}", where=str(out)) from error


def present(
    results: Results,
    document: Callable[[Results], Any],
    lines_of: Callable[[Results, int], Iterable[tuple[Text | str, bool]]],
    *,
    as_json: bool,
    out: Path | None,
    name: str,
    page: Callable[[Results], str] | None = None,
) -> None:
    """`out/NAME.json` and `out/NAME.html` if there is a folder; then one JSON document, or lines, on the screen."""
    if out is not None:
        _write(out / f"{name}.json", json.dumps(document(results), indent=2, ensure_ascii=False) + "\n")
        if page is not None:
            _write(out / f"{name}.html", page(results))
    if as_json:
        print_json(document(results))
        return
    console = console_for()
    for line, laid_out in lines_of(results, console.width):
        (show if laid_out else say)(console, line)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SiteError(f"cannot write this: {error.strerror}", where=str(path)) from error
    click.echo(f"wrote {path}", err=True)
