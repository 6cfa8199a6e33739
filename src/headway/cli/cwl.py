"""`headway cwl`: cwltool, whose tools run in a service."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.options import directory_option, json_option, option
from headway.cli.output import print_json
from headway.cli.tool_words import ToolCommand


@click.command(
    "cwl",
    cls=ToolCommand,
    short_help="Run CWL with cwltool, its tools measured and sized.",
    options_metavar="[OPTIONS] [OPTIONS OF SERVICE] --",
)
@option("--off", "Run cwltool as it is, without Headway.", is_flag=True)
@directory_option
@json_option
def command(off: bool, directory: Path, as_json: bool, options: list[str], words: list[str]) -> int:
    """Run `cwltool` with the words after --, its tools in a service of this directory, and exit as cwltool does.

    Each tool is measured, limited and sized by what earlier jobs of its step needed: $(runtime.ram) and
    $(runtime.cores) say what it may use. One that runs out of memory is run again with more. Steps and the parts of a
    scatter run in parallel as far as there is room. Options of `headway service` go before the --; what it says is in
    .headway/service.log. `headway usage`, `why` and `logs` know the steps by their names.

    \b
    Examples:
      headway cwl -- count.cwl --file a.txt
      headway cwl -- --outdir results workflow.cwl job.yml
      headway cwl --on slurm --fresh -- --cachedir cache workflow.cwl job.yml
    """
    from headway.api.cwl import cwl

    ended = cwl(words, directory, options, off=off)
    if as_json:
        print_json(ended.document())
    else:
        click.echo(ended.stdout, nl=False)
    return ended.exit_code
