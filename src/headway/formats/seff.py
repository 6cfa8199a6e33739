"""What Slurm's `seff` prints, for one job or for many, one after the other.

seff names no job, so that all are of one category; sites whose seff prints `Job Name` or `Name` have their categories.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from headway.formats.fields import short
from headway.formats.log_amounts import bytes_of, seconds_of
from headway.formats.log_table import BadRows
from headway.formats.slurm_jobs import SlurmJob, SlurmJobs, log_of
from headway.model.errors import InputError
from headway.model.limits import MOST_CORES
from headway.model.task_log import TaskLog

SIGN = "its first line is 'Job ID: ...'"

_KEY = re.compile(r"[A-Z][\w /-]*")


def recognises(line: str) -> bool:
    """Whether `line` is the first line of such a file."""
    return bool(re.match(r"\s*Job ID:\s*\d", line))


def read(lines: Iterable[str], where: str, name: str) -> TaskLog:
    """The jobs that completed, in the order of the lines."""
    jobs = SlurmJobs()
    job = SlurmJob("")
    bad = BadRows()
    for number, line in enumerate(lines, 1):
        key, colon, value = map(str.strip, line.partition(":"))
        if not colon or not _KEY.fullmatch(key):
            continue
        if key == "Job ID":
            job = jobs.add(SlurmJob(value))
            continue
        try:
            _note(job, key, value, f"{where}:{number}")
        except InputError as problem:
            bad.note(problem)
            jobs.recent.pop(job.id, None)
    bad.complain(len(jobs) + bad.count)
    return log_of(jobs, name, bad)


def _possible(value: str, key: str, where: str) -> float:
    """A number of nodes or cores."""
    number = float(value)
    if number > MOST_CORES:
        raise InputError(f"{key} is {short(value)}, more than any machine has", where=where)
    return number


def _note(job: SlurmJob, key: str, value: str, where: str) -> None:
    """Note the value of a line such as `Memory Utilized: 1.20 GB`."""
    match key:
        case "Job Name" | "Name":
            job.name = value
        case "State":
            job.state = value.split(maxsplit=1)[0] if value else ""
        case "Job Wall-clock time":
            job.run_s = seconds_of(value, key, where)
        case "Nodes" if value.isdecimal():
            job.nodes = max(1, int(_possible(value, key, where)))
        case "Cores per node" | "Cores" if value.isdecimal():
            job.cpus = _possible(value, key, where) * (job.nodes if key == "Cores per node" else 1)
        case "CPU Utilized":
            job.cpu_s = seconds_of(value, key, where)
        case "Memory Utilized":  # of all nodes; an estimated maximum stands behind it in brackets
            job.peak = bytes_of(value.partition("(")[0].strip(), key, where) / job.nodes
        case "Memory Efficiency" if " of " in value:
            asked = value.partition(" of ")[2].partition("(")[0].strip()
            per_core, _, rest = asked.partition("/")
            job.asked = 0.0 if rest.startswith("core") else bytes_of(per_core.strip(), key, where) / job.nodes
