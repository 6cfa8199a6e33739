"""`headway docs`: show the documentation."""

from __future__ import annotations

import sys

import click
from rich.console import Console

from headway.api.docs import DocsResult, docs
from headway.cli.options import answers


def _print(_: Console, result: DocsResult) -> None:
    if not result.page:
        width = max(map(len, result.pages), default=0)
        for name, title in result.pages.items():
            click.echo(f"{name:{width}}  {title}")
        click.echo(f"\n`headway docs PAGE` shows a page; all are in {result.directory}")
    elif sys.stdout.isatty():
        click.echo_via_pager(result.text)
    else:
        click.echo(result.text, nl=False)


@click.command("docs", short_help="Show the documentation.")
@click.argument("page", default="")
@answers(_print)
def command(page: str) -> DocsResult:
    """Show a PAGE of the documentation, which is installed with Headway; without PAGE, list all pages.

    \b
    Examples:
      headway docs
      headway docs workflow-file
    """
    return docs(page)
