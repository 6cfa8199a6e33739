"""The meter's log: text in the form of the UCI data set "Individual household electric power consumption"."""

from __future__ import annotations

import numpy as np

from power.flaws import Flaws
from power.period import START, Array

HEADER = (
    "Date;Time;Global_active_power;Global_reactive_power;Voltage;Global_intensity;"
    "Sub_metering_1;Sub_metering_2;Sub_metering_3\n"
)
IMPOSSIBLE_V = 999.99
# Powers are in kW, the sub-meters in watt-hours a minute.
PER_UNIT = np.array([1000.0, 1000.0, 1.0, 1.0, 60.0, 60.0, 60.0])
LINE = "%s;%.3f;%.3f;%.2f;%.2f;%.2f;%.2f;%.2f\n"
GAP = "%s;?;?;?;?;?;?;\n"


def stamps(chunk: range) -> list[str]:
    """Date and time as the data set writes them: ``16/12/2006;17:24:00``."""
    texts = np.datetime_as_string(START + np.arange(chunk.start, chunk.stop).astype("timedelta64[m]")).tolist()
    return [f"{text[8:10]}/{text[5:7]}/{text[:4]};{text[11:]}:00" for text in texts]


def log(values: Array, chunk: range, flaws: Flaws) -> str:
    """A chunk's log with its flaws; ``values`` are those of the whole period."""
    rows = (values[:, chunk.start : chunk.stop] / PER_UNIT[:, None]).T.tolist()
    lines = [LINE % (stamp, *row) for stamp, row in zip(stamps(chunk), rows, strict=True)]

    def inside(minutes: Array) -> list[int]:
        return (minutes[(minutes >= chunk.start) & (minutes < chunk.stop)] - chunk.start).tolist()

    for at in inside(np.flatnonzero(flaws.missing)):
        lines[at] = GAP % lines[at][:19]
    for at in inside(flaws.impossible):
        row = rows[at]
        row[2] = IMPOSSIBLE_V
        lines[at] = LINE % (lines[at][:19], *row)
    for at in inside(flaws.repeated):
        lines[at] *= 2
    for at in inside(flaws.swapped):
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return HEADER + "".join(lines)
