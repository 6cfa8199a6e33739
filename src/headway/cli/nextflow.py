"""`headway nextflow`: Nextflow, whose tasks run in a service."""

from __future__ import annotations

import click

from headway.cli.options import json_option, option
from headway.cli.output import print_json, warn
from headway.cli.tool_words import ToolCommand


@click.command(
    "nextflow",
    cls=ToolCommand,
    short_help="Run a Nextflow pipeline, its tasks measured and sized.",
    options_metavar="[OPTIONS] [OPTIONS OF SERVICE] --",
)
@option("--sizes-only", "Let Nextflow's own executor run the tasks, and only say how large they are.", is_flag=True)
@option("--off", "Run Nextflow as it is, without Headway.", is_flag=True)
@option("--nextflow program", "The Nextflow to run; by default the one on the PATH.", metavar="PROGRAM")
@json_option
def command(
    sizes_only: bool, off: bool, program: str | None, as_json: bool, options: list[str], words: list[str]
) -> int:
    """Run `nextflow` with the words after --, its tasks in a service of this directory, and exit as Nextflow does.

    The pipeline stays as it is. Each task is measured, limited and sized by what earlier ones of its process needed:
    task.memory, task.cpus and task.time say what it may use. One that runs out of memory is run again with more, and
    the pipeline's own retries do not notice. -resume works as ever. Options of `headway service` go before the --; what
    it says is in .headway/service.log. `headway usage` and `why` know tasks by their process and tag.

    With --sizes-only, tasks run where they ran before (on this machine, in a batch system, in a cloud), measured by
    Nextflow's own wrapper; memory and cpus are what earlier tasks needed.

    \b
    Examples:
      headway nextflow -- run main.nf
      headway nextflow -- run nf-core/rnaseq -profile test,singularity --outdir results -resume
      headway nextflow --on slurm --fresh -- run main.nf
      headway nextflow --sizes-only -- run main.nf -profile kubernetes
      headway why 'ALIGN[sample1]'
    """
    from headway.api.nextflow import nextflow

    ended = nextflow(words, options=options, sizes_only=sizes_only, off=off, program=program or "nextflow", warn=warn)
    if as_json:
        print_json(ended.document())
    return ended.exit_code
