"""Any log of a batch system: how the file begins says which format it is in."""

from __future__ import annotations

from pathlib import Path

from headway.formats import sacct, swf
from headway.formats.safe_yaml import shown
from headway.formats.unpacked import read_unpacked
from headway.model.batch_log import BatchLog
from headway.model.errors import InputError

KNOWN = "the Standard Workload Format (.swf) and what Slurm's sacct -P prints, both also with .gz"

_FORMATS = ((swf.recognises, swf.read), (sacct.recognises, sacct.read))
_GZIP = b"\x1f\x8b"
_LONGEST_BEGINNING = 100_000


def read_batch_log(path: Path, skip_bad: bool = False) -> BatchLog:
    """The jobs of the log at `path` in the order of submission; with `skip_bad` without the lines that are bad."""
    where = shown(path)
    data = read_unpacked(path)
    if data.startswith(_GZIP):
        raise InputError("this file is packed with gzip", where=where, todo="give it a name that ends in .gz")
    beginning = data[:_LONGEST_BEGINNING].decode("utf-8-sig", errors="replace").lstrip()
    if not beginning:
        raise InputError("this file is empty", where=where)
    first = beginning.split("\n", maxsplit=1)[0]
    for recognises, read in _FORMATS:
        if recognises(first):
            return read(data, where, _name(path), skip_bad)
    raise InputError("this is no log of a batch system that Headway knows", where=where, todo=f"known are {KNOWN}")


def _name(path: Path) -> str:
    """The file's name without what says how it is written."""
    name = path.name
    for ending in (".gz", ".swf", ".txt", ".csv", ".log", ".sacct"):
        name = name.removesuffix(ending) or name
    return name
