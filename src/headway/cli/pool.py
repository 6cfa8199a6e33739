"""`headway pool`: nodes that outlive runs, shared by many workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.console import Console

from headway.cli.options import SPAN, answers, json_option, option
from headway.cli.output import warn
from headway.cli.pool_members import invite, members, revoke
from headway.cli.run_options import log_as_set, service_options
from headway.model.units import format_bytes
from headway.report.columns import Field, table_lines
from headway.report.saying import show
from headway.report.words import count, harmless

if TYPE_CHECKING:
    from headway.api.pool import PoolStatus, PoolStopped
    from headway.api.settings import RunSettings

_name = click.argument("name", default="default", metavar="[NAME]")


@click.group("pool", short_help="Let many workflows share what is held.")
@json_option
def command(as_json: bool) -> None:
    """Hold cores and memory, here or in jobs of a cluster, for the workflows of any number of directories.

    \b
    Examples:
      headway pool start &                 a pool of this machine, called default
      headway run --pool                   the tasks of this directory's workflow run there ...
      headway run ~/sky/sky.yaml --pool    ... with those of another; together they take no more than there is
      headway pool status                  who uses what?
      headway pool stop                    when the last workflow has ended
      headway pool start night --on slurm --idle 30m
                                           jobs of a cluster, for all `headway run --pool night`
    """


for each in (invite, members, revoke):
    command.add_command(each)

_FIELDS = (
    Field("tasks", "running", lambda member: f"{member.running:,}", 100),
    Field("tasks", "waiting", lambda member: f"{member.waiting:,}", 90),
    Field("in use", "cores", lambda member: f"{member.cores:g}", 80),
    Field("in use", "memory", lambda member: format_bytes(member.memory_bytes), 70),
    Field("", "user", lambda member: harmless(member.user), 55),
    Field("", "manager", lambda member: "at work" if member.at_work else "gone", 60),
    Field("", "directory", lambda member: harmless(member.directory), 50),
)


def _show(console: Console, status: PoolStatus) -> None:
    where = "this machine" if status.cluster == "local" else status.cluster
    held = f"{status.cores:g} cores and {format_bytes(status.memory_bytes)} memory on {count(status.nodes, 'node')}"
    used = f"{status.cores_used:g} cores and {format_bytes(status.memory_bytes_used)} in use"
    stopping = "; it takes no more workflows" if status.draining else ""
    show(console, f"pool {status.name} on {where}, process {status.manager_pid}: {held}; {used}{stopping}")
    if not status.members:
        show(console, "no workflow uses it")
        return
    names = [harmless(f"{member.name}, run {member.run}") for member in status.members]
    show(console, *table_lines("workflow", names, status.members, _FIELDS, console.width, total=False))


@command.command("start", short_help="Start a pool, or go on with one.")
@_name
@option("--idle idle_s", "End when no workflow has used the pool for this time, such as 10m.", type=SPAN)
@option("--group GROUP", "Let users of this group reach the pool on this host; invite those who may use it.")
@service_options
@json_option
def start(name: str, idle_s: float | None, group: str | None, settings: RunSettings, as_json: bool) -> int:
    """Start the pool NAME, or go on with it after it was stopped or killed.

    A NAME with a slash is the pool's directory. Ctrl-C lets running tasks end and starts no others; Ctrl-C again
    stops them. Workflows then wait until the pool is started again; nothing of them is lost.
    """
    log_as_set(settings)

    from headway.api.pool import start_pool
    from headway.cli.watching import watch

    return watch(
        lambda progress: start_pool(name, settings, idle_s=idle_s, group=group, progress=progress, warn=warn),
        quiet=settings.quiet,
        as_json=as_json,
    )


@command.command("status", short_help="Show who uses what of a pool.")
@_name
@answers(_show)
def status(name: str) -> PoolStatus:
    """Show who uses what of the pool NAME: workflows, their directories and tasks, cores and memory."""
    from headway.api.pool import pool_status

    return pool_status(name)


@command.command("stop", short_help="End a pool when its last workflow has ended.")
@_name
@option("--now", "Stop what runs; the workflows wait until the pool is started again.", is_flag=True)
@option("--wait/--no-wait", "Return only when the pool has ended.", default=True)
@answers(lambda _, stopped: click.echo(stopped.message))
def stop(name: str, now: bool, wait: bool) -> PoolStopped:
    """Let the pool NAME take no more workflows, and end it when the last of its workflows has ended."""
    from headway.api.pool import stop_pool

    return stop_pool(name, now=now, wait=wait)
