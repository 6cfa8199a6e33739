"""`headway export`: a run as a research object that says where its results come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from headway.cli.options import answers, directory_option, option
from headway.model.errors import InputError
from headway.model.units import format_bytes
from headway.report.saying import show
from headway.report.words import count

if TYPE_CHECKING:
    from headway.api.export import Export

_MOST_SHOWN = 10


def _print(console: Console, made: Export) -> None:
    actions = f"{count(made.tasks, 'task')}, {count(made.attempts, 'attempt')}"
    show(console, f"wrote {made.target}: a {made.profile} of run {made.run} ({made.state}; {actions})")
    results = f"; {count(made.results, 'result')} of {format_bytes(made.results_bytes)}" if made.results else ""
    show(console, f"metadata of {format_bytes(made.metadata_bytes)}{results}")
    for words in made.left_out[:_MOST_SHOWN]:
        show(console, f"left out: {words}")
    if len(made.left_out) > _MOST_SHOWN:
        show(console, f"left out: {len(made.left_out) - _MOST_SHOWN:,} more; --json lists all")
    if made.removed:
        show(console, f"{count(made.removed, 'secret')} removed")
    if made.state not in ("succeeded", "failed", "stopped"):
        show(console, "the run has not ended: the crate says what was known now")


@click.command("export", short_help="Write a run as an RO-Crate: what made each result.")
@click.argument("names", nargs=-1, metavar="[RUN] OUT")
@option("--rocrate", "Write a Workflow Run RO-Crate.", is_flag=True)
@option("--with-files", "Copy the results into it, too.", is_flag=True)
@option("--license licence TEXT", "The licence of the crate: a URL, or a sentence.", default="")
@option("--author NAME", "Who ran it; by default the account that owns the run.", default="")
@option("--orcid ID", "The author's ORCID.", default="")
@option("--force", "Overwrite OUT, if that is a .zip file.", is_flag=True)
@directory_option
@answers(_print)
def command(names: tuple[str, ...], rocrate: bool, **of: Any) -> Export:
    """Write RUN (by default the newest) as a Workflow Run RO-Crate to OUT: a folder, or a file that ends in .zip.

    The crate says in a form that programs read which command made each result, from which files, when, where, with what
    it was given and what it used. It has the metadata and the workflow file; with --with-files the results, too.
    Passwords, tokens, keys and values of the tasks' `env` are removed as by `headway bundle`, but not from results.

    \b
    Examples:
      headway export --rocrate run.zip
      headway export --rocrate 3 crate --with-files --license https://spdx.org/licenses/CC-BY-4.0
    """
    from headway.api.export import export

    if not rocrate:
        raise InputError("no format is named", todo="add --rocrate, the only one there is")
    if len(names) not in (1, 2):
        todo = "write for example `headway export --rocrate run.zip`"
        raise InputError(
            "name the folder or .zip file to write, with the run before it if it is not the newest", todo=todo
        )
    return export(names[-1], names[0] if len(names) > 1 else None, **of)
