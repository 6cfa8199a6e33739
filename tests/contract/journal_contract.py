"""The contract suite of journals."""

from __future__ import annotations

from pathlib import Path

from headway.journal.base import Journal
from headway.model.records import Decision, Event, ReadInputs, Resumed, UserCancel


class JournalContract:
    """Appended records are there, in order, for every reader, also after a crash."""

    def make(self, path: Path) -> Journal:
        """Open the journal at a path, or create it."""
        raise NotImplementedError

    def test_records_come_back_in_order(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path / "journal")
        written = _records(10)
        journal.append(written[:3])
        journal.append(written[3:])
        assert list(journal.replay()) == written
        journal.close()

    def test_records_survive_closing(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path / "journal")
        journal.append(_records(5))
        journal.close()
        again = self.make(tmp_path / "journal")
        again.append([Resumed(99.0, "x")])
        assert list(again.replay()) == [*_records(5), Resumed(99.0, "x")]
        again.close()

    def test_records_survive_without_closing(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path / "journal")
        journal.append(_records(5))
        other = self.make(tmp_path / "journal")
        assert list(other.replay()) == _records(5)
        other.close()
        journal.close()

    def test_the_records_of_one_task_can_be_read_alone(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path / "journal")
        journal.append([ReadInputs(1.0, "a"), ReadInputs(2.0, "b"), UserCancel(3.0, "now"), ReadInputs(4.0, "a")])
        assert list(journal.replay("a")) == [ReadInputs(1.0, "a"), ReadInputs(4.0, "a")]
        assert list(journal.replay("unknown")) == []
        journal.close()

    def test_appending_nothing_changes_nothing(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path / "journal")
        journal.append([])
        assert list(journal.replay()) == []
        journal.close()


def _records(count: int) -> list[Event | Decision]:
    return [ReadInputs(float(number), f"täsk [{number}] \N{SNOWMAN}") for number in range(count)]
