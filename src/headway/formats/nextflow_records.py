"""Nextflow's records of single tasks, as its plugins and Seqera Platform (once Tower) get them: what they teach.

They are read as the lines of a trace file are. A figure of memory is what Nextflow's wrapper sampled of the command
alone: a limit counts the wrapper, too, and a command that ends soon is hardly seen.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from headway.formats.log_table import LogTable
from headway.formats.nextflow_trace import MS, amounts_of, busy_cores, category_of, run_s_of, tag_of, wish_of
from headway.model.errors import InputError
from headway.model.observation import Observation
from headway.model.outcome import Ending, Measured, Quality, Usage
from headway.model.resources import Resources

# What Nextflow's wrapper and its sampler hold beside the command: 19 MB for a task that Slurm measured as well.
WRAPPER_BYTES = 32 * 2**20
# The wrapper looks at the start and then every second, so that of a shorter task most may have been missed.
SEEN_AFTER_S = 3.0
_KILLED = "137"  # how batch systems and containers end what exceeds its memory
_ENDINGS = {"COMPLETED": Ending.SUCCESS, "FAILED": Ending.EXIT_CODE}
_COLUMNS = (
    *("task_id", "hash", "process", "tag", "name", "status", "exit", "attempt", "submit", "start", "complete"),
    *("duration", "realtime", "%cpu", "peak_rss", "cpus", "memory", "time"),
)
_HUMP = re.compile(r"(?<=[a-z])([A-Z])")


def observations(records: Sequence[Mapping[str, object]], run: str, where: str) -> list[Observation]:
    """Return what attempts teach that have ended; those that have not, or were not made, are left out.

    A record has columns of a trace with raw numbers, or the same in the form `peakRss`, `pcpu`. `run` is the uid under
    which the history has them, `where` is for errors.
    """
    table = LogTable(_lines(records, where), where, "\t")
    return [seen for seen in table.parsed(partial(_observation, table, run)) if seen is not None]


def _lines(records: Iterable[Mapping[str, object]], where: str) -> Iterator[str]:
    """Return the records as lines of a trace file."""
    lines: list[str] = []
    sheet = csv.writer(_Into(lines), delimiter="\t")
    sheet.writerow(_COLUMNS)
    for record in records:
        named = {_column(name): value for name, value in record.items()}
        sheet.writerow([_cell(named.get(column), column, where) for column in _COLUMNS])
    return iter(lines)


class _Into:
    """A file for the csv module that is a list of lines."""

    def __init__(self, lines: list[str]) -> None:
        self.write = lines.append


def _column(name: str) -> str:
    """Return the name of a column: `peakRss` is `peak_rss`, `pcpu` is `%cpu`."""
    return "%cpu" if name == "pcpu" else _HUMP.sub(lambda found: "_" + found[1].lower(), name)


def _cell(value: object, column: str, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{column} is not a number or a text", where=where)
    return " ".join(str(value).split())


def _observation(table: LogTable, run: str, row: list[str]) -> Observation | None:
    ending, run_s = _ENDINGS.get(table.cell(row, "status")), run_s_of(table, row)
    category, asked = category_of(table, row), amounts_of(wish_of(table, row))
    if ending is None or run_s is None or not category:
        return None
    given = Resources.of({"cores": 1.0} | asked)
    if ending is not Ending.SUCCESS and table.cell(row, "exit") == _KILLED and given.memory_bytes:
        ending = Ending.MEMORY
    ended_at = table.moment(row, "complete", MS) or 0.0
    number = table.cell(row, "hash") or table.cell(row, "task_id")
    return Observation(
        category,
        run,
        f"{category}[{' '.join(filter(None, (tag_of(table, row), number)))}]",
        int(table.amount(row, "attempt") or 1),
        ending,
        ended_at - run_s,
        ended_at,
        given,
        Usage(
            wall_s=Measured(run_s, Quality.EXACT),
            memory_bytes=_memory(table, row, ending, run_s, given),
            cores_average=Measured(cores, Quality.SAMPLED) if (cores := busy_cores(table, row)) else None,
            method="nextflow",
        ),
        hints=asked,
    )


def _memory(table: LogTable, row: list[str], ending: Ending, run_s: float, given: Resources) -> Measured | None:
    """Return what a limit would have counted; None if the wrapper has not seen enough of the task."""
    if ending is Ending.MEMORY:
        return Measured(given.memory_bytes, Quality.LOWER_BOUND)
    peak = table.bytes(row, "peak_rss")
    return Measured(peak + WRAPPER_BYTES, Quality.SAMPLED) if peak and run_s >= SEEN_AFTER_S else None
