"""The Standard Workload Format of the Parallel Workloads Archive, version 2.2: a line of 18 numbers for each job.

Chapin et al., *Benchmarks and Standards for the Evaluation of Parallel Job Schedulers* (JSSPP 1999), define it. Lines
that begin with `;` are comments, and those of the form `; MaxProcs: 128` tell of the machine. -1 is what is not known.

Logs have a hundred thousand lines and more. So numbers are made of whole blocks of text at once, and a block is looked
at line by line only if something is wrong in it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from headway.formats.bad_lines import BadLines, cut
from headway.model.batch_log import UNKNOWN, BatchLog
from headway.model.errors import InputError

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
MOST = 2**53  # beyond it, not every whole number is a float

_READ = (NUMBER, SUBMIT, WAIT, RUN, ALLOCATED, REQUESTED, REQUESTED_TIME, STATUS, USER)
_WHOLE = (NUMBER, ALLOCATED, REQUESTED, STATUS, USER)
_AMOUNTS = (WAIT, RUN, ALLOCATED, REQUESTED, REQUESTED_TIME)
_PARTIAL = (2, 3, 4)  # statuses of a part of a job that was interrupted

_BLOCK_BYTES = 1 << 22
_BLANKS = b" \t\n\r\x0b\x0c"
_IS_BLANK = np.isin(np.arange(256), list(_BLANKS))
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_KEY = re.compile(rb"^[ \t]*;+[ \t]*([A-Z][A-Za-z0-9_]*)[ \t]*:(.*)$", re.MULTILINE)
_LEADING = re.compile(r"\d{1,3}(?:,\d{3})+(?![\d,])|\d+")
_BOM = b"\xef\xbb\xbf"

Table = NDArray[np.float64]  # a row a job, a column for each of FIELDS
Lines = NDArray[np.int64]


def recognises(line: str) -> bool:
    """Whether a file whose first line that is not blank is this one."""
    first = line.split(maxsplit=1)[:1]
    return bool(first) and (first[0].startswith(";") or bool(_NUMBER.fullmatch(first[0].encode())))


def read(data: bytes, where: str, name: str, skip_bad: bool = False) -> BatchLog:
    """The jobs of a log, as they stand in it; an InputError at the first bad line, unless such are to be skipped."""
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
        reasons = ", ".join(f"{lines} {kind}" for kind, lines in bad.counts.items())
        raise InputError(
            f"there is no job in this log{f' that can be read: {reasons}' if reasons else ''}",
            where=where,
            todo="is it the whole file?",
        )
    whole = {column: table[:, column].astype(np.int64) for column in _WHOLE}
    return BatchLog(
        name=name,
        processors=_processors(header) or max(1, *(int(whole[column].max()) for column in (ALLOCATED, REQUESTED))),
        number=whole[NUMBER],
        submit_s=table[:, SUBMIT].copy(),
        wait_s=table[:, WAIT].copy(),
        run_s=table[:, RUN].copy(),
        allocated=whole[ALLOCATED],
        requested=whole[REQUESTED],
        requested_s=table[:, REQUESTED_TIME].copy(),
        status=whole[STATUS],
        user=whole[USER],
        line=line,
        started_at=_started_at(header),
        header=header,
        left_out=bad.counts | ({"part of a job": partial} if partial else {}),
    )


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Pieces that end where a line ends, with the number of their first line."""
    line = 1
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _BLOCK_BYTES) + 1 or len(data)
        block = data[start:end]
        yield line, block
        line += block.count(b"\n")
        start = end


def _parse(block: bytes, first_line: int, bad: BadLines) -> tuple[Table, Lines]:
    """The numbers of every job in a block, and the lines they stand on."""
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
    if is_comment.any():  # a line's end may count as the next line's: it is a blank either way
        block_of_jobs = np.where(is_comment[line_of_letter], np.uint8(ord(" ")), letters).tobytes()
    else:
        block_of_jobs = block
    if (fields[jobs] == len(FIELDS)).all():
        numbers = _all_numbers(block_of_jobs, len(jobs) * len(FIELDS))
        if numbers is not None:
            return numbers.reshape(-1, len(FIELDS)), jobs + first_line
    return _parse_each(block, first_line, bad)


def _all_numbers(text: bytes, expected: int) -> NDArray[np.float64] | None:
    """So many numbers, if the text holds exactly these and nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what is no number is an error of numpy's only since version 2.3
        try:
            numbers = np.fromstring(text, sep=" ") if expected else np.empty(0)
        except (ValueError, DeprecationWarning):
            return None
    return numbers if len(numbers) == expected and np.isfinite(numbers).all() else None


def _parse_each(block: bytes, first_line: int, bad: BadLines) -> tuple[Table, Lines]:
    """The same, line by line, to say which of them are bad."""
    rows, lines = [], []
    for line, text in enumerate(block.split(b"\n"), start=first_line):
        words = text.split()
        if not words or words[0].startswith(b";"):
            continue
        if len(words) != len(FIELDS):
            what = f"this line has {len(words)} field{'s' * (len(words) != 1)} instead of {len(FIELDS)}"
            bad.note("not of 18 fields", line, what, "is the file whole? mend it")
            continue
        row = [float(word) if _NUMBER.fullmatch(word) else np.nan for word in words]
        odd = next((column for column, number in enumerate(row) if not isfinite(number)), None)
        if odd is None:
            rows.append(row)
            lines.append(line)
        else:
            what = f"{FIELDS[odd]} (field {odd + 1}) is {cut(words[odd].decode(errors='replace'))}, not a number"
            bad.note("not numbers", line, what, "write -1 for what is not known")
    return np.array(rows).reshape(-1, len(FIELDS)), np.array(lines, np.int64)


def _without_parts(table: Table, line: Lines) -> tuple[Table, Lines, int]:
    """Without the lines that tell again, part by part, of a job that was interrupted; and how many these are."""
    partial = np.isin(table[:, STATUS], _PARTIAL)
    if partial.any():
        partial &= np.isin(table[:, NUMBER], table[~partial, NUMBER])  # where no line sums up, the parts are jobs
    return table[~partial], line[~partial], int(partial.sum())


def _good(table: Table, line: Lines, bad: BadLines) -> NDArray[np.bool_]:
    """Which jobs have figures that make sense, in columns that are used."""
    good = np.ones(len(table), bool)

    def refuse(kind: str, wrong: NDArray[np.bool_], column: int, what: str, todo: str) -> None:
        wrong &= good
        if wrong.any():
            first = int(np.argmax(wrong))
            sentence = f"{FIELDS[column]} (field {column + 1}) is {table[first, column]:.15g}, {what}"
            bad.note(kind, int(line[first]), sentence, todo, int(wrong.sum()))
            good[wrong] = False

    unknown = "write -1 for what is not known"
    for column in _READ:
        refuse("too large", np.abs(table[:, column]) > MOST, column, "larger than can be counted", unknown)
    for column in _WHOLE:
        refuse("not whole numbers", table[:, column] % 1 != 0, column, "not a whole number", unknown)
    for column in _AMOUNTS:
        below = (table[:, column] < 0) & (table[:, column] != UNKNOWN)
        refuse("below zero", below, column, "less than nothing", unknown)
    refuse("without a submit time", table[:, SUBMIT] < 0, SUBMIT, "but every job was submitted", "mend it")
    latest = np.maximum.accumulate(np.where(good, table[:, SUBMIT], 0.0)) if len(table) else table[:, SUBMIT]
    refuse("out of order", table[:, SUBMIT] < latest, SUBMIT, "before that of a job above", "sort the log by it")
    return good


def _read_header(block: bytes, notes: dict[str, list[str]]) -> None:
    """Add what `; Key: value` says. Some keys, such as Note, stand there again and again."""
    for key, value in _KEY.findall(block):
        try:
            text = value.strip().decode()
        except UnicodeDecodeError:
            text = value.strip().decode("latin-1")
        notes.setdefault(key.decode(), []).append(text)


def _processors(header: dict[str, str]) -> int | None:
    """How many the machine has, as the header says; `1664 (72, 1368, 224)` is 1664 in three partitions."""
    for key in ("maxprocs", "maxnodes"):
        for text in (text for name, text in header.items() if name.lower() == key):
            leading = _LEADING.match(text)
            count = int(leading[0].replace(",", "")) if leading and len(leading[0]) < 20 else 0
            if 0 < count <= MOST:
                return count
    return None


def _started_at(header: dict[str, str]) -> float | None:
    first = header.get("UnixStartTime", "").split(maxsplit=1)[:1]
    if not first or not _NUMBER.fullmatch(first[0].encode()):
        return None
    seconds = float(first[0])
    return seconds if 0 <= seconds <= MOST else None
