"""`headway run`: run what is new or has changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.batch_system import batch_of, batch_system_options
from headway.cli.completion import complete_sizer
from headway.cli.detach import detach_option, go_to_background
from headway.cli.options import CORES, SIZE, json_option, quiet_option, supervision_options
from headway.cli.output import warn
from headway.cli.settings import use_settings
from headway.cli.synthetic import (
    make_files,
    name_of_stand_ins,
    read_runnable,
    scales_of,
    stand_ins_for,
    synthetic_options,
)
from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.drivers.runs import Options

DEFAULT_FILE = "workflow.yaml"


@click.command("run", short_help="Run a workflow: what is new or has changed.")
@click.argument(
    "workflow",
    type=click.Path(path_type=Path, readable=False),  # whoever reads it has the better sentence
    default=DEFAULT_FILE,
    is_eager=True,
    callback=use_settings,
)
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would run, why, and with which sizes.")
@click.option("--cores", type=CORES, envvar="HEADWAY_CORES", help="Use at most so many cores of this machine.")
@click.option("--memory", type=SIZE, envvar="HEADWAY_MEMORY", help="Use at most so much memory, such as 8GB.")
@click.option("--disk", type=SIZE, envvar="HEADWAY_DISK", help="Use at most so much disk, such as 200GB.")
@click.option(
    "--sizer",
    envvar="HEADWAY_SIZER",
    metavar="NAME",
    shell_complete=complete_sizer,
    help="How tasks are sized; see `headway policies`.",
)
@click.option("--order", envvar="HEADWAY_ORDER", metavar="NAME", help="Which ready task goes first.")
@click.option(
    "--seed", type=int, default=0, envvar="HEADWAY_SEED", show_default=True, help="For policies that draw at random."
)
@click.option(
    "-k/-K",
    "--keep-going/--no-keep-going",
    envvar="HEADWAY_KEEP_GOING",
    help="After a failure, go on with all that does not depend on it.",
)
@click.option("--again", is_flag=True, help="Run everything, also what has not changed.")
@click.option("--fresh", is_flag=True, envvar="HEADWAY_FRESH", help="Size tasks as if nothing had ever been run.")
@click.option(
    "--history",
    metavar="PLACE",
    default="",
    envvar="HEADWAY_HISTORY",
    help="Where what was learned is kept between runs: a file, or postgresql://user@host/database; `none`: nowhere.",
)
@detach_option
@batch_system_options
@synthetic_options
@supervision_options
@quiet_option
@json_option
def command(
    workflow: Path,
    dry_run: bool,
    cores: float | None,
    memory: float | None,
    disk: float | None,
    sizer: str | None,
    order: str | None,
    seed: int,
    keep_going: bool,
    again: bool,
    fresh: bool,
    history: str,
    detach: bool,
    cluster: str,
    plan: str | None,
    partition: str | None,
    account: str | None,
    qos: str | None,
    constraint: str | None,
    flags: tuple[str, ...],
    lines: str | None,
    synthetic: bool,
    scale: float | None,
    scale_time: float | None,
    scale_memory: float | None,
    scale_bytes: float | None,
    measure: str,
    grace: float,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run WORKFLOW (by default workflow.yaml) in the directory it lies in.

    Only what is new or has changed runs: a task whose command, settings and input files are those of an
    earlier success, and whose outputs are there, is not run again.

    \b
    Examples:
      headway run                          workflow.yaml, right here
      headway run -n                       what would run, and why?
      headway run --cores 4 --memory 8GB   leave the rest of the machine alone
      headway run -k nightly.yaml          do as much as can be done
      headway run --on slurm               in jobs of the cluster whose login node this is
      headway run --on slurm --detach      and log out meanwhile; `headway attach` follows it
      headway run montage.json --synthetic --scale 0.01
                                           stand-ins that take a hundredth of what was recorded

    Ctrl-C stops gently: running tasks may end. Ctrl-C again stops them at once. Either way `headway resume`
    goes on where it stopped.

    The exit code is 0 if all tasks succeeded, 1 if some failed, 130 if the run was stopped; see `headway --help`.
    """
    directory = workflow.absolute().parent
    if detach and dry_run:
        raise InputError("a dry run is over at once", where="--detach", todo="leave one of the two out")
    # Before anything that has threads is imported: they would be missing in the background.
    background = [go_to_background(directory, as_json=as_json)] if detach else []
    as_json = as_json and not detach

    from headway.drivers.runs import Options
    from headway.ordering import DEFAULT_ORDER
    from headway.sizing import DEFAULT_SIZER

    scales = scales_of(synthetic, scale, scale_time, scale_memory, scale_bytes)
    made = stand_ins_for(workflow, scales, cores) if scales else None
    graph = made.workflow if made else read_runnable(workflow)
    amounts = {"cores": cores, "memory_bytes": memory, "disk_bytes": disk}
    chosen, batch = batch_of(
        cluster, plan, flags, partition=partition, account=account, qos=qos, constraint=constraint, lines=lines
    )
    options = Options(
        cluster=cluster,
        plan=chosen,
        batch=batch,
        sizer=sizer or DEFAULT_SIZER,
        order=order or DEFAULT_ORDER,
        seed=seed,
        keep_going=keep_going,
        again=again,
        stated={name: value for name, value in amounts.items() if value is not None},
        grace_s=grace,
        measure=measure,
        fresh=fresh,
        history=history,
        known_as=name_of_stand_ins(graph.name, scales) if scales else "",
    )
    _check(options, directory)
    if dry_run:
        from headway.cli.dry_run import print_plan
        from headway.cli.foresight import foresee
        from headway.cli.output import console_for, print_json

        if made:
            graph = made.without_missing_inputs(directory)
        foreseen = foresee(graph, directory, options, str(workflow), warn)
        if as_json:
            print_json(foreseen.document())
        elif not quiet:
            print_plan(console_for(), foreseen)
        return 0

    from headway.cli.watching import watch
    from headway.drivers.real import Observer
    from headway.drivers.runs import start
    from headway.journal.folder import RunFolder
    from headway.report.run.summary import RunSummary

    if made:
        make_files(made, directory)

    def drive(observer: Observer) -> RunFolder:
        folder, _ = start(graph, directory, options, source=str(workflow), observers=[*background, observer], warn=warn)
        return folder

    return watch(drive, RunSummary(), quiet=quiet, as_json=as_json)


def _check(options: Options, directory: Path) -> None:
    """Complain of options that cannot be met before anything is written."""
    from headway.clusters.machine import machine, part_of
    from headway.drivers.assemble import known, orders, sizing_policies
    from headway.drivers.targets import LOCAL
    from headway.history.location import history_location

    known("sizer", options.sizer, sizing_policies())
    known("order", options.order, orders())
    if options.cluster == LOCAL:
        part_of(machine(directory), options.stated)
    history_location(options.history)
