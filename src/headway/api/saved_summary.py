"""A run's summary, saved beside its journal now and then: `status` then reads only what came later."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from headway.api.whole_files import write_whole
from headway.journal.folder import Project, RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.model.codec import encode
from headway.model.errors import SiteError
from headway.model.records import Decision, Event
from headway.report.run.summary import RunSummary
from headway.version import __version__

LEAST = 5000  # records; fewer are read in no time
GROWTH = 1.2  # of the number of records, from one saving to the next
_DIGEST_BYTES = 16


class _Saved(Struct, array_like=True):
    version: str  # another one may count otherwise
    last: bytes  # the last record that is in it, as the journal has it
    summary: RunSummary


_DECODER = msgspec.msgpack.Decoder(_Saved)


class Saving:
    """An observer of a run in `directory` that saves its summary, to be called after the one that updates it."""

    def __init__(self, summary: RunSummary, directory: Path) -> None:
        self._summary = summary
        self._directory = directory
        self._due: float = LEAST

    def __call__(self, batch: Sequence[Event | Decision]) -> None:
        summary = self._summary
        if summary.settings is None or summary.applied < LEAST:
            return
        if summary.applied >= self._due or summary.finished is not None:
            self._due = GROWTH * summary.applied
            with suppress(SiteError):  # without it answers only take longer
                save(summary, batch[-1], RunFolder(Project(self._directory).path / "runs" / summary.settings.run))


def save(summary: RunSummary, last: Event | Decision, folder: RunFolder) -> None:
    """Write a summary to the run's folder; `last` is the last record that it knows."""
    body = msgspec.msgpack.encode(_Saved(__version__, encode(last), summary))
    write_whole(folder.summary, [_digest(body), body], mode=0o600)


def summary_of(folder: RunFolder, journal: SqliteJournal) -> RunSummary:
    """Return the summary of all records in the journal, as far as possible from what was saved."""
    saved = _saved(folder.summary)
    if saved is None or journal.body(saved.summary.applied) != saved.last:
        return RunSummary().read(journal)
    return saved.summary.read(journal, after=saved.summary.applied)


def _saved(path: Path) -> _Saved | None:
    """Return what was saved by this version, if there is any and it is whole."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            digest, body = file.read(_DIGEST_BYTES), file.read()
        saved = _DECODER.decode(body) if digest == _digest(body) else None
    except (OSError, msgspec.MsgspecError):
        return None
    return saved if saved is not None and saved.version == __version__ else None


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST_BYTES).digest()
