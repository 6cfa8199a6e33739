"""Files that appear whole, and those of them that survive a crash of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.workers.whole_file import write_whole
from tests.chaos.disk_changes import changes_by, compiled
from tests.journal.test_storage_faults import files_of_at_most


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", b"before")
    with files_of_at_most(100), pytest.raises(OSError, match="File too large"):
        write_whole(tmp_path / "file", b"x" * 1000)
    assert (tmp_path / "file").read_bytes() == b"before"


def test_a_durable_file_is_flushed_before_it_appears(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    code = """
from pathlib import Path
from headway.workers.whole_file import write_whole
write_whole(Path("file").absolute(), b"text", durable=True)
"""
    *_, written, flushed, appeared = changes_by(code, folder, compiled(tmp_path))
    assert [change.split()[0] for change in (written, flushed, appeared)] == ["write", "fsync", "rename"]
    assert written.split()[1] == flushed.split()[1] and appeared == "rename file"
