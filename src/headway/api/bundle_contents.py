"""The contents of a bundle: a run's journal and the logs of managers and jobs, without secrets and limited in size."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from headway.api.bundle_secrets import Scrubber
from headway.journal.base import Journal
from headway.journal.folder import RunFolder
from headway.journal.logs import open_inside
from headway.model.codec import encode
from headway.model.records import TasksAdded
from headway.model.units import format_bytes
from headway.report.words import count

_HEAD_BYTES = 200_000  # kept from the beginning of a long log
_TAIL_BYTES = 800_000
_JOURNAL_HEAD_BYTES = 16_000_000
_JOURNAL_TAIL_BYTES = 32_000_000
_ALL_LOGS_BYTES = 64_000_000
_JOB_FILES = ("*log", "script.sh", "asked.json", "started-*", "ended-*")


class Contents(Struct):
    """Texts by file name, and sentences about what is left out."""

    texts: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def learn_secrets(journal: Journal, scrubber: Scrubber) -> None:
    """Tell the scrubber the values of every task's environment, so that it finds them in logs as well."""
    for record in journal.replay(kinds=("tasks-added",)):
        if isinstance(record, TasksAdded):
            for task in record.tasks:
                scrubber.learn(task.environment)


def add_journal(contents: Contents, journal: Journal, scrubber: Scrubber) -> None:
    """Add the records, one JSON document per line; of a very long journal only its beginning and its end."""
    head: list[str] = []
    tail: deque[str] = deque()
    head_bytes = tail_bytes = dropped = 0
    for record in journal.replay():
        line = json.dumps(scrubber.record(json.loads(encode(record))), ensure_ascii=False)
        if not tail and head_bytes + len(line) <= _JOURNAL_HEAD_BYTES:
            head.append(line)
            head_bytes += len(line)
            continue
        tail.append(line)
        tail_bytes += len(line)
        while tail_bytes > _JOURNAL_TAIL_BYTES and len(tail) > 1:
            tail_bytes -= len(tail.popleft())
            dropped += 1
    if dropped:
        head.append(json.dumps({"left_out": dropped}))
        contents.left_out.append(f"{count(dropped, 'record')} from the middle of the journal, which is very long")
    contents.texts["journal.jsonl"] = "".join(f"{line}\n" for line in (*head, *tail))


def add_logs(contents: Contents, folder: RunFolder, manager_log: Path, scrubber: Scrubber) -> None:
    """Add logs of managers, the pool's scheduler and jobs, newest jobs first, up to a limit."""
    room = _ALL_LOGS_BYTES
    without_room = 0
    pool_log = folder.path / "pool" / "scheduler.log"
    for path in (manager_log, pool_log, *_job_files(folder)):
        text = _shortened(folder, path)
        if text is None:
            continue
        if room < len(text):
            without_room += 1
            continue
        room -= len(text)
        contents.texts[str(path.relative_to(folder.path))] = scrubber.text(text)
    if without_room:
        contents.left_out.append(f"{count(without_room, 'log')} of older jobs, because of the size limit")


def add_what_is_missing(contents: Contents, folder: RunFolder) -> None:
    """Say which files of the run's folder are left out."""
    contents.left_out += [
        "what tasks wrote to standard output and error: `headway logs TASK` shows it",
        "the workflow's files, inputs and outputs",
        "values of the tasks' environment variables",
    ]
    if (folder.path / "pool").exists():
        contents.left_out.append("keys and certificates of the pool")


def _job_files(folder: RunFolder) -> Iterator[Path]:
    tags: list[Path] = []
    for jobs in (folder.jobs, folder.managers):
        with suppress(OSError):
            tags += [entry for entry in jobs.iterdir() if entry.is_dir()]
    for tag in sorted(tags, key=lambda entry: (-entry.stat().st_mtime, entry.name)):
        for pattern in _JOB_FILES:
            yield from sorted(path for path in tag.glob(pattern) if path.is_file())


def _shortened(folder: RunFolder, path: Path) -> str | None:
    """Return a file's text; of a long file, whole lines from its beginning and its end. A link shows nothing."""
    try:
        with open_inside(folder.path, path.relative_to(folder.path).parts) as file:
            size = file.seek(0, 2)
            file.seek(0)
            if size <= _HEAD_BYTES + _TAIL_BYTES:
                return file.read().decode(errors="replace")
            head = file.read(_HEAD_BYTES).rpartition(b"\n")[0]
            file.seek(size - _TAIL_BYTES)
            tail = file.read(_TAIL_BYTES).partition(b"\n")[2]
    except OSError:
        return None
    cut = f"\n(… {format_bytes(size - len(head) - len(tail))} left out …)\n"
    return head.decode(errors="replace") + cut + tail.decode(errors="replace")
