"""What a user can set for a run, and the record that a run begins with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from headway.model.records import ChosenSetting, RunStarted
from headway.ordering import DEFAULT_ORDER
from headway.version import __version__

LOCAL = "local"
POOL = "pool"
IN_JOB = "job"  # where a manager may be besides "here"
DEFAULT_SIZER = "ladder"  # a name of `headway.sizing`, whose algorithms take long to import
DEFAULT_FAILURES = 0.03
STRICT, AS_STATED = "strict", "as-stated"  # sandboxes: all of them strict, or those of which the workflow says so


class RunSettings(Struct, frozen=True, kw_only=True):
    """The settings of one run.

    `cores`, `memory_bytes` and `disk_bytes` limit the part of this machine that may be used; None means all of it.
    `history` is the location of the history: a file, a `postgresql://` address, `none`, or empty for the default.
    `batch` is passed to the batch system: `partition`, `account`, `qos`, `constraint`, `flags`, `lines`.
    `prefer` tells the plan what an hour sooner is worth: `time`, `balanced`, `cost` or a number of core-hours.
    `budget` limits the core-hours that all jobs of the run hold: at the limit no more tasks start.
    `manager` says where the run is managed: `here`, by the process that starts it, or in a `job` of its own, of at most
    `manager_time_s` at a time.
    `log_level` counts in processes of our own: the command line and managers in the background.
    `quiet` is for the command line, which then shows no progress.
    `tasks`, `until` and `force` name categories, tasks or output files, or are patterns of such names: run only `tasks`
    and what they need, nothing that comes after `until`, and run `force` although nothing changed. `only` chooses tasks
    by the values of their columns: `sample=s1,s2`.
    `sandbox` is `strict`, so that every task in a sandbox sees its inputs only, or `as-stated` in the workflow. With
    `check_inputs` a strict task that looked for another file runs again and sees that file, too.
    """

    cores: float | None = None
    memory_bytes: float | None = None
    disk_bytes: float | None = None
    sizer: str = DEFAULT_SIZER
    order: str = DEFAULT_ORDER
    failures: float = DEFAULT_FAILURES  # share of attempts that may fail once a category is known; 1: any
    seed: int = 0
    keep_going: bool = False
    again: bool = False
    tasks: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
    force: tuple[str, ...] = ()
    sandbox: str = AS_STATED
    check_inputs: bool = False
    fresh: bool = False
    history: str = ""
    cluster: str = LOCAL
    pool: str = ""  # the name of the pool in which tasks run; empty: in none
    plan: str = ""
    prefer: str = ""
    budget: float | None = None  # core-hours that jobs may hold
    batch: dict[str, str] = field(default_factory=dict)
    manager: str = "here"
    manager_time_s: float | None = None  # of one job; None: a day, or what the partition allows
    manager_partition: str = ""  # of those jobs; empty: as for the run's other jobs
    measure: str = "auto"
    grace_s: float = 5.0
    linger_s: float = 120.0  # how long a supervisor without a manager and without tasks waits for them
    log_level: str = ""
    quiet: bool = False
    report: bool = False  # write a page about the run at its end
    notify: tuple[str, ...] = ()  # whom to tell of the run: https://…, command:…, mail:…; never written to the journal
    stuck_s: float = 1800.0  # nothing ran for so long: they are told
    site: str = ""  # this machine's name in the history; by default the name of the cluster or the host
    project: str = ""  # directories that name the same project share what they learn; empty: this directory's own
    config: dict[str, str | list[str]] = field(default_factory=dict)  # replaces values of `config` in the workflow file
    known_as: str = ""  # the workflow's name in the history, if its own name would mix different kinds of work
    chosen: tuple[ChosenSetting, ...] = ()  # which of these took effect besides defaults, for people
    config_used: dict[str, str | list[str]] = field(default_factory=dict)  # all of `config`, without secrets
    stand_ins: tuple[float, ...] = ()  # of a run of stand-ins: the factors of time, memory and bytes

    @property
    def stated(self) -> dict[str, float]:
        """The amounts that limit this run, by resource."""
        amounts = {"cores": self.cores, "memory_bytes": self.memory_bytes, "disk_bytes": self.disk_bytes}
        return {name: value for name, value in amounts.items() if value is not None}


# The settings that a resumed run has to find again.
_POLICIES = ("sizer", "order", "failures", "seed", "plan", "prefer", "budget")
_SANDBOXES = ("sandbox", "check_inputs")
_KEPT = (*_POLICIES, *_SANDBOXES, "keep_going", "again", "stated", "fresh", "cluster", "batch", "chosen", "stand_ins")
_PART = ("tasks", "only", "until", "force")


def run_started(
    settings: RunSettings,
    *,
    name: str,
    at: float,
    run: str = "1",
    uid: str = "",
    directory: str = "",
    source: str = "",
    growing: bool = False,
    warnings: Sequence[str] = (),
    left_out: Sequence[str] = (),
    owner: str = "",
    strays: Mapping[str, str] | None = None,
    to_come: Mapping[str, tuple[str, ...]] | None = None,
    kept: Sequence[str] = (),
    made_with: Mapping[str, str] | None = None,
) -> RunStarted:
    """Return the first record of a run, real or simulated: the only place that makes one."""
    return RunStarted(
        at=at,
        run=run,
        uid=uid,
        name=name,
        directory=directory,
        source=source,
        file=_file_in(directory, source),
        config=settings.config_used,
        version=__version__,
        growing=growing,
        warnings=tuple(warnings),
        left_out=tuple(left_out),
        owner=owner,
        strays=dict(strays or {}),
        to_come=dict(to_come or {}),
        kept=tuple(kept),
        made_with=dict(made_with or {}),
        **{name: getattr(settings, name) for name in (*_KEPT, *_PART)},
    )


def _file_in(directory: str, source: str) -> str:
    """Return the path of a workflow file from the workflow's directory, if there are both."""
    if not directory or not source:
        return ""
    path = os.path.abspath(source)
    is_inside = os.path.realpath(os.path.dirname(path)) == os.path.realpath(directory)
    return os.path.basename(path) if is_inside else os.path.relpath(path, directory)
