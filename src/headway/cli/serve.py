"""`headway serve`: runs in a browser, while they go on."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.options import FILE, json_option, option
from headway.cli.output import print_json, warn
from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.dashboard.serve import Serving


@click.command("serve", short_help="Show runs in a browser while they go on.")
@click.argument("folder", metavar="[FOLDER]", type=click.Path(path_type=Path), default=Path())
@option(
    "--port",
    "The port on this machine's own address; 0 for any that is free.",
    type=click.IntRange(0, 65535),
    default=0,
)
@option(
    "--socket socket_path PATH", "Listen at a unix socket that only you may use, instead of a port.", type=click.Path()
)
@option("--share", "Print a second link, which only shows: who has it cannot cancel or resume.", is_flag=True)
@option(
    "--token-file FILE", "Take the token from this file, made if needed; by default a new one each time.", type=FILE
)
@option("--metrics-file FILE", "Also write the metrics to this file every 15 s, for node-exporter.", type=FILE)
@json_option
def command(
    folder: Path,
    port: int,
    socket_path: str | None,
    share: bool,
    token_file: str | None,
    metrics_file: str | None,
    as_json: bool,
) -> int:
    """Show all runs below FOLDER (by default the current one) in a browser, until Ctrl-C.

    A page for each run shows what `headway report` does, and moves while the run goes on. One can search, read what
    tasks write and why they got what they got, cancel and resume. It only reads journals: runs neither need it nor
    notice it. Only this machine can reach it, and only with the token in the address; `headway docs dashboard` says how
    to look from your own computer at a login node, and what else protects it.

    \b
    Examples:
      headway serve
      headway serve ~/projects --port 8080 --share
      headway serve --socket ~/.headway.sock
      curl -H "Authorization: Bearer TOKEN" http://127.0.0.1:8080/metrics
    """
    from headway.dashboard import check_installed

    check_installed()
    if port and socket_path:
        raise InputError("a port and a socket are named", where="--socket", todo="leave one of the two out")
    from headway.dashboard.serve import serve

    def listening(where: Serving) -> None:
        if as_json:
            print_json(where.document())
        else:
            _print(where)

    serve(
        folder,
        port=port,
        socket_path=socket_path,
        share=share,
        token_file=token_file,
        metrics_file=metrics_file,
        listening=listening,
        warn=warn,
    )
    return 0


def _print(where: Serving) -> None:
    there = where.socket or f"127.0.0.1:{where.port}"
    here = f"{os.environ.get('USER') or 'YOU'}@{socket.gethostname()}"
    if where.socket is None:
        click.echo(f"runs below {where.folder}: {where.url}")
    else:
        click.echo(f"runs below {where.folder}, at {where.socket}; with the ssh line below: {where.url}")
    if where.share:
        click.echo(f"for others, read only: {where.share}")
    click.echo(f"from your own computer: ssh -L {where.port or 8080}:{there} {here}, then the same address")
    click.echo("Ctrl-C ends the server; runs go on")
