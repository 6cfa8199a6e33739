"""Damaged journals and histories, by a seed: bytes flipped, files cut, records lost or swapped, absurd values."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

ABSURD: tuple[Any, ...] = (
    *(None, True, -1, 0, -5, 1, 2**31, 2**62, 2**63, 2**64, 10**30, -(2**63)),
    *(1e300, -1e300, 1e13, 5e-324, 0.5),
    *("", "x", "../..", "\x1b[31m", "x" * 5000),
    *([], {}, [[]], {"a": {"b": []}}, [None]),
)
TABLES = ("observations", "observations", "observations", "categories", "states", "waits", "origins", "projects")


def flip(path: Path, draw: random.Random) -> None:
    """Change some bytes."""
    content = bytearray(path.read_bytes())
    for _ in range(draw.choice((1, 3, 50))):
        content[draw.randrange(len(content))] = draw.randrange(256)
    path.write_bytes(content)


def cut(path: Path, draw: random.Random) -> None:
    """Cut the file short."""
    path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size)])


def blank(path: Path, draw: random.Random) -> None:
    """Fill a page with zeros, as file systems do after a power failure."""
    content = bytearray(path.read_bytes())
    at = draw.randrange(len(content)) // 4096 * 4096
    content[at : at + 4096] = bytes(4096)
    path.write_bytes(content[: len(content)])


def lose(path: Path, draw: random.Random) -> None:
    """Delete records."""
    with sqlite3.connect(path) as database:
        numbers = [number for (number,) in database.execute("SELECT rowid FROM records")]
        lost = draw.sample(numbers, min(len(numbers), draw.choice((1, 1, 3, len(numbers) // 2))))
        database.executemany("DELETE FROM records WHERE rowid = ?", [(number,) for number in lost])


def swap(path: Path, draw: random.Random) -> None:
    """Let two records change places."""
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT sequence, kind, task, body FROM records").fetchall()
        (one, *first), (two, *second) = draw.sample(rows, 2)
        change = "UPDATE records SET kind = ?, task = ?, body = ? WHERE sequence = ?"
        database.executemany(change, [(*first, two), (*second, one)])


def twice(path: Path, draw: random.Random) -> None:
    """Write a record again at the end."""
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT kind, task, body FROM records").fetchall()
        database.execute("INSERT INTO records (kind, task, body) VALUES (?, ?, ?)", draw.choice(rows))


def absurd(path: Path, draw: random.Random) -> None:
    """Write an absurd value into a record."""
    with sqlite3.connect(path) as database:
        number, body = draw.choice(database.execute("SELECT sequence, body FROM records").fetchall())
        record = json.loads(body)
        _spoil(record, draw)
        changed = (json.dumps(record).encode(), number)
        database.execute("UPDATE records SET body = ? WHERE sequence = ?", changed)


def nonsense(path: Path, draw: random.Random) -> None:
    """Write into a record what is no record at all."""
    bodies = (b"", b"{}", b"[]", b"null", 7, None, "text", b"\xff\xfe", b"[" * 100_000, draw.randbytes(200))
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA writable_schema=ON")
        number = draw.choice(database.execute("SELECT sequence FROM records").fetchall())[0]
        body = draw.choice([body for body in bodies if body is not None])
        database.execute("UPDATE records SET body = ? WHERE sequence = ?", (body, number))


WAYS: tuple[Callable[[Path, random.Random], None], ...] = (
    flip, cut, blank, lose, swap, twice, absurd, absurd, absurd, nonsense,
)  # fmt: skip


def _spoil(value: Any, draw: random.Random) -> None:
    """Replace one value somewhere in a document by an absurd one."""
    while True:
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = draw.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.8:
            value = inner
            continue
        value[key] = draw.choice(ABSURD)
        return


def spoil_row(path: Path, draw: random.Random) -> None:
    """Write an absurd value into a row of a history."""
    with sqlite3.connect(path) as database:
        tables = (
            "observations",
            "observations",
            "observations",
            "categories",
            "states",
            "waits",
            "origins",
            "projects",
        )
        table = draw.choice(tables)
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        rows = database.execute(f"SELECT rowid FROM {table}").fetchall()
        if not rows:
            return
        column, number = draw.choice(columns), draw.choice(rows)[0]
        (old,) = database.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", (number,)).fetchone()
        new = draw.choice([value for value in ABSURD if not isinstance(value, list | dict)])
        if isinstance(old, str) and old.startswith(("{", "[")):
            document = json.loads(old)
            _spoil(document, draw)
            new = json.dumps(document)
        try:
            database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, number))
        except (sqlite3.IntegrityError, OverflowError):
            return
