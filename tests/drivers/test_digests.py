"""Digests of contents: equal if and only if the contents are, however a file system stores them."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.drivers import digests as module
from headway.drivers.digests import Digests

Pieces = list[tuple[int, int | None]]

MIB = 1 << 20
# Pieces of a file: their length in units of 256 KiB, and what they hold: a hole, written zeros, or a byte.
PIECES = st.lists(st.tuples(st.integers(1, 9), st.sampled_from([None, 0, 1, 2])), max_size=6)


def write(path: Path, pieces: Pieces, extra: int, *, sparse: bool) -> None:
    """Write the pieces, then `extra` bytes of zeros; holes as holes if `sparse`, else as zeros."""
    with path.open("wb") as file:
        for length, byte in [*((units * MIB // 4, byte) for units, byte in pieces), (extra, None)]:
            if byte is None and sparse:
                file.seek(length, os.SEEK_CUR)
            else:
                file.write(bytes([byte or 0]) * length)
        file.truncate()


def content(pieces: Pieces, extra: int) -> bytes:
    return b"".join(bytes([byte or 0]) * (units * MIB // 4) for units, byte in pieces) + bytes(extra)


@settings(max_examples=60, deadline=None)
@given(PIECES.flatmap(lambda one: st.tuples(st.just(one), PIECES | st.permutations(one))), st.sampled_from([0, 1, MIB]))
def test_digests_are_equal_if_and_only_if_contents_are(
    tmp_path_factory: pytest.TempPathFactory, both: tuple[Pieces, Pieces], extra: int
) -> None:
    one, other = both
    folder = tmp_path_factory.mktemp("files")
    write(folder / "sparse", one, extra, sparse=True)
    write(folder / "plain", one, extra, sparse=False)
    write(folder / "other", other, extra, sparse=True)
    sparse, plain, third = (Digests().of(folder / name)[0] for name in ("sparse", "plain", "other"))
    assert sparse == plain
    assert (sparse == third) == (content(one, extra) == content(other, extra))


def test_a_file_without_a_block_of_zeros_keeps_its_plain_digest(tmp_path: Path) -> None:
    data = os.urandom(MIB) + bytes(MIB - 1) + b"x" + b"y" + bytes(MIB + MIB // 2)
    data = data[: 4 * MIB - 1]  # the last block is one byte short
    (tmp_path / "file").write_bytes(data)
    assert Digests().of(tmp_path / "file") == (hashlib.blake2b(data, digest_size=16).hexdigest(), len(data))


def test_holes_are_not_read(tmp_path: Path) -> None:
    """To read 8 TB would take longer than anybody waits for a test."""
    for name, last in (("one", b"1"), ("two", b"2")):
        with (tmp_path / name).open("wb") as file:
            file.seek(3 << 40)
            file.write(last)
            file.truncate(8 << 40)
    (tmp_path / "none").touch()
    os.truncate(tmp_path / "none", 8 << 40)
    found = [Digests().of(tmp_path / name) for name in ("one", "two", "none")]
    assert len({digest for digest, _ in found}) == 3
    assert {size for _, size in found} == {8 << 40}


def test_an_edit_that_restores_the_modification_time_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    status = path.stat()
    digests = Digests()
    before = digests.of(path)
    while time.time_ns() < status.st_ctime_ns + 50_000_000:  # clocks of file systems tick every few milliseconds
        time.sleep(0.01)
    with path.open("r+") as file:
        file.write("two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_mtime_ns == status.st_mtime_ns
    assert digests.of(path) != before


def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files that exist be older: a change time cannot be set."""
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 100)


def test_a_cache_of_an_earlier_version_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, cache = tmp_path / "file", tmp_path / "cache.db"
    path.write_text("x")
    later(monkeypatch)
    status = path.stat()
    with closing(sqlite3.connect(cache)) as database, database:
        database.execute(
            "CREATE TABLE digests"
            " (path TEXT PRIMARY KEY, size INTEGER, modified_ns INTEGER, inode INTEGER, digest TEXT)"
        )
        row = (str(path), 1, status.st_mtime_ns, status.st_ino, "of earlier")
        database.execute("INSERT INTO digests VALUES (?, ?, ?, ?, ?)", row)
    first = Digests(cache)
    assert first.unread_bytes(path) == 1
    assert first.of(path)[0] != "of earlier"
    first.save()
    assert Digests(cache).unread_bytes(path) == 0


def changing(monkeypatch: pytest.MonkeyPatch, path: Path, times: int) -> list[int]:
    """Let the file grow this often just after it was read; return a list that gets its size at each reading."""
    sizes: list[int] = []
    real = module.content_digest

    def read_and_change(file: BinaryIO) -> str:
        digest = real(file)
        sizes.append(path.stat().st_size)
        if len(sizes) <= times:
            with path.open("a") as more:
                more.write("more")
        return digest

    monkeypatch.setattr(module, "content_digest", read_and_change)
    return sizes


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    sizes = changing(monkeypatch, path, times=1)
    digests = Digests()
    assert digests.of(path) == (hashlib.blake2b(b"xmore", digest_size=16).hexdigest(), 5)
    assert sizes == [1, 5]
    assert digests.unread_bytes(path) == 0


def test_a_file_that_always_changes_is_not_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    later(monkeypatch)
    sizes = changing(monkeypatch, path, times=100)
    digests = Digests(tmp_path / "cache.db")
    digests.of(path)
    assert len(sizes) <= 5
    digests.save()
    assert digests.unread_bytes(path) == Digests(tmp_path / "cache.db").unread_bytes(path) == path.stat().st_size
