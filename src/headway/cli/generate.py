"""`headway generate`: make up a workflow of a known family."""

from __future__ import annotations

import math
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli.options import json_option
from headway.model.errors import InputError, SiteError
from headway.model.units import format_bytes, format_duration, parse_bytes

if TYPE_CHECKING:
    from headway.generators import MemoryModel
    from headway.model.instance import Instance

_ENDINGS = (".json", ".json.gz")
_MOST_TASKS = 1_000_000


@click.command("generate", short_help="Make up a workflow of a known family.")
@click.argument("family", required=False)
@click.option(
    "--tasks",
    type=click.IntRange(1, _MOST_TASKS),
    default=100,
    show_default=True,
    metavar="N",
    help="How many tasks; the nearest number that the family's shape allows.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Another seed, another workflow; the same seed, the same file.",
)
@click.option(
    "--memory-model", is_flag=True, help="Draw peak memory, linear in the input sizes for half the categories."
)
@click.option(
    "--memory-mean",
    metavar="SIZE:SIZE",
    help="Draw the categories' mean memory from this range instead of 1GB:1TB; implies --memory-model.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where to write it, ending in .json or .json.gz; - is standard output. By default FAMILY-TASKS-SEED.json.",
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@json_option
def command(
    family: str | None,
    tasks: int,
    seed: int,
    memory_model: bool,
    memory_mean: str | None,
    output: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Make up a workflow of FAMILY, with run times and file sizes, and write it as WfFormat JSON. Without FAMILY: list
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
        _list_families(as_json)
        return 0
    from headway.formats.wfformat_out import wfformat
    from headway.generators import family_named, generate

    model = _model(memory_model, memory_mean)
    if as_json and output == "-":
        raise InputError("--json and the workflow cannot both go to standard output", todo="name a file with -o")
    name, _ = family_named(family)
    path = Path(f"{name}-{tasks}-{seed}.json" if output is None else output)
    if output != "-":
        _check_free(path, force)
    instance = generate(name, tasks, seed, model)
    content = wfformat(instance)
    if output == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        _write(path, content, force)
    _tell(name, tasks, seed, instance, None if output == "-" else path, as_json)
    return 0


def _model(asked: bool, mean: str | None) -> MemoryModel | None:
    if not asked and mean is None:
        return None
    from headway.generators import MemoryModel

    if mean is None:
        return MemoryModel()
    least, mark, most = mean.partition(":")
    bounds = (parse_bytes(least), parse_bytes(most if mark else least))
    if not 0 < bounds[0] <= bounds[1]:
        raise InputError(
            f"--memory-mean: {mean!r} is not a range", todo="write for example 100MB:2GB, the smaller first"
        )
    return MemoryModel(mean_bytes=(float(bounds[0]), float(bounds[1])))


def _check_free(path: Path, force: bool) -> None:
    """Complain of a file that cannot be written before anything is made up."""
    if not path.name.endswith(_ENDINGS):
        raise InputError(
            "made-up workflows are WfFormat JSON: other formats have no place for what tasks took",
            where=str(path),
            todo="let the name end in .json or .json.gz",
        )
    if path.is_dir():
        raise InputError("this is a directory", where=str(path))
    if path.exists() and not force:
        raise InputError("this file exists", where=str(path), todo="--force overwrites it")


def _write(path: Path, content: bytes, force: bool) -> None:
    """Write the whole file or none of it."""
    if path.name.endswith(".gz"):
        import gzip

        content = gzip.compress(content, mtime=0)  # the same seed, the same bytes
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_bytes(content)
        _check_free(path, force)
        fresh.replace(path)
    except OSError as error:
        raise SiteError(f"cannot write here: {error.strerror}", where=str(path)) from error
    finally:
        fresh.unlink(missing_ok=True)


def _tell(family: str, asked: int, seed: int, instance: Instance, path: Path | None, as_json: bool) -> None:
    workflow = instance.workflow
    figures: dict[str, Any] = {
        "family": family,
        "tasks": len(workflow),
        "seed": seed,
        "levels": len(workflow.widths()),
        "categories": len({task.category for task in workflow}),
        "run_time_s": sum(recorded.run_s or 0.0 for recorded in instance.recorded.values()),
        "file_bytes": sum(instance.file_bytes.values()),
        "file": str(path.absolute()) if path else None,
    }
    if figures["tasks"] != asked:
        made = figures["tasks"]
        click.echo(f"headway: note: {family} has no shape with {asked:,} tasks, so this one has {made:,}", err=True)
    if as_json:
        from headway.cli.output import print_json

        print_json(figures)
        return
    click.echo(
        f"{family}: {figures['tasks']:,} tasks of {figures['categories']} categories in {figures['levels']} levels, "
        f"{format_duration(figures['run_time_s'])} of run time, {format_bytes(figures['file_bytes'])} in files",
        err=path is None,
    )
    if path:
        scale = f" --scale {_handy_scale(figures['run_time_s']):g}"
        click.echo(f"wrote {path}; now try `headway run {shlex.quote(str(path))} --synthetic{scale}`")


def _handy_scale(run_time_s: float) -> float:
    """A power of ten that leaves no more than two minutes of run time."""
    return min(1.0, 10.0 ** math.floor(math.log10(120 / run_time_s)))


def _list_families(as_json: bool) -> None:
    from headway.cli.output import console_for, print_json
    from headway.generators import GENERATORS

    if as_json:
        families = [
            {"name": name, "aliases": list(family.aliases), "fewest_tasks": family.fewest_tasks, "about": family.about}
            for name, family in GENERATORS.items()
        ]
        print_json({"families": families})
        return
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    for name, family in GENERATORS.items():
        also = f" (also {', '.join(family.aliases)})" if family.aliases else ""
        grid.add_row(
            Text(name, style="cyan"),
            Text(f"{family.about}{also}"),
            Text(f"from {family.fewest_tasks} tasks", style="dim"),
        )
    console_for().print(grid)
