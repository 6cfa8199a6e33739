"""`headway generate`: a synthetic workflow of a known family."""

from __future__ import annotations

import math
import shlex
import sys
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from headway.api.generate import FamiliesResult, GenerateResult, GenerateSettings, families, file_name, generate
from headway.cli.batch_options import given, settings_options
from headway.cli.options import json_option
from headway.cli.output import console_for, print_json
from headway.model.errors import InputError
from headway.model.units import format_bytes, format_duration

_STANDARD_OUTPUT = "-"


_OPTIONS = {
    "--tasks N": "Number of tasks; the nearest number that the family's shape allows.",
    "--seed N": "Another seed, another workflow; the same seed, the same file.",
    "--memory-model": "Draw peak memory, linear in the input sizes for half the categories.",
    "--memory-mean SIZE:SIZE": "Draw the categories' mean memory from this range instead of 1GB:1TB; implies "
    "--memory-model.",
    "-o --output FILE": "Where to write it, ending in .json or .json.gz; - is standard output. By default "
    "FAMILY-TASKS-SEED.json.",
    "--force": "Overwrite the file if it exists.",
}


@click.command("generate", short_help="Make up a workflow of a known family.")
@click.argument("family", required=False)
@settings_options(GenerateSettings, _OPTIONS)
@json_option
def command(family: str | None, tasks: int, seed: int, output: str | None, as_json: bool, **options: Any) -> int:
    """Generate a workflow of FAMILY, with run times and file sizes, and write it as WfFormat JSON. Without FAMILY: list
    the families.

    \b
    Examples:
      headway generate montage --tasks 500 --seed 1
      headway generate ligo --tasks 1000 --memory-mean 100MB:2GB -o ligo.json.gz
      headway run montage-500-1.json --synthetic --scale 0.01

    The families cybershake, epigenomics, ligo, montage and sipht are those of the Pegasus WorkflowGenerator; the others
    come from WfCommons and need `pip install 'headway[generate]'`.
    """
    if family is None:
        known = families()
        if as_json:
            print_json(known.document())
        else:
            _print_families(known)
        return 0
    to_screen = output == _STANDARD_OUTPUT
    if as_json and to_screen:
        raise InputError("--json and the workflow cannot both go to standard output", todo="name a file with -o")
    file = None if to_screen else output or file_name(family, tasks, seed)
    result = generate(**given("output"), output=file)
    if to_screen:
        sys.stdout.buffer.write(result.content())
        sys.stdout.buffer.flush()
    if result.tasks != result.asked_tasks:
        shape = f"{result.family} has no shape with {result.asked_tasks:,} tasks, so this one has {result.tasks:,}"
        click.echo(f"headway: note: {shape}", err=True)
    if as_json:
        print_json(result.document())
    else:
        _print(result)
    return 0


def _print(result: GenerateResult) -> None:
    click.echo(
        f"{result.family}: {result.tasks:,} tasks of {result.categories} categories in {result.levels} levels, "
        f"{format_duration(result.run_time_s)} of run time, {format_bytes(result.file_bytes)} in files",
        err=result.file is None,
    )
    if result.file:
        scale = min(1.0, 10.0 ** math.floor(math.log10(120 / result.run_time_s)))  # at most two minutes of run time
        again = f"headway run {shlex.quote(result.file)} --synthetic --scale {scale:g}"
        click.echo(f"wrote {result.file}; now try `{again}`")


def _print_families(result: FamiliesResult) -> None:
    grid = Table.grid(padding=(0, 2))
    for family in result.families:
        also = f" (also {', '.join(family.aliases)})" if family.aliases else ""
        fewest = Text(f"from {family.fewest_tasks} tasks", style="dim")
        grid.add_row(Text(family.name, style="cyan"), Text(f"{family.about}{also}"), fewest)
    console_for().print(grid)
