"""Everything that is built in keeps its contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.clusters.base import Cluster
from headway.clusters.local import LocalMachine, Site
from headway.journal.base import Journal
from headway.journal.sqlite import SqliteJournal
from headway.sizing import SIZERS
from headway.sizing.base import Sizer
from headway.testing import ClusterContract, JournalContract, SizerContract


@pytest.mark.parametrize("name", sorted(SIZERS))
class TestSizers(SizerContract):
    @pytest.fixture(autouse=True)
    def choose(self, name: str) -> None:
        self.name = name

    def make(self, resource: str) -> Sizer:
        return SIZERS[self.name](resource)


class TestSqliteJournal(JournalContract):
    def make(self, path: Path) -> Journal:
        return SqliteJournal(path)


class TestLocalMachine(ClusterContract):
    def make(self, path: Path) -> Cluster:
        return LocalMachine(Site("test", str(path), path / "jobs"))
