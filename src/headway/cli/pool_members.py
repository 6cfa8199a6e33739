"""`headway pool invite`, `members` and `revoke`: who may use a pool besides its owner."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from rich.console import Console

from headway.cli.options import CORES, SIZE, answers, option
from headway.model.units import format_bytes
from headway.report.columns import Field, table_lines
from headway.report.saying import show

if TYPE_CHECKING:
    from headway.api.members import Invited, PoolMembers, PoolShare, Revoked

_member = click.argument("member")
_name = click.argument("name", default="default", metavar="[NAME]")


def _cores(each: PoolShare) -> str:
    return f"{each.most_cores:g}" if each.most_cores else "any"


def _memory(each: PoolShare) -> str:
    return format_bytes(int(each.most_memory_bytes)) if each.most_memory_bytes else "any"


_FIELDS = (
    Field("", "weight", lambda each: f"{each.weight:g}", 100),
    Field("at most", "cores", _cores, 90),
    Field("at most", "memory", _memory, 80),
)


def _show(console: Console, found: PoolMembers) -> None:
    show(console, f"pool {found.pool}: {f'group {found.group}' if found.group else 'its owner only'}")
    if not found.members:
        show(console, "it has no members")
        return
    names = [each.name for each in found.members]
    show(console, *table_lines("member", names, found.members, _FIELDS, console.width, total=False))


@click.command("invite", short_help="Let somebody else use a pool.")
@_member
@_name
@option("--weight NUMBER", "The member's part of the pool against that of others.", type=float, default=1.0)
@option("--cores", "The most cores that the member's tasks hold at a time.", type=CORES)
@option("--memory memory_bytes", "The most memory that they hold at a time, such as 64GB.", type=SIZE)
@option("--i-trust-them", "Do not ask whether the member may do everything that this account can.", is_flag=True)
@answers(lambda _, invited: click.echo(invited.message))
def invite(
    member: str, name: str, weight: float, cores: float | None, memory_bytes: float | None, i_trust_them: bool
) -> Invited:
    """Let MEMBER, a user of this host, use the pool NAME.

    What members run there runs as the pool's account: a member can read, change and delete whatever that account can.
    Where people do not trust each other so far, each runs a pool of their own (`headway docs members`).

    \b
    Examples:
      headway pool start /srv/pool --group lab &
      headway pool invite anna /srv/pool --weight 2 --cores 64
      headway run --pool /srv/pool                    (by anna)
    """
    from headway.api.members import invite, members, what_it_means

    if not 0 < weight < 1e6:
        raise click.BadParameter("must be above 0", param_hint="--weight")
    is_new = all(each.name != member for each in members(name).members)
    if is_new and not i_trust_them and sys.stdin.isatty():
        i_trust_them = click.confirm(f"{what_it_means(member)}.\nInvite {member}?", abort=True, err=True)
    return invite(member, name, weight=weight, cores=cores, memory_bytes=memory_bytes, i_trust_them=i_trust_them)


@click.command("members", short_help="Show who may use a pool.")
@_name
@answers(_show)
def members(name: str) -> PoolMembers:
    """Show who may use the pool NAME besides its owner, what of it, and where their workflows may lie."""
    from headway.api.members import members

    return members(name)


@click.command("revoke", short_help="Let a member use a pool no more.")
@_member
@_name
@answers(lambda _, revoked: click.echo(revoked.message))
def revoke(member: str, name: str) -> Revoked:
    """Let MEMBER use the pool NAME no more: what of theirs waits is refused, and what runs is stopped."""
    from headway.api.members import revoke

    return revoke(member, name)
