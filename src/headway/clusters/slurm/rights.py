"""What the accounting database says of a user: which account and QOS jobs get, which others there are, and the limits.

A limit of a QOS replaces the same limit of the association, and one of the partition's QOS replaces both, as in Slurm.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.squeue import limit_of
from headway.model.errors import InputError, SiteError
from headway.model.limits import MOST_BYTES

_TRES = re.compile(r"(cpu|node|mem|gres/gpu)=(\d{1,15})([KMGTP]?)", re.ASCII)
_UNITS = {"K": 2**10, "": 2**20, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
_FIELDS = {"cpu": "cpus", "node": "nodes", "mem": "memory_bytes", "gres/gpu": "gpus"}
_SHARED = ("GrpJobs", "GrpSubmit", "GrpTRES")
_OF_ASSOCIATION = ("MaxJobs", "MaxSubmit", "MaxWall", "MaxTRES", *_SHARED)
# A QOS limits the jobs of one user by names of its own.
_OF_QOS = {"MaxJobsPU": "MaxJobs", "MaxSubmitPU": "MaxSubmit", "MaxTRESPU": "MaxTRESPU"}
_USER_COLUMNS = ("DefaultAccount", "Account", "Partition", "DefaultQOS", "QOS", *_OF_ASSOCIATION)
_ACCOUNT_COLUMNS = ("Account", "ParentName", *_SHARED)
_QOS_COLUMNS = ("Name", "UsageFactor", *_OF_QOS, "MaxWall", "MaxTRES", *_SHARED)
_USUAL_QOS = "normal"
_MOST_DIGITS = 15
_WHAT = {
    "jobs": "jobs in the queue",
    "walltime_s": "time",
    "nodes": "nodes",
    "cpus": "cores",
    "memory_bytes": "memory",
}

Limits = dict[str, tuple[float, str]]  # by Slurm's name and resource (`GrpTRES cpu`): the limit, and whose it is


class UserLimits(Struct, frozen=True):
    """The limits of one user; None: no such limit is known."""

    jobs: int | None = None  # in the queue at the same time
    walltime_s: float | None = None
    nodes: int | None = None  # of one job
    cpus: int | None = None  # of one job
    memory_bytes: int | None = None  # of one job, all its nodes together
    gpus: int | None = None  # of one job, all its nodes together
    because: dict[str, str] = {}  # by field: Slurm's name of the limit, and whose it is

    def said(self, name: str) -> str:
        """Whose limit one is, for the end of a sentence; nothing if that is not known."""
        return f" ({self.because[name]})" if name in self.because else ""

    def obstacle(self) -> str:
        """Say which limit allows no job at all; nothing if none does."""
        for name, what in _WHAT.items():
            if getattr(self, name) == 0:
                return f"you may have no {what} here{self.said(name)}"
        return ""


class Rights(Struct, frozen=True):
    """The account and the QOS that jobs get; None, or no choices: not known."""

    account: str | None = None
    qos: str | None = None
    accounts: tuple[str, ...] = ()  # that the user may choose
    choices: tuple[str, ...] = ()  # the QOS that the account may choose
    of_account: Limits = {}
    of_qos: dict[str, Limits] = {}
    usage_factor: float = 1.0  # of the QOS: how much of what jobs use counts

    def limits(self, partition_qos: str | None) -> UserLimits:
        """The limits of jobs in a partition with this QOS."""
        of_qos = {**self.of_qos.get(self.qos or "", {}), **self.of_qos.get(partition_qos or "", {})}
        return _least_of({**self.of_account, **of_qos})

    def check(self, options: SlurmOptions) -> None:
        """Raise a SiteError that says what is allowed if the account or the QOS that the user names is not."""
        if options.account and self.accounts and self.account not in self.accounts:
            todo = f"your accounts here are {', '.join(self.accounts)}"
            raise SiteError(f"you have no account {self.account} on this cluster", where="--account", todo=todo)
        if options.qos and self.choices and self.qos not in self.choices:
            todo = f"it may use {', '.join(self.choices)}"
            raise SiteError(f"account {self.account} may not use QOS {self.qos}", where="--qos", todo=todo)


class Rows(NamedTuple):
    """What the accounting database shows of a user's associations, of all QOS, and of all accounts."""

    of_user: list[list[str]]
    of_qos: list[list[str]]
    of_accounts: list[list[str]]


def read_rows(commands: Commands, user: str, cluster: str) -> Rows:
    """Read all that rights depend on in one call; nothing where the database does not answer."""
    tables = (
        (f"user name={user} withassoc cluster={cluster}", _USER_COLUMNS),
        ("qos", _QOS_COLUMNS),
        (f"assoc cluster={cluster} user=", _ACCOUNT_COLUMNS),
    )
    return Rows(*_sacctmgr(commands, *tables))


def rights_of(shown: Rows, options: SlurmOptions, *, enforced: bool) -> Rights:
    """A user's rights with the account and the QOS of the options; limits only where the site enforces them."""
    rows, rows_of_qos, rows_of_accounts = shown
    if not rows:
        return Rights(options.account, options.qos)
    accounts = tuple(dict.fromkeys(row[1] for row in rows if row[1]))
    account = (options.account or rows[0][0]).lower() or None  # Slurm keeps names in small letters
    mine = [row for row in rows if row[1] == account]
    if not mine:
        return Rights(account, options.qos, accounts)
    named = (options.partition or "").split(",")
    mine.sort(key=lambda row: row[2] not in ("", *named))  # an association may count in one partition only
    _, _, _, usual_qos, listed, *cells = mine[0]
    choices = tuple(name.lstrip("+") for name in listed.split(",") if name and not name.startswith("-"))
    qos = (options.qos or usual_qos).lower() or (_USUAL_QOS if _USUAL_QOS in choices or not choices else None)
    factors = {row[0]: float(row[1]) for row in rows_of_qos if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", row[1], re.ASCII)}
    factor = factors.get(qos or "", 1.0)
    if not enforced:
        return Rights(account, qos, accounts, choices, usage_factor=factor)
    parents = {row[0]: row[1:] for row in rows_of_accounts}
    limits = _limits(_OF_ASSOCIATION, cells, f"account {account}")
    name = account or ""
    while name in parents:  # what a parent account limits is shared by all its users
        parent, *shared = parents.pop(name)
        for key, found in _limits(_SHARED, shared, f"account {name}").items():
            limits[key] = min(found, limits.get(key, found))
        name = parent
    of_qos = {
        row[0]: _limits([*_OF_QOS.values(), "MaxWall", "MaxTRES", *_SHARED], row[2:], f"QOS {row[0]}")
        for row in rows_of_qos
    }
    return Rights(account, qos, accounts, choices, limits, of_qos, factor)


def _sacctmgr(commands: Commands, *tables: tuple[str, Sequence[str]]) -> list[list[list[str]]]:
    """Return the rows of several tables, each given by what to show and its columns; none where there is no answer."""
    questions = [f"show {what} format={','.join(columns)}" for what, columns in tables]
    texts = commands.ask_all("sacctmgr", "--noheader", "--parsable2", questions=questions)
    return [
        [row for line in (text or "").splitlines() if len(row := line.split("|")) == len(columns)]
        for text, (_, columns) in zip(texts, tables, strict=True)
    ]


def _limits(names: Sequence[str], cells: Sequence[str], whose: str) -> Limits:
    """Parse limits; those that cannot be read are left out."""
    found: Limits = {}
    for name, cell in zip(names, cells, strict=True):
        said = f"{name} of {whose}"
        if "TRES" in name:
            for resource, number, unit in _TRES.findall(cell):
                amount = min(MOST_BYTES, int(number) * (_UNITS[unit] if resource == "mem" else 1))
                found[f"{name} {resource}"] = (amount, f"{name} {resource}={number}{unit} of {whose}")
        elif name == "MaxWall":
            try:
                longest_s = limit_of(cell)
            except InputError:
                continue
            if longest_s is not None:
                found[name] = (longest_s, said)
        elif cell.isdecimal() and len(cell) <= _MOST_DIGITS:
            found[name] = (int(cell), said)
    return found


def _least_of(limits: Limits) -> UserLimits:
    """The least of the limits of each kind: what jobs may have together, one of them may have."""
    least: dict[str, tuple[float, str]] = {}
    for key, found in limits.items():
        name, _, resource = key.partition(" ")
        field = _FIELDS[resource] if resource else "walltime_s" if name == "MaxWall" else "jobs"
        least[field] = min(found, least.get(field, found))
    values: dict[str, Any] = {
        field: value if field == "walltime_s" else int(value) for field, (value, _) in least.items()
    }
    return UserLimits(**values, because={field: said for field, (_, said) in least.items()})
