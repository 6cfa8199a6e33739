"""The options of `headway run` that are about a batch system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from headway.model.errors import InputError

DEFAULT_PLAN = "headway"


def batch_system_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--on slurm`, and what jobs there are to be like."""
    for option in reversed(
        (
            click.option(
                "--on",
                "cluster",
                type=click.Choice(["local", "slurm"]),
                default="local",
                envvar="HEADWAY_ON",
                show_default=True,
                help="Where tasks run: on this machine, or in jobs of a Slurm cluster.",
            ),
            click.option(
                "--plan",
                metavar="NAME",
                envvar="HEADWAY_PLAN",
                help=f"Which jobs to ask for, and when; by default {DEFAULT_PLAN}. See `headway policies`.",
            ),
            click.option("--partition", metavar="NAME", help="For jobs; by default where they start soonest."),
            click.option("--account", metavar="NAME", help="Jobs are charged to it."),
            click.option("--qos", metavar="NAME", help="The quality of service of jobs."),
            click.option("--constraint", metavar="FEATURES", help="What nodes must have."),
            click.option(
                "--sbatch",
                "flags",
                metavar="FLAG",
                multiple=True,
                help="A further flag, as --sbatch=--nice=5.",
            ),
            click.option(
                "--lines",
                type=click.Choice(["files", "dask"]),
                help="How nodes are talked to: through the shared file system, or by encrypted connections.",
            ),
        )
    ):
        command = option(command)
    return command


def batch_of(cluster: str, plan: str | None, flags: Sequence[str], **named: str | None) -> tuple[str, dict[str, str]]:
    """The plan, and what the batch system is told."""
    chosen = {name: value for name, value in named.items() if value}
    if cluster == "local":
        stray = ["plan"] * bool(plan) + ["sbatch"] * bool(flags) + list(chosen)
        if stray:
            raise InputError(f"--{stray[0]} is about a batch system", where=f"--{stray[0]}", todo="add --on slurm")
        return "", {}
    from headway.drivers.assemble import known
    from headway.planning import PLANS

    known("plan", plan or DEFAULT_PLAN, PLANS)
    return plan or DEFAULT_PLAN, chosen | ({"flags": " ".join(flags)} if flags else {})
