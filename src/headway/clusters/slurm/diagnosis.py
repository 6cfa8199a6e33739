"""The checks of `headway doctor --on slurm`: what works at a site, and what does not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from headway.clusters.slurm.agreement import agreement, planned_against_real
from headway.clusters.slurm.backfill import backfill_of
from headway.clusters.slurm.commands import Commands, why_no_login_node
from headway.clusters.slurm.job_details import read_details
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.probes import probe
from headway.clusters.slurm.site import SlurmSite
from headway.clusters.slurm.site_reading import Configuration, Partition, read_reservations
from headway.clusters.slurm.squeue import own_jobs
from headway.model.errors import SiteError
from headway.model.job import JobPhase
from headway.model.records import SeenWait
from headway.model.resources import Resources
from headway.model.units import format_duration


class Finding(Struct, frozen=True):
    """The result of one check."""

    mark: Literal["ok", "warn", "fail"]
    about: str
    found: str


def diagnose(
    options: SlurmOptions, earlier: Callable[[str], Sequence[SeenWait]] = lambda cluster: ()
) -> Iterator[Finding]:
    """Check a site with a few calls. Nothing is submitted. `earlier` returns what jobs of a cluster have waited."""
    options.check()
    if obstacle := why_no_login_node():
        yield Finding("fail", "slurm", obstacle)
        return
    commands = Commands(options.timeout_s, options.clusters)
    site = SlurmSite(commands, options)
    options = site.options
    configuration = site.configuration()
    if configuration is None:
        yield Finding("fail", "slurm", "the controller does not answer `scontrol show config`")
        return
    yield Finding("ok", "slurm", f"{configuration.version}, cluster {configuration.cluster}")
    yield from _reading(commands, configuration)
    yield from _jobs(commands, site, options, configuration)
    yield Finding("ok", "past waits", planned_against_real(earlier(configuration.cluster)))
    yield Finding("ok", "asking", f"a run asks: {options.manners()}")
    calls = ", ".join(f"{count} {name}" for name, count in sorted(commands.calls.items()))
    yield Finding("ok", "calls", f"{calls}: what this examination cost the controller")


def _reading(commands: Commands, configuration: Configuration) -> Iterator[Finding]:
    look = own_jobs(commands, os.getuid())
    if look is None:
        yield Finding("fail", "polling", "squeue's answer cannot be read")
    else:
        yield Finding("ok", "polling", f"squeue answers; {look.live()} jobs of yours wait or run")
    if configuration.keeps_accounts:
        yield Finding("ok", "accounting", "slurmdbd: sacct tells how jobs ended")
    else:
        kept = format_duration(configuration.min_job_age_s)
        yield Finding("warn", "accounting", f"none: ended jobs are known for {kept}, then by their own marks only")
    if configuration.kills_for_memory:
        found = "OverMemoryKill: a job that needs more than it asked for is FAILED with 0:9"
        yield Finding("ok", "job memory", found)


def _jobs(
    commands: Commands, site: SlurmSite, options: SlurmOptions, configuration: Configuration
) -> Iterator[Finding]:
    try:
        reading = site.reading()
        site.check_rights()
        names = [partition.name for partition in site.candidates()]
        partition, most = site.home()
    except SiteError as error:
        yield Finding("fail", "partitions", str(error))
        return
    yield Finding("ok", "partitions", f"{', '.join(names)}; a job in {partition.name} may have {most} (each node)")
    if risky := site.preemptible():
        closed = site.closed() - set(names)
        kinds = {
            "used where little would be lost": risky & set(names),
            "not used unless you allow it (--preemptible)": risky - set(names) - closed,
            "does not accept your jobs": risky & closed,
        }
        found = "; ".join(f"{', '.join(sorted(some))}: {words}" for words, some in kinds.items() if some)
        yield Finding("ok", "preemption", f"others may preempt jobs in {found}")
    yield Finding("ok", "sharing", "jobs ask for shares of nodes" if site.shares() else "jobs ask for whole nodes")
    yield Finding("ok", "your jobs", _rights(site, partition))
    yield Finding("ok", "prices", _prices(site))
    complaints: list[str] = []
    probes = probe(commands, [(1, 60.0)], most, partition, options, complaints)
    if probes:
        wait = format_duration(max(0.0, probes[0].starts_at - reading.at))
        yield Finding("ok", "probing", f"sbatch --test-only: one node for a minute in {wait}")
    else:
        said = f" ({complaints[0]})" if complaints and complaints[0] else ""
        found = f"sbatch --test-only gives no estimate{said}: the plan of the queue is not corrected"
        yield Finding("warn", "probing", found)
    waiting = sum(job.state == JobPhase.PENDING.upper() for job in reading.jobs)
    others = sum(job.user != os.getuid() for job in reading.jobs)
    found = f"{len(reading.jobs) - waiting} jobs run and {waiting} wait, {others} of them other people's"
    if configuration.hides_jobs:
        yield Finding("warn", "queue", f"{found}: others are hidden here, so that waits can only be probed and learned")
    else:
        yield Finding("ok", "queue", found)
    reservations, settings = read_reservations(commands) or [], backfill_of(configuration.scheduling)
    details, shared = read_details(commands), site.shares()
    starts = agreement(reading, partition.name, settings, reservations, details, in_cores=shared)
    yield Finding("ok" if starts.is_close else "warn", "queue twin", str(starts))


def _rights(site: SlurmSite, partition: Partition) -> str:
    """Say what jobs are charged to, and their limits."""
    rights, limits, jobs = site.rights(), site.user_limits()[partition.name], site.most_jobs()
    charged = f"charged to account {rights.account}" if rights.account else "no account is needed"
    qos = f", QOS {rights.qos}" if rights.qos else ""
    number = "no limit on their number is to be seen" if jobs is None else f"at most {jobs} in the queue"
    names = ("walltime_s", "nodes", "cpus", "memory_bytes", "gpus")
    others = [limits.because[name] for name in names if name in limits.because]
    return "; ".join([f"{charged}{qos}", f"{number}{site.why_most_jobs() if jobs is not None else ''}", *others])


def _prices(site: SlurmSite) -> str:
    """Say what one core with its share of memory costs in each partition, as far as the site says anything."""
    costs: list[str] = []
    for partition in site.candidates():
        node = max(partition.nodes, key=lambda node: node.cpus, default=None)
        if node is not None and node.cpus:
            core = Resources(cores=1, memory_bytes=node.memory_bytes // node.cpus)
            if (price := site.billing(core, partition)) is not None:
                costs.append(f"{partition.name} {price:.3g}")
    if not costs:
        return "the site says none (TRESBillingWeights, UsageFactor)"
    return f"billing units for a core with its share of a node's memory: {', '.join(costs)}"
