"""What has changed in the data of a run's page, so that a viewer is sent only that."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from headway.report.run_page.data import PageData, Said

_COLUMNS = ("tasks", "attempts")
Columns = dict[str, list[Any]]


class Snapshot(Struct, frozen=True):
    """The data at one moment; what goes on changing is copied."""

    fields: dict[str, bytes]  # encoded, by name
    columns: dict[str, Columns]  # of tasks and attempts
    decisions: list[Said]

    def whole(self) -> bytes:
        """All data, as the page's script takes them."""
        fields = {name: Raw(value) for name, value in self.fields.items()}
        return msgspec.json.encode({**fields, **self.columns, "decisions": self.decisions})


def snapshot(data: PageData) -> Snapshot:
    """Copy the data."""
    names = [name for name in PageData.__struct_fields__ if name not in (*_COLUMNS, "decisions")]
    fields = {name: msgspec.json.encode(getattr(data, name)) for name in names}
    return Snapshot(fields, {name: _columns(getattr(data, name)) for name in _COLUMNS}, list(data.decisions))


def _columns(table: Struct) -> Columns:
    return {name: list(getattr(table, name)) for name in table.__struct_fields__}


def difference(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """What has changed: fields; rows of tasks and attempts (`at` has their numbers); decisions that were added."""
    changed: dict[str, Any] = {
        name: Raw(value) for name, value in after.fields.items() if before.fields.get(name) != value
    }
    for table in _COLUMNS:
        old, new = before.columns[table], after.columns[table]
        rows = _changed_rows(old, new)
        if rows:
            changed[table] = {"at": rows} | {name: [values[row] for row in rows] for name, values in new.items()}
    if len(after.decisions) > len(before.decisions):
        changed["decisions"] = after.decisions[len(before.decisions) :]
    return changed


def _changed_rows(old: Columns, new: Columns) -> list[int]:
    """The numbers of rows that are new or differ. Columns only grow."""
    rows: set[int] = set()
    for name, values in new.items():
        before = old[name]
        if before != values:
            known = len(before)
            rows.update(row for row in range(known) if before[row] != values[row])
            rows.update(range(known, len(values)))
    return sorted(rows)
