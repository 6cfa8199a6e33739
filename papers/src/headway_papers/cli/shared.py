"""What the commands of all studies share: their options, and what becomes of a study's results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from headway.cli.options import json_option
from headway.model.errors import InputError, SiteError

if TYPE_CHECKING:
    from headway_papers.frame.docs import Marker
    from headway_papers.frame.report import Report

Results = TypeVar("Results")
Function = TypeVar("Function", bound=Callable[..., Any])
# Options that say how a study is run or shown, not what it computes.
_PRESENTATION = ("processes", "out", "docs", "html", "force", "again", "as_json")


def study_options(function: Function) -> Function:
    """The options that every study has."""
    options = (
        click.option(
            "--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="For random draws."
        ),
        click.option(
            "--processes", type=click.IntRange(min=1), metavar="N", help="Processes at a time; by default one a core."
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="Keep results in DIR and continue with those that are there; JSON and an HTML page too.",
        ),
        click.option(
            "--docs",
            type=click.Path(path_type=Path, dir_okay=False, exists=True),
            metavar="FILE",
            help="Also write the tables that FILE marks as made by this command.",
        ),
        json_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


def make_folder(out: Path | None) -> None:
    """Make the folder for results, if one is named."""
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SiteError(f"cannot make this folder: {error.strerror}", where=str(out)) from error


def present(
    results: Results, report_of: Callable[[Results], Report], document_of: Callable[[Results], Any], name: str
) -> int:
    """Write `NAME.json` and `NAME.html` into --out and tables into --docs; print the report or the JSON document."""
    from headway.cli.output import console_for, print_json
    from headway.report.saying import say, show
    from headway_papers.frame.page import page
    from headway_papers.frame.text import lines_of

    context = click.get_current_context()
    options = context.params
    report, document = report_of(results), document_of(results)
    if (out := options["out"]) is not None:
        write(out / f"{name}.json", json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        write(out / f"{name}.html", page(report))
    if (html := options.get("html")) is not None:
        write(html, page(report))
    if (docs := options["docs"]) is not None:
        _write_docs(docs, report, context)
    if options["as_json"]:
        print_json(document)
        return 0
    console = console_for()
    for line, laid_out in lines_of(report, console.width):
        (show if laid_out else say)(console, line)
    return 0


def _write_docs(path: Path, report: Report, context: click.Context) -> None:
    from headway_papers.frame.docs import write_tables

    def is_ours(marker: Marker) -> bool:
        name, *words = marker.arguments
        if name != context.command.name:
            return False
        return _work(context.command.make_context(name, words)) == _work(context)

    written = write_tables(path, report, is_ours)
    if not written:
        raise InputError("no table in this file is marked as made by this command", where=str(path))
    click.echo(f"wrote tables at {written} markers of {path}", err=True)


def _work(context: click.Context) -> dict[str, Any]:
    """The options that decide what is computed."""
    return {name: value for name, value in context.params.items() if name not in _PRESENTATION}


def write(path: Path, text: str) -> None:
    """Write a file, and say so."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SiteError(f"cannot write this: {error.strerror}", where=str(path)) from error
    click.echo(f"wrote {path}", err=True)
