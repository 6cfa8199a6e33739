"""`headway convert`: a workflow file, or a finished run with its measurements, in another format."""

from __future__ import annotations

import sys

import click

from headway.api.convert import FORMATS, WHICH, ConvertResult, convert
from headway.cli.completion import complete_run
from headway.cli.options import json_option, option, set_option
from headway.cli.output import console_for, print_json
from headway.model.errors import InputError
from headway.report.saying import say
from headway.report.words import count, harmless

_NAMES = {"wfformat": "WfFormat 1.5", "yaml": "a Headway workflow file"}
_STANDARD_OUTPUT = "-"


@click.command("convert", short_help="Write a workflow, or a finished run, in another format.")
@click.argument("source", type=click.Path())
@click.argument("target", required=False)
@option("-o --output FILE", "Another way to name TARGET.")
@option("--to", "The format, where TARGET's name does not say it.", type=click.Choice(FORMATS))
@option("--run RUN", "The run of a directory; by default the newest.", shell_complete=complete_run)
@option("-f --force", "Overwrite TARGET.", is_flag=True)
@set_option()
@json_option
def command(
    source: str,
    target: str | None,
    output: str | None,
    to: str | None,
    run: str | None,
    force: bool,
    set: dict[str, str],
    as_json: bool,
) -> int:
    """Write SOURCE in another format to TARGET.

    SOURCE is a workflow file (.yaml, WfFormat .json, Pegasus .dax or .xml; the latter also with .gz), or a directory in
    which a workflow was run: then the measurements of every task are written too. TARGET's name says the format: .json
    or .json.gz is WfFormat 1.5, .yaml a Headway workflow file; `-` is the standard output.

    \b
    Examples:
      headway convert workflow.yaml workflow.json    for other tools
      headway convert . run.json.gz                  the newest run here, with its measurements
      headway convert montage.dax montage.yaml       to run it
      headway convert . - --run 3 --to wfformat | jq .workflow.execution.tasks
    """
    if target is not None and output is not None:
        raise InputError("TARGET is named twice", where="-o", todo="leave out one of the two")
    target = target or output
    if not target:
        raise InputError("nothing says where to write", todo="name TARGET: a file, or - for standard output")
    to_screen = target == _STANDARD_OUTPUT
    if to_screen and to is None:
        raise InputError("standard output has no name", todo=WHICH)
    if to_screen and as_json:
        raise InputError("the answer in JSON and the workflow would mix on standard output", todo="name a file")
    result = convert(source, None if to_screen else target, to=to, run=run, force=force, set=set)
    if to_screen:
        sys.stdout.buffer.write(result.content())
        sys.stdout.buffer.flush()
    if as_json:
        print_json(result.document())
    else:
        _print(result)
    return 0


def _print(result: ConvertResult) -> None:
    console = console_for(as_json=result.target is None)  # the workflow has standard output for itself
    where = "to standard output" if result.target is None else harmless(result.target)
    share = "all" if result.recorded == result.tasks else f"{result.recorded:,}"
    figures = f", {share} with what they took" if result.recorded and result.format == "wfformat" else ""
    say(
        console,
        f"wrote {where}: {harmless(result.workflow)} as {_NAMES[result.format]}, "
        f"{count(result.tasks, 'task')} in {result.categories:,} categor{'y' if result.categories == 1 else 'ies'}"
        f"{figures}",
    )
    left_out = result.left_out
    lost = [f"what {count(left_out['recorded'], 'task')} took"] if left_out["recorded"] else []
    lost += [f"the sizes of {count(left_out['file_sizes'], 'file')}"] if left_out["file_sizes"] else []
    if lost:
        say(console, f"left out: {' and '.join(lost)}, for which a workflow file has no place", style="yellow")
    if result.without_command:
        without = count(result.without_command, "task")
        say(console, f"{without} without a command: known is only what they took", style="dim")
