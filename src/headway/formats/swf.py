"""The Standard Workload Format of the Parallel Workloads Archive, version 2.2: one line of 18 numbers per job.

It is defined by Chapin et al., *Benchmarks and Standards for the Evaluation of Parallel Job Schedulers* (JSSPP 1999).
Lines that begin with `;` are comments; those of the form `; MaxProcs: 128` describe the machine. -1 is unknown.

Logs have more than a hundred thousand lines. Therefore whole blocks of text are parsed at once, and a block is parsed
line by line only if it contains an error.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from headway.formats.bad_lines import BadLines
from headway.formats.fields import short
from headway.model.batch_log import UNKNOWN, BatchLog
from headway.model.limits import MOST_ASKED_S, MOST_AT_S, MOST_CORES, MOST_SECONDS

FIELDS = (
    "the job number",
    "the submit time",
    "the wait time",
    "the run time",
    "the number of processors allocated",
    "the average CPU time",
    "the used memory",
    "the number of processors requested",
    "the requested time",
    "the requested memory",
    "the status",
    "the user",
    "the group",
    "the executable",
    "the queue",
    "the partition",
    "the preceding job",
    "the think time",
)
NUMBER, SUBMIT, WAIT, RUN, ALLOCATED, REQUESTED, REQUESTED_TIME, STATUS, USER = 0, 1, 2, 3, 4, 7, 8, 10, 11
USED_MEMORY, REQUESTED_MEMORY, PARTITION = 6, 9, 15  # not checked: whoever does not use them need not correct them
MOST = 2**53  # beyond it, not every whole number is a float
_MOST = {  # by column
    SUBMIT: MOST_AT_S,
    WAIT: MOST_SECONDS,
    RUN: MOST_SECONDS,
    ALLOCATED: MOST_CORES,
    REQUESTED: MOST_CORES,
    REQUESTED_TIME: MOST_ASKED_S,
}

_READ = (NUMBER, SUBMIT, WAIT, RUN, ALLOCATED, REQUESTED, REQUESTED_TIME, STATUS, USER)
_WHOLE = (NUMBER, ALLOCATED, REQUESTED, STATUS, USER)
_AMOUNTS = (WAIT, RUN, ALLOCATED, REQUESTED, REQUESTED_TIME)
_PARTIAL = (2, 3, 4)  # statuses of parts of an interrupted job

_BLOCK_BYTES = 1 << 22
_BLANKS = b" \t\n\r\x0b\x0c"
_IS_BLANK = np.isin(np.arange(256), list(_BLANKS))
_NUMBER = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_KEY = re.compile(rb"^[ \t]*;+[ \t]*([A-Z][A-Za-z0-9_]*)[ \t]*:(.*)$", re.MULTILINE)
_LEADING = re.compile(r"\d{1,3}(?:,\d{3})+(?![\d,])|\d+")
_BOM = b"\xef\xbb\xbf"

Table = NDArray[np.float64]  # one row per job, one column for each of FIELDS
Lines = NDArray[np.int64]


def recognises(line: str) -> bool:
    """Whether `line` is the first line, other than blank ones, of such a file."""
    first = line.split(maxsplit=1)[:1]
    return bool(first) and (first[0].startswith(";") or bool(_NUMBER.fullmatch(first[0].encode())))


def read(data: bytes, where: str, name: str, skip_bad: bool = False) -> BatchLog:
    """The jobs of a log in the order of its lines; an InputError for the first bad line unless `skip_bad`."""
    bad = BadLines(where, skip_bad)
    notes: dict[str, list[str]] = {}
    tables, places = [np.empty((0, len(FIELDS)))], [np.empty(0, np.int64)]
    for first_line, block in _blocks(data.removeprefix(_BOM)):
        table, lines = _parse(block, first_line, bad)
        tables.append(table)
        places.append(lines)
        if b";" in block:
            _read_header(block, notes)
    table, line, partial = _without_parts(np.concatenate(tables), np.concatenate(places))
    good = _good(table, line, bad)
    bad.complain()
    header = {key: "\n".join(values) for key, values in notes.items()}
    table, line = table[good], line[good]
    if not len(table):
        raise bad.no_jobs("log", "check that the file is complete")
    whole = {column: table[:, column].astype(np.int64) for column in _WHOLE}
    return BatchLog(
        name=name,
        processors=_processors(header) or max(1, *(int(whole[column].max()) for column in (ALLOCATED, REQUESTED))),
        number=whole[NUMBER],
        submit_s=table[:, SUBMIT].copy(),
        run_s=table[:, RUN].copy(),
        allocated=whole[ALLOCATED],
        requested=whole[REQUESTED],
        requested_s=table[:, REQUESTED_TIME].copy(),
        line=line,
        memory_kib=np.where(table[:, REQUESTED_MEMORY] > 0, table[:, REQUESTED_MEMORY], table[:, USED_MEMORY]),
        partition=table[:, PARTITION].copy(),
        started_at=_started_at(header),
        header=header,
        left_out=bad.counts | ({"part of a job": partial} if partial else {}),
    )


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, each with the number of its first line."""
    line = 1
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _BLOCK_BYTES) + 1 or len(data)
        block = data[start:end]
        yield line, block
        line += block.count(b"\n")
        start = end


def _parse(block: bytes, first_line: int, bad: BadLines) -> tuple[Table, Lines]:
    """The numbers of every job in a block, and their line numbers."""
    letters = np.frombuffer(block, np.uint8)
    blank = _IS_BLANK[letters]
    begins = ~blank
    begins[1:] &= blank[:-1]
    words = np.flatnonzero(begins)
    line_of_letter = np.cumsum(letters == ord("\n"))
    fields = np.bincount(line_of_letter[words], minlength=1)
    written = np.flatnonzero(fields)
    first_words = words[np.cumsum(fields)[written] - fields[written]]
    is_comment = np.zeros(line_of_letter[-1] + 1, bool)
    is_comment[written] = letters[first_words] == ord(";")
    jobs = written[~is_comment[written]]
    if is_comment.any():  # line ends may be overwritten too: they are blanks either way
        block_of_jobs = np.where(is_comment[line_of_letter], np.uint8(ord(" ")), letters).tobytes()
    else:
        block_of_jobs = block
    if (fields[jobs] == len(FIELDS)).all():
        numbers = _all_numbers(block_of_jobs, len(jobs) * len(FIELDS))
        if numbers is not None:
            return numbers.reshape(-1, len(FIELDS)), jobs + first_line
    return _parse_each(block, first_line, bad)


def _all_numbers(text: bytes, expected: int) -> NDArray[np.float64] | None:
    """The numbers in the text; None if it is not exactly `expected` finite numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # before version 2.3 numpy only warns about text that is not a number
        try:
            numbers = np.fromstring(text, sep=" ") if expected else np.empty(0)
        except (ValueError, DeprecationWarning):
            return None
    return numbers if len(numbers) == expected and np.isfinite(numbers).all() else None


def _parse_each(block: bytes, first_line: int, bad: BadLines) -> tuple[Table, Lines]:
    """Parse a block line by line and note bad lines."""
    rows, lines = [], []
    for line, text in enumerate(block.split(b"\n"), start=first_line):
        words = text.split()
        if not words or words[0].startswith(b";"):
            continue
        if len(words) != len(FIELDS):
            what = f"this line has {len(words)} field{'s' * (len(words) != 1)} instead of {len(FIELDS)}"
            bad.note("not of 18 fields", line, what, "check that the file is complete")
            continue
        row = [float(word) if _NUMBER.fullmatch(word) else np.nan for word in words]
        odd = next((column for column, number in enumerate(row) if not isfinite(number)), None)
        if odd is None:
            rows.append(row)
            lines.append(line)
        else:
            what = f"{FIELDS[odd]} (field {odd + 1}) is {short(words[odd].decode(errors='replace'))}, not a number"
            bad.note("not numbers", line, what, "write -1 if unknown")
    return np.array(rows).reshape(-1, len(FIELDS)), np.array(lines, np.int64)


def _without_parts(table: Table, line: Lines) -> tuple[Table, Lines, int]:
    """Remove the lines on parts of interrupted jobs that also have a summary line; return how many there were."""
    partial = np.isin(table[:, STATUS], _PARTIAL)
    if partial.any():
        partial &= np.isin(table[:, NUMBER], table[~partial, NUMBER])  # parts without a summary line count as jobs
    return table[~partial], line[~partial], int(partial.sum())


def _good(table: Table, line: Lines, bad: BadLines) -> NDArray[np.bool_]:
    """A mask of the jobs whose used columns have valid values; others are noted as bad."""
    good = np.ones(len(table), bool)

    def refuse(kind: str, wrong: NDArray[np.bool_], column: int, what: str, todo: str) -> None:
        wrong &= good
        if wrong.any():
            first = int(np.argmax(wrong))
            sentence = f"{FIELDS[column]} (field {column + 1}) is {table[first, column]:.15g}, {what}"
            bad.note(kind, int(line[first]), sentence, todo, int(wrong.sum()))
            good[wrong] = False

    unknown = "write -1 if unknown"
    for column in _READ:
        refuse(
            "too large", np.abs(table[:, column]) > _MOST.get(column, MOST), column, "which is out of range", unknown
        )
    for column in _WHOLE:
        refuse("not whole numbers", table[:, column] % 1 != 0, column, "not a whole number", unknown)
    for column in _AMOUNTS:
        below = (table[:, column] < 0) & (table[:, column] != UNKNOWN)
        refuse("below zero", below, column, "less than zero", unknown)
    refuse("without a submit time", table[:, SUBMIT] < 0, SUBMIT, "but every job needs a submit time", "correct it")
    latest = np.maximum.accumulate(np.where(good, table[:, SUBMIT], 0.0)) if len(table) else table[:, SUBMIT]
    refuse("out of order", table[:, SUBMIT] < latest, SUBMIT, "before that of a job above", "sort the log by it")
    return good


def _read_header(block: bytes, notes: dict[str, list[str]]) -> None:
    """Collect comments of the form `; Key: value`. Some keys, such as Note, are repeated."""
    for key, value in _KEY.findall(block):
        try:
            text = value.strip().decode()
        except UnicodeDecodeError:
            text = value.strip().decode("latin-1")
        notes.setdefault(key.decode(), []).append(text)


def _processors(header: dict[str, str]) -> int | None:
    """The machine's number of processors in the header; `1664 (72, 1368, 224)` is 1664 in three partitions."""
    for key in ("maxprocs", "maxnodes"):
        for text in (text for name, text in header.items() if name.lower() == key):
            leading = _LEADING.match(text)
            count = int(leading[0].replace(",", "")) if leading and len(leading[0]) < 20 else 0
            if 0 < count <= MOST_CORES:
                return count
    return None


def _started_at(header: dict[str, str]) -> float | None:
    first = header.get("UnixStartTime", "").split(maxsplit=1)[:1]
    if not first or not _NUMBER.fullmatch(first[0].encode()):
        return None
    seconds = float(first[0])
    return seconds if 0 <= seconds <= MOST_AT_S else None
