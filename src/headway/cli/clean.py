"""`headway clean`: delete what earlier runs have left."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from headway.api.clean import Cleaned, clean
from headway.cli.options import COUNT, directory_option, json_option, option
from headway.cli.output import console_for, print_json
from headway.model.units import format_bytes
from headway.report.saying import show
from headway.report.words import count, harmless

_MOST = 20


@click.command("clean", short_help="Delete old runs, sandboxes, environments and files that nothing needs.")
@option("--keep N", "Keep the newest N runs.", type=COUNT, default=1)
@option("--unfinished", "Also delete old runs that could be resumed.", is_flag=True)
@option("--orphans", "Only files that earlier runs made and that belong to no task now.", is_flag=True)
@option("-n --dry-run", "Only say what would be deleted.", is_flag=True)
@option("-y --yes", "Do not ask.", is_flag=True)
@directory_option
@json_option
def command(
    keep: int, unfinished: bool, orphans: bool, dry_run: bool, yes: bool, directory: Path, as_json: bool
) -> int:
    """Delete old runs, sandboxes of failed attempts, unused environments and orphans: say which, ask, delete.

    The newest run stays, and what can be resumed. Results are not touched and are found again by the next
    `headway run`; what was learned stays, too. The logs of a task go with the run in which it was executed.

    Orphans are files that earlier runs made and that belong to no task now, for example after a row was removed from
    a sample sheet. A file that you have changed since is yours, and stays.

    \b
    Examples:
      headway clean -n         what is there, and how large is it?
      headway clean --keep 5
      headway clean --orphans  only results of tasks that are gone
      headway clean --yes --unfinished
    """

    def confirm(found: Cleaned) -> bool:
        if not as_json:
            _print(found)
        return yes or (not as_json and sys.stdin.isatty() and click.confirm("delete this?"))

    done = clean(directory, keep=keep, unfinished=unfinished, only_orphans=orphans, dry_run=dry_run, confirm=confirm)
    if as_json:
        print_json(done.document())
    elif dry_run or not done.found:
        _print(done)
    else:
        size = format_bytes(done.size_bytes)
        click.echo(f"deleted {size}" if done.removed else "nothing was deleted; --yes does it without asking")
    return 0


def _print(found: Cleaned) -> None:
    console = console_for()
    if not found.found:
        show(console, "nothing to delete")
        return
    show(console, f"{format_bytes(found.size_bytes)} can be deleted:")
    for kind in dict.fromkeys(each.kind for each in found.found):
        group = [each for each in found.found if each.kind == kind]
        for each in group[:_MOST]:
            show(console, f"  {format_bytes(each.size_bytes):>9}  {kind} {harmless(each.name)}")
        if len(group) > _MOST:
            rest = group[_MOST:]
            size = format_bytes(sum(each.size_bytes for each in rest))
            show(console, f"  {size:>9}  {count(len(rest), f'more {kind}')}")
