"""`headway run`: run what is new or has changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.detached import detach_option, print_detached
from headway.cli.options import json_option, option
from headway.cli.output import warn
from headway.cli.run_options import DEFAULT_FILE, log_as_set, run_options
from headway.cli.stand_in_options import stand_in_options
from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.api.runnable import Scale
    from headway.api.settings import RunSettings


@click.command("run", short_help="Run a workflow: what is new or has changed.")
@click.argument(
    "workflow",
    metavar="[WORKFLOW]",
    type=click.Path(path_type=Path, readable=False),  # the reader's own error says more
    default=DEFAULT_FILE,
)
@option("-n --dry-run", "Only say what would run, why, and with which sizes.", is_flag=True)
@run_options
@detach_option
@stand_in_options
@json_option
def command(
    workflow: Path, dry_run: bool, detach: bool, stand_ins: Scale | None, settings: RunSettings, as_json: bool
) -> int:
    """Run WORKFLOW (by default workflow.yaml) in the directory it lies in, or only each TASK and what it needs.

    Only what is new or has changed runs: a task whose command, settings and input files are those of an
    earlier success, and whose outputs are there, is not run again. A TASK is a category, a task or an output file.

    \b
    Examples:
      headway run                          workflow.yaml, right here
      headway run -n                       what would run, and why?
      headway run align 'sort[s1]' a.bam   only these and what they need
      headway run --force align            align again, and what depends on it if its outputs change
      headway run --cores 4 --memory 8GB   leave the rest of the machine alone
      headway run -k nightly.yaml          do as much as can be done
      headway run --set genome=hg19        another value of `config` in the file
      headway run --on slurm               in jobs of the cluster whose login node this is
      headway run --on slurm --detach      and log out meanwhile; `headway attach` follows it
      headway run montage.json --synthetic --scale 0.01
                                           stand-ins that take a hundredth of what was recorded

    Ctrl-C stops gently: running tasks may end. Ctrl-C again stops them at once. Either way `headway resume`
    goes on where it stopped.

    The exit code is 0 if all tasks succeeded, 1 if some failed, 130 if the run was stopped; see `headway --help`.
    """
    if detach and dry_run:
        raise InputError("a dry run is over at once", where="--detach", todo="leave one of the two out")
    if detach:
        from headway.api.detach import detach as detach_run

        return print_detached(detach_run(workflow, None, settings, stand_ins=stand_ins), as_json=as_json)
    log_as_set(settings)
    if dry_run:
        from headway.api.preview import preview
        from headway.cli.dry_run import print_preview

        foreseen = preview(workflow, None, settings, stand_ins=stand_ins, warn=warn)
        return print_preview(foreseen, quiet=settings.quiet, as_json=as_json)

    from headway.api.start import start
    from headway.cli.watching import watch

    return watch(
        lambda progress: start(workflow, None, settings, stand_ins=stand_ins, progress=progress, warn=warn),
        quiet=settings.quiet,
        as_json=as_json,
    )
