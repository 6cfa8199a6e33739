"""The published figures: the efficiencies of Figure 5 (a file beside the logs) and Table I."""

from __future__ import annotations

from pathlib import Path

import msgspec

from headway.model.errors import InputError

# Table I: average microseconds to compute a new bucketing state and derive an allocation, by number of records.
TABLE_I_US: dict[str, dict[int, float]] = {
    "greedy-bucketing": {10: 11.2, 200: 586.4, 1_000: 14_588.2, 2_000: 62_207.2, 5_000: 441_050.7},
    "exhaustive-bucketing": {10: 14.4, 200: 76.5, 1_000: 323.5, 2_000: 567.8, 5_000: 1_632.0},
}


class Figure5(msgspec.Struct, frozen=True):
    """Absolute Workflow Efficiencies: a row a workflow, a column an algorithm."""

    columns: list[str]
    rows: list[str]
    memory: list[list[float]] = msgspec.field(name="mem")
    disk: list[list[float]]
    cores: list[list[float]]

    def awe(self, resource: str, workflow: str | None, algorithm: str | None) -> float | None:
        """A bar of the figure; None if it has no such bar."""
        table: list[list[float]] = getattr(self, resource)
        if workflow not in self.rows or algorithm not in self.columns:
            return None
        return table[self.rows.index(workflow)][self.columns.index(algorithm)]


def read_figure_5(path: Path) -> Figure5:
    """Read the values of Figure 5."""
    try:
        figure = msgspec.json.decode(path.read_bytes(), type=Figure5)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except msgspec.DecodeError as error:
        raise InputError(f"these are not the published efficiencies ({error})", where=str(path)) from None
    for table in (figure.memory, figure.disk, figure.cores):
        if len(table) != len(figure.rows) or any(len(row) != len(figure.columns) for row in table):
            raise InputError("a table does not have a figure for each row and column", where=str(path))
    return figure
