"""Slurm's accounting as a log of tasks: `sacct -P`, and the tables of reportseff.

Requests are on the lines of jobs, peaks on those of their steps (`12.batch`, `12.0`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from headway.formats.log_amounts import number_of
from headway.formats.log_table import LogTable, begun
from headway.formats.slurm_jobs import COMMAND, SlurmJob, SlurmJobs, asked_on_a_node, log_of
from headway.model.errors import InputError
from headway.model.task_log import TaskLog

SIGN = "its first line has a JobID"

_NAMES = """
    JobID JobIDRaw JobName Comment State Submit Start End Elapsed ElapsedRaw Timelimit TimelimitRaw TotalCPU NNodes
    AllocNodes NCPUS AllocCPUS ReqCPUS NTasks ReqMem MaxRSS MemEff
"""
_CANONICAL = {name.lower(): name for name in _NAMES.split()}
_NO_HEADER = re.compile(r"\d+(_\S+?)?(\+\d+)?(\.\w+)?\|")
_MOST_PERCENT = 1e4
_UNKNOWN = ("", "Unknown", "None", "N/A", "---", "UNLIMITED", "Partition_Limit", "INVALID")


def recognises(line: str) -> bool:
    """Whether `line` is the first line of such a file."""
    names = line.strip().lower().split("|") if "|" in line else line.lower().split()
    return bool({"jobid", "jobidraw"} & set(names)) or bool(_NO_HEADER.match(line))


def read(lines: Iterable[str], where: str, name: str) -> TaskLog:
    """The jobs that completed and have a peak of memory, in the order of their start."""
    first, lines = begun(lines)
    table = LogTable(_rows(first, lines, where), where, "|", quoted=False)
    _check_columns(table)
    key = "JobID" if "JobID" in table.columns else "JobIDRaw"
    jobs = SlurmJobs()

    def note(row: list[str]) -> None:
        number = table.cell(row, key)
        job_number, is_step, _ = number.partition(".")
        if is_step:
            job = jobs.recent.pop(job_number, None)  # it is gone if this step cannot be read: its peak is unknown then
            if job is not None:
                peak, tasks = table.bytes(row, "MaxRSS"), table.amount(row, "NTasks")
                job.measured(peak or 0.0, int(tasks or 1))
                jobs.add(job)
        elif number[:1].isdecimal():  # else the header again, or the rule below it
            jobs.add(_job(table, row, number))

    for _ in table.parsed(note):
        pass
    if jobs.none_measured():
        todo = f"the peaks are on the lines of job steps, which -X leaves out; make it with: {COMMAND}"
        raise InputError("no job in this dump has a memory measurement", where=where, todo=todo)
    return log_of(jobs, name, table.bad)


def _rows(first: str, lines: Iterable[str], where: str) -> Iterator[str]:
    """The header as we know it and the rows below it, separated by |; reportseff aligns its columns with blanks."""
    for number, line in enumerate(lines, 1):
        if line is first:
            yield _header(line, f"{where}:{number}")
        else:
            yield line if "|" in first else "|".join(line.split()) + "\n"


def _header(line: str, where: str) -> str:
    """The header with the names of its columns as we know them, separated by |."""
    if _NO_HEADER.match(line):
        todo = "leave out --noheader (-n)"
        raise InputError("this dump of sacct has no line that names its columns", where=where, todo=todo)
    names = line.strip().split("|") if "|" in line else line.split()
    found = [_CANONICAL.get(name.strip().lower(), name) for name in names]
    if "|" not in line and "MemEff" not in found:
        raise InputError("the columns are not separated by |", where=where, todo=f"make it with: {COMMAND}")
    return "|".join(found) + "\n"


def _check_columns(table: LogTable) -> None:
    there = table.columns.keys()
    missing = [] if "MaxRSS" in there or there >= {"MemEff", "ReqMem"} else ["MaxRSS"]
    if not there & {"Elapsed", "ElapsedRaw"} and not there >= {"Start", "End"}:
        missing.append("ElapsedRaw")
    if missing and "MemEff" in there:
        todo = "make it with: reportseff --parsable --format=+JobName,ReqMem"
        raise InputError("this table of reportseff has no column ReqMem", where=table.where, todo=todo)
    if missing:
        what = f"this dump of sacct has no column {' and '.join(missing)}"
        raise InputError(what, where=table.where, todo=f"make it with: {COMMAND}")


def _job(table: LogTable, row: list[str], number: str) -> SlurmJob:
    """The job of a line that is not one of a step."""
    nodes = int(_first(table, row, "NNodes", "AllocNodes") or 1)
    cpus = int(_first(table, row, "NCPUS", "AllocCPUS", "ReqCPUS") or 1)
    asked = table.cell(row, "ReqMem")
    state = table.cell(row, "State")
    job = SlurmJob(
        number,
        table.cell(row, "JobName"),
        table.cell(row, "Comment"),
        state.split()[0].rstrip("+") if state else "",  # CANCELLED by 1000
        _run_s(table, row),
        asked=0.0 if asked in _UNKNOWN else asked_on_a_node(asked, cpus, nodes, table.where),
        started_at=_moment(table, row, "Start") or _moment(table, row, "Submit") or 0.0,
        nodes=max(1, nodes),
        cpus=float(cpus),
        cpu_s=_seconds(table, row, ("TotalCPU", 1)) or 0.0,
        limit_s=_seconds(table, row, ("Timelimit", 60), ("TimelimitRaw", 60)) or 0.0,
    )
    share = table.cell(row, "MemEff").rstrip("%")
    if share not in _UNKNOWN:
        job.peak = min(number_of(share, "MemEff", table.where), _MOST_PERCENT) / 100 * job.asked
    job.measured(table.bytes(row, "MaxRSS") or 0.0, int(table.number(row, "NTasks") or 1))
    return job


def _run_s(table: LogTable, row: list[str]) -> float | None:
    run_s = _seconds(table, row, ("ElapsedRaw", 1), ("Elapsed", 1))
    if run_s is not None:
        return run_s
    start, end = _moment(table, row, "Start"), _moment(table, row, "End")
    return max(0.0, end - start) if start and end else None


def _seconds(table: LogTable, row: list[str], *columns: tuple[str, float]) -> float | None:
    """The duration in the first of these columns that has one; a plain number counts in the unit beside its name."""
    for column, unit in columns:
        if table.cell(row, column) not in _UNKNOWN:
            return table.seconds(row, column, unit)
    return None


def _moment(table: LogTable, row: list[str], column: str) -> float | None:
    return None if table.cell(row, column) in _UNKNOWN else table.moment(row, column)


def _first(table: LogTable, row: list[str], *columns: str) -> float | None:
    for column in columns:
        if (number := table.amount(row, column)) is not None:
            return number
    return None
