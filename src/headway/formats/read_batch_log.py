"""Reads a batch system's log of any format, which its first line determines."""

from __future__ import annotations

from pathlib import Path

from headway.formats import sacct, swf
from headway.formats.safe_yaml import shown
from headway.formats.unpacked import GZIP, read_unpacked, stem
from headway.model.batch_log import BatchLog
from headway.model.errors import InputError

KNOWN = "the Standard Workload Format (.swf) and what Slurm's sacct -P prints, both also with .gz"

_FORMATS = ((swf.recognises, swf.read), (sacct.recognises, sacct.read))
_LONGEST_BEGINNING = 100_000


def read_batch_log(path: Path, skip_bad: bool = False) -> BatchLog:
    """The jobs of the log at `path` in the order of submission; `skip_bad` skips and counts bad lines."""
    where = shown(path)
    data = read_unpacked(path)
    if data.startswith(GZIP):
        raise InputError("this file is compressed with gzip", where=where, todo="give it a name that ends in .gz")
    beginning = data[:_LONGEST_BEGINNING].decode("utf-8-sig", errors="replace").lstrip()
    if not beginning:
        raise InputError("this file is empty", where=where)
    first = beginning.split("\n", maxsplit=1)[0]
    for recognises, read in _FORMATS:
        if recognises(first):
            return read(data, where, stem(path, ".gz", ".swf", ".txt", ".csv", ".log", ".sacct"), skip_bad)
    raise InputError("this is not a batch log in a known format", where=where, todo=f"known are {KNOWN}")
