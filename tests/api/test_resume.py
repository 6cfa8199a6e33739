"""What happened before a run is resumed is told once, and no news is told twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from headway.api.resume import CatchUp
from headway.journal.folder import RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.model.records import Decision, Event, Launch, Why, kind
from headway.model.resources import Resources
from headway.report.run.progress import Progress
from headway.report.run.summary import RunSummary


class Heard(Progress):
    """Notes what it is told."""

    def __init__(self) -> None:
        super().__init__(RunSummary())
        self.earlier: list[tuple[float, str]] = []
        self.news: list[Event | Decision] = []

    def catch_up(self, batch: Iterable[Event | Decision]) -> None:
        self.earlier += [(record.at, kind(record)) for record in batch]

    def __call__(self, batch: Sequence[Event | Decision]) -> None:
        self.news += batch


def test_news_with_an_explanation_is_found_where_earlier_records_end(tmp_path: Path) -> None:
    """The journal is read without explanations, so the news is in it in another form."""
    why = {"cores": Why("ladder", "first-guess")}
    earlier, news = (Launch(at, "a", int(at), "n", "tag", Resources(cores=2), "", why) for at in (1.0, 2.0))
    folder = RunFolder(tmp_path)
    SqliteJournal.create(folder.journal, [earlier, news]).close()
    heard = Heard()
    CatchUp(heard, folder)([news])
    assert heard.earlier == [(1.0, "launch")]
    assert heard.news == [news]
