"""A picture of plans for the terminal: time against node-hours, with those that no other plan beats in both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from headway.model.units import format_duration
from headway.report.queue.through_queue import Alternative
from headway.report.queue.words import node_hours

_HEIGHT = 11
_WIDEST = 76
_ON_THE_FRONT, _BEATEN = "●", "○"


def front_picture(
    alternatives: Sequence[Alternative], chosen: Alternative, width: int, *, in_cores: bool = False
) -> list[Text]:
    """Each plan as a point with its name, faster ones lower and cheaper ones further left; nothing for a single plan.

    Names that find no place beside their point are left out; the table has all of them.
    """
    if len(alternatives) < 2:
        return []
    costs = [it.core_hours if in_cores else it.node_hours for it in alternatives]
    times_s = [it.makespan_s for it in alternatives]
    ticks = [format_duration(max(times_s)), format_duration(min(times_s))]
    margin = max(map(len, ticks))
    columns = min(width, _WIDEST) - margin - 2
    rows = [[" "] * columns for _ in range(_HEIGHT)]
    points = [
        (_place(max(times_s) - time_s, times_s, _HEIGHT), _place(cost - min(costs), costs, columns * 3 // 4))
        for time_s, cost in zip(times_s, costs, strict=True)
    ]
    for (row, column), it in zip(points, alternatives, strict=True):
        if it.on_the_front or rows[row][column] == " ":
            rows[row][column] = _ON_THE_FRONT if it.on_the_front else _BEATEN
    first_named = sorted(
        zip(points, alternatives, strict=True), key=lambda it: (it[1] is not chosen, not it[1].on_the_front)
    )
    for point, it in first_named:
        _write(rows, point, f"{it.plan} <-" if it is chosen else it.plan)
    labels = [ticks[0], *[""] * (_HEIGHT - 2), ticks[1]]
    lines = [Text(f"{label:>{margin}} │{''.join(row)}".rstrip()) for label, row in zip(labels, rows, strict=True)]
    left, right = node_hours(min(costs)), f"{node_hours(max(costs))} {'core' if in_cores else 'node'}-hours"
    axis = f"{left}{right:>{max(1, columns * 3 // 4 + len(right) - 1 - len(left))}}"
    return [
        *lines,
        Text(f"{'':{margin}} └{'─' * columns}"),
        Text(f"{'':{margin}}  {axis}"[: min(width, _WIDEST)].rstrip()),
    ]


def _place(above: float, values: Sequence[float], cells: int) -> int:
    span = max(values) - min(values)
    return round(above / span * (cells - 1)) if span else 0


def _write(rows: list[list[str]], point: tuple[int, int], name: str) -> None:
    """Write a name where it is free of others, as near to its point as possible."""
    for row, column in _near(point, len(name)):
        if not 0 <= row < len(rows) or column < 0 or column + len(name) > len(rows[row]):
            continue
        if set(rows[row][max(0, column - 1) : column + len(name) + 1]) == {" "}:
            rows[row][column : column + len(name)] = name
            return


def _near(point: tuple[int, int], length: int) -> Iterator[tuple[int, int]]:
    row, column = point
    yield row, column + 2
    yield row, column - 1 - length
    for other in (row - 1, row + 1):
        yield other, column + 1
        yield other, column - length
