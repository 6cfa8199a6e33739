"""Slurm's accounting as printed by `sacct --parsable2` (or `--parsable`): a header, then one line per job, with `|`.

Columns may be in any order, with others between them; docs/batch-logs.md has the command, sacct(1) the meaning of the
columns. The dump does not contain the size of the machine: it is the largest number of processors busy at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from headway.formats.bad_lines import BadLines
from headway.formats.fields import short
from headway.model.batch_log import UNKNOWN, BatchLog
from headway.model.errors import InputError
from headway.model.limits import MOST_ASKED_S, MOST_AT_S, MOST_CORES, MOST_SECONDS
from headway.model.units import parse_duration

COMMAND = (
    "SLURM_TIME_FORMAT=%s sacct -a -X -P -S 2024-01-01 "
    "--format=JobIDRaw,User,Submit,Start,End,ElapsedRaw,State,AllocCPUS,ReqCPUS,Timelimit"
)

_JOB = ("jobidraw", "jobid")
_LIMIT = ("timelimit", "timelimitraw")
_ELAPSED = ("elapsedraw", "elapsed")
# Columns of allocated and of requested amounts: processors if there is such a column, else nodes.
_CPUS = (("alloccpus", "ncpus"), ("reqcpus",))
_NODES = (("allocnodes", "nnodes"), ("reqnodes", "nnodes"))

# Jobs in these states have not ended, even if End is set: `sacct --truncate` sets it to the time of the query.
_STILL_THERE = ("PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "STOPPED", "SIGNALING", "STAGE_OUT")
_NO_TIME = ("", "unknown", "none", "n/a", "invalid")
_NO_LIMIT = (*_NO_TIME, "unlimited", "partition_limit")
_WHOLE = ("number", "allocated", "requested", "line")  # columns of whole numbers
_COUNT = re.compile(r"(\d{1,15})(?:\.(\d{1,6}))?([KMG]?)", re.ASCII)
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}  # old versions of sacct print 2048 nodes as 2K
_EPOCH = re.compile(r"\d{1,15}", re.ASCII)
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)
_ID = re.compile(r"(\d{1,15})(?:[_+].*)?", re.ASCII)


class _Job(NamedTuple):
    """The values of one line; times in seconds since the epoch, -1 is unknown."""

    line: int
    number: int
    submit: float
    start: float
    run_s: float
    allocated: int
    requested: int
    requested_s: float


class _Wrong(Exception):  # noqa: N818 - never leaves this file
    def __init__(self, kind: str, what: str, todo: str = "correct it") -> None:
        self.kind, self.what, self.todo = kind, what, todo


def recognises(line: str) -> bool:
    """Whether `line` is the first line, other than blank ones, of such a file."""
    return bool({name.strip().lower() for name in re.split(r"[|\s]", line)} & set(_JOB))


def read(data: bytes, where: str, name: str, skip_bad: bool = False) -> BatchLog:
    """The jobs of a dump in the order of submission; an InputError for the first bad line unless `skip_bad`."""
    bad = BadLines(where, skip_bad)
    lines = _lines(data)
    first, header = next(lines, (1, ""))
    dump = _Dump(header, f"{where}:{first}")
    jobs: dict[tuple[str, float], _Job] = {}
    again = 0
    for line, text in lines:
        if text == header:  # several dumps were concatenated
            continue
        try:
            cells = dump.cells(text)
            if "." in cells[dump.job]:  # a step of a job: 123.batch
                continue
            job = dump.job_of(cells, line)
        except _Wrong as problem:
            bad.note(problem.kind, line, problem.what, problem.todo)
            continue
        key = cells[dump.job].strip(), job.submit
        again += key in jobs
        jobs[key] = job  # the last line wins: in a later dump the job may have run
    bad.complain()
    if not jobs:
        raise bad.no_jobs("dump", f"make it with: {COMMAND}")
    left_out = bad.counts | ({"the same job again": again} if again else {})
    return _log(sorted(jobs.values(), key=lambda job: job.submit), name, left_out)


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    """The non-blank lines with their numbers. User names may be in any encoding."""
    for line, text in enumerate(data.decode("utf-8-sig", errors="replace").split("\n"), start=1):
        if text and not text.isspace():
            yield line, text.rstrip("\r")


class _Dump:
    """The columns of a dump, and the parser of its lines."""

    def __init__(self, header: str, where: str) -> None:
        if "|" not in header:
            raise InputError("the columns are not separated by |", where=where, todo=f"make it with: {COMMAND}")
        self._ends_in_mark = header.endswith("|")  # --parsable, as opposed to --parsable2
        names = [name.strip().lower() for name in header.removesuffix("|").split("|")]
        self._width = len(names)
        self._columns = {name: place for place, name in enumerate(names)}
        found = {"JobIDRaw": self._place(*_JOB)} | {
            name: self._place(name.lower()) for name in ("Submit", "Start", "End")
        }
        in_cpus = any(name in self._columns for those in _CPUS for name in those)
        self._allocated, self._requested = (self._place(*these) for these in (_CPUS if in_cpus else _NODES))
        amount = self._requested if self._allocated is None else self._allocated
        found["AllocCPUS or ReqCPUS"] = amount
        missing = [name for name, place in found.items() if place is None]
        if missing:
            raise InputError(f"there is no column {', '.join(missing)}", where=where, todo=f"make it with: {COMMAND}")
        self.job, self._submit, self._start, self._end = (place or 0 for place in list(found.values())[:4])
        self._state, self._limit, self._elapsed = (self._place(*names) for names in (("state",), _LIMIT, _ELAPSED))
        self._limit_in_minutes = "timelimit" not in self._columns

    def _place(self, *names: str) -> int | None:
        return next((self._columns[name] for name in names if name in self._columns), None)

    def cells(self, text: str) -> list[str]:
        cells = (text.removesuffix("|") if self._ends_in_mark else text).split("|")
        if len(cells) != self._width:
            what = f"this line has {len(cells)} fields, but the header has {self._width}"
            raise _Wrong("of another width", what, "leave out columns with free text, such as JobName")
        return cells

    def job_of(self, cells: list[str], line: int) -> _Job:
        """Parse the job of a line."""
        number = _ID.fullmatch(cells[self.job].strip())
        if not number:
            raise _Wrong("without a job number", f"{short(cells[self.job])} is not a job number")
        submit, start, end = (_moment(cells[place]) for place in (self._submit, self._start, self._end))
        if submit == UNKNOWN:
            raise _Wrong("without a submit time", "this job has no submit time")
        state = self._cell(cells, self._state).upper()
        word = state.split(maxsplit=1)[0].rstrip("+") if state else ""  # CANCELLED by 1000
        run_s: float = UNKNOWN
        if UNKNOWN not in (start, end) and word not in _STILL_THERE:
            run_s = _length(self._cell(cells, self._elapsed), 1)
            if run_s == UNKNOWN:
                run_s = end - start
                if run_s < 0:
                    what = f"this job ended {-run_s:.0f} s before it started"
                    raise _Wrong("ended before they started", what, "dump with ElapsedRaw or SLURM_TIME_FORMAT=%s")
            _possible(run_s, MOST_SECONDS, f"{run_s:.0f} s", "a run time")
        return _Job(
            line=line,
            number=int(number[1]),
            submit=submit,
            start=start,
            run_s=run_s,
            allocated=_count(self._cell(cells, self._allocated)),
            requested=_count(self._cell(cells, self._requested)),
            requested_s=_length(self._cell(cells, self._limit), 60 if self._limit_in_minutes else 1),
        )

    @staticmethod
    def _cell(cells: list[str], place: int | None) -> str:
        return "" if place is None else cells[place].strip()


def _moment(text: str) -> float:
    """Seconds since the epoch. A time without a zone counts as UTC, since the dump does not name its zone."""
    text = text.strip()
    if text.lower() in _NO_TIME:
        return UNKNOWN
    if _EPOCH.fullmatch(text):
        return _possible(float(text), MOST_AT_S, text, "a time") or UNKNOWN
    try:
        moment = datetime.fromisoformat(text if _ISO.fullmatch(text) else "")
    except ValueError:
        todo = "unset SLURM_TIME_FORMAT, or set it to %s"
        raise _Wrong("not readable", f"{short(text)} is not a time", todo) from None
    seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return seconds if seconds > 0 else UNKNOWN


def _possible(value: float, most: float, text: str, kind: str) -> float:
    if value > most:
        raise _Wrong("too large", f"{short(text)} is too large for {kind}")
    return value


@lru_cache(maxsize=4096)  # many jobs have the same time limit
def _length(text: str, unit_s: int) -> float:
    """Seconds of `1-02:03:04`, `30:00`, or a plain number in units of `unit_s`."""
    if text.lower() in _NO_LIMIT:
        return UNKNOWN
    if _EPOCH.fullmatch(text):
        return _possible(float(text) * unit_s, MOST_ASKED_S, text, "a length of time")
    try:
        return parse_duration(text)
    except InputError as problem:
        raise _Wrong("not readable", problem.what) from None


@lru_cache(maxsize=4096)
def _count(text: str) -> int:
    if not text:
        return UNKNOWN
    found = _COUNT.fullmatch(text.upper())
    amount = float(f"{found[1]}.{found[2] or 0}") * _UNITS[found[3]] if found else -1.0
    if not 0 <= amount <= MOST_CORES:
        raise _Wrong("not readable", f"{short(text)} is not a number of processors")
    return round(amount)


def _log(jobs: list[_Job], name: str, left_out: dict[str, int]) -> BatchLog:
    columns = dict(zip(_Job._fields, np.array(jobs, float).T, strict=True))
    whole = {key: columns[key].astype(np.int64) for key in _WHOLE}
    submit = columns["submit"]
    return BatchLog(
        name=name,
        processors=max(1, int(whole["allocated"].max()), int(whole["requested"].max()), _busiest(jobs)),
        submit_s=submit - submit[0],
        run_s=columns["run_s"].copy(),
        requested_s=columns["requested_s"].copy(),
        **whole,
        started_at=float(submit[0]),
        left_out=left_out,
    )


def _busiest(jobs: list[_Job]) -> int:
    """The largest number of processors allocated at the same time; running jobs hold theirs to the end."""
    changes = []
    for job in jobs:
        held = job.allocated if job.allocated > 0 else job.requested
        if job.start != UNKNOWN and held > 0:
            changes.append((job.start, held))
            if job.run_s != UNKNOWN:
                changes.append((job.start + job.run_s, -held))
    busy = most = 0
    for _, change in sorted(changes):  # at equal times, ends come before starts
        busy += change
        most = max(most, busy)
    return most
