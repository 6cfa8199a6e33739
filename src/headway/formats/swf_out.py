"""A batch log in the Standard Workload Format. What a `BatchLog` does not hold is written as -1, not known."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headway.formats.swf import (
    ALLOCATED,
    FIELDS,
    NUMBER,
    REQUESTED,
    REQUESTED_TIME,
    RUN,
    STATUS,
    SUBMIT,
    USER,
    WAIT,
)
from headway.model.batch_log import UNKNOWN, BatchLog

_KEY = re.compile(r"[A-Z][A-Za-z0-9_]*")
_OURS = ("version", "maxjobs", "maxrecords", "unixstarttime", "maxprocs")


def swf_text(log: BatchLog) -> str:
    """The whole file. Read again, it gives the same table."""
    return "".join(f"{line}\n" for line in (*_header(log), *_jobs(log)))


def _header(log: BatchLog) -> Iterator[str]:
    yield "; Version: 2.2"
    yield f"; MaxJobs: {len(log)}"
    yield f"; MaxRecords: {len(log)}"
    if log.started_at is not None:
        yield f"; UnixStartTime: {_number(log.started_at)}"
    yield f"; MaxProcs: {log.processors}"
    for key, value in log.header.items():
        if key.lower() not in _OURS and _KEY.fullmatch(key):
            for text in value.split("\n"):
                yield f"; {key}: {text}".rstrip()


def _jobs(log: BatchLog) -> Iterator[str]:
    columns: dict[int, list[float]] = {
        NUMBER: log.number.tolist(),
        SUBMIT: log.submit_s.tolist(),
        WAIT: log.wait_s.tolist(),
        RUN: log.run_s.tolist(),
        ALLOCATED: log.allocated.tolist(),
        REQUESTED: log.requested.tolist(),
        REQUESTED_TIME: log.requested_s.tolist(),
        STATUS: log.status.tolist(),
        USER: log.user.tolist(),
    }
    texts = [
        map(_number, columns[column]) if column in columns else [str(UNKNOWN)] * len(log)
        for column in range(len(FIELDS))
    ]
    yield from map(" ".join, zip(*texts, strict=True))


def _number(number: float) -> str:
    """Exactly, and without a fraction where there is none."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))
