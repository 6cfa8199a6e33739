"""`headway run`: run what is new or has changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.api.choices import IN_JOB
from headway.cli.completion import complete_file_or_task
from headway.cli.detached import detach_option, print_detached
from headway.cli.options import SPAN, json_option, option
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
    shell_complete=complete_file_or_task,
)
@option("-n --dry-run", "Only say what would run, why, and with which sizes.", is_flag=True)
@option(
    "--check-inputs", "Run all tasks once, beside their results, and say which inputs are not declared.", is_flag=True
)
@option("--deadline deadline_s", "Slurm: be as cheap as ending within T most likely allows, such as 24h.", type=SPAN)
@run_options
@option("--serve", "Show this run in a browser while it goes on.", is_flag=True)
@detach_option
@stand_in_options
@json_option
def command(
    workflow: Path,
    dry_run: bool,
    check_inputs: bool,
    deadline_s: float | None,
    serve: bool,
    detach: bool,
    stand_ins: Scale | None,
    settings: RunSettings,
    as_json: bool,
) -> int:
    """Run WORKFLOW (by default workflow.yaml) in the directory it lies in, or only each TASK and what it needs.

    Only what is new or has changed runs: a task whose command, settings and input files are those of an
    earlier success, and whose outputs are there, is not run again. A TASK is a category, a task or an output file,
    or a pattern of such names, in which * and ? are wildcards.

    \b
    Examples:
      headway run                          workflow.yaml, right here
      headway run -n                       what would run, and why?
      headway run align 'sort[s1]' a.bam   only these and what they need
      headway run 'align[s1?]' '*[s3]'     all tasks with such names; * and ? are wildcards
      headway run --only sample=s1,s2      only tasks with these samples, and what they need
      headway run --force align            align again, and what depends on it if its outputs change
      headway run --cores 4 --memory 8GB   leave the rest of the machine alone
      headway run -k nightly.yaml          do as much as can be done
      headway run --check-inputs           which files do tasks read that are not among their inputs?
      headway run --set genome=hg19        another value of `config` in the file
      headway run --on slurm               in jobs of the cluster whose login node this is
      headway run --on slurm --deadline 24h
                                           as cheap as ending by tomorrow most likely allows
      headway run --on slurm --detach      and log out meanwhile; `headway attach` follows it
      headway run --on slurm --manager job
                                           the manager is in a job, too: nothing stays on the login node
      headway run montage.json --synthetic --scale 0.01
                                           stand-ins that take a hundredth of what was recorded

    Ctrl-C stops gently: running tasks may end. Ctrl-C again stops them at once. Either way `headway resume`
    goes on where it stopped.

    The exit code is 0 if all tasks succeeded, 1 if some failed, 130 if the run was stopped; see `headway --help`.
    """
    if detach and dry_run:
        raise InputError("a dry run is over at once", where="--detach", todo="leave one of the two out")
    if serve and (detach or dry_run):
        where, todo = "--detach" if detach else "--dry-run", "leave one out; `headway serve` shows all runs"
        raise InputError("--serve ends with the run that it shows", where=where, todo=todo)
    if check_inputs:
        from headway.cli.check_inputs import check, refuse

        others = {"--dry-run": dry_run, "--detach": detach, "--serve": serve, "--synthetic": stand_ins is not None}
        refuse(others | {"--manager": settings.manager == IN_JOB})
        log_as_set(settings)
        return check(workflow, settings, as_json=as_json)
    if deadline_s is not None:
        from headway.api.deadline import keeping

        settings, said = keeping(deadline_s, workflow, settings)
        warn(said)
    if detach or (settings.manager == IN_JOB and not dry_run):
        from headway.api.detach import detach as detach_run

        return print_detached(detach_run(workflow, None, settings, stand_ins=stand_ins, warn=warn), as_json=as_json)
    log_as_set(settings)
    if dry_run:
        from headway.api.preview import preview
        from headway.cli.dry_run import print_preview

        foreseen = preview(workflow, None, settings, stand_ins=stand_ins, warn=warn)
        return print_preview(foreseen, quiet=settings.quiet, as_json=as_json)

    from headway.cli.watching import run_watched

    return run_watched(workflow, settings, stand_ins, serve=serve, as_json=as_json)
