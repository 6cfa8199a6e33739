"""`export`: a run as a Workflow Run RO-Crate, which says where each of its results comes from."""

from __future__ import annotations

import os
import pwd
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from headway.api.answers import Answer
from headway.api.bundle_contents import learn_secrets
from headway.api.bundle_secrets import Scrubber
from headway.api.crate_files import Chosen, check_crate_target, choose, write_crate
from headway.api.finding import find_run, reading
from headway.api.run_instance import instance_of
from headway.api.run_provenance import provenance_of
from headway.formats.headway_yaml_out import headway_yaml
from headway.formats.run_crate_out import METADATA, Packed, run_crate
from headway.formats.wfformat_out import wfformat
from headway.journal.folder import RunFolder
from headway.model.errors import InputError
from headway.model.provenance import Provenance
from headway.report.run.story import settings_of

_OWN = ("Headway's workflow file", "docs/workflow-file.md of Headway")
_WFFORMAT = ("WfFormat", "https://wfcommons.org/format")
_LANGUAGES = {
    ".yaml": _OWN,
    ".yml": _OWN,
    ".json": _WFFORMAT,
    ".dax": ("Pegasus DAX", "https://pegasus.isi.edu"),
    ".xml": ("Pegasus DAX", "https://pegasus.isi.edu"),
}
_ORCID = re.compile(r"(?:https?://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])")
_LARGEST_WORKFLOW_BYTES = 20_000_000


class Export(Answer, frozen=True):
    """A crate that was written: what is in it and what is left out, in words."""

    run: str
    state: str
    target: str
    profile: str
    tasks: int
    attempts: int
    results: int  # files that were copied into it
    results_bytes: int
    left_out: list[str]
    removed: int  # secrets
    metadata_bytes: int

    def document(self) -> dict[str, Any]:
        """Return what `headway export --json` prints."""
        return Answer.document(self)


def export(
    out: str | os.PathLike[str],
    run: str | None = None,
    directory: str | os.PathLike[str] = ".",
    *,
    with_files: bool = False,
    licence: str = "",
    author: str = "",
    orcid: str = "",
    force: bool = False,
) -> Export:
    """Write a run (by default the newest) as a Workflow Run RO-Crate: a folder, or an archive if `out` ends in .zip.

    The crate has the workflow file and the metadata, `with_files` also the results that are still as the run made
    them. Passwords, tokens, keys and the values of the tasks' `env` are removed from all but the results.
    """
    folder, target = find_run(Path(directory), run), Path(out)
    check_crate_target(target, force=force)
    identity = _orcid(orcid)
    scrubber = Scrubber()
    scrubber.learn(os.environ, only_secrets=True)
    with reading(folder) as journal:
        learn_secrets(journal, scrubber)
        source = settings_of(journal).source
        found = provenance_of(folder)
        if not found.tasks:
            raise InputError(f"run {folder.run} has no tasks yet", where=str(folder.directory), todo="export it later")
        name, text, about = _workflow_file(folder, source, found, scrubber)
        chosen = choose(found, folder.directory, scrubber.text, {name}) if with_files else Chosen()
        packed = Packed(
            workflow=name,
            language=_LANGUAGES.get(Path(name).suffix.lower(), _OWN),
            said_of_workflow=about,
            author=author or _owner(folder),
            orcid=identity,
            licence=licence,
            made_at=time.time(),
            files=chosen.described,
        )
        count = _Counted(run_crate(found, packed, scrubber.text))
        write_crate(target, {name: [text], METADATA: count}, chosen)
    attempts = sum(map(len, found.executions.values()))
    return Export(
        run=folder.run,
        state=found.state,
        target=str(target),
        profile="Provenance Run Crate" if attempts else "Workflow Run Crate",
        tasks=len(found.tasks),
        attempts=attempts,
        results=len(chosen.copied),
        results_bytes=chosen.size_bytes,
        left_out=chosen.left_out,
        removed=scrubber.removed,
        metadata_bytes=count.size_bytes,
    )


class _Counted:
    """Passes texts on and counts their bytes."""

    def __init__(self, parts: Iterator[str]) -> None:
        self._parts = parts
        self.size_bytes = 0

    def __iter__(self) -> Iterator[str]:
        for part in self._parts:
            self.size_bytes += len(part.encode("utf-8", errors="replace"))
            yield part


def _workflow_file(folder: RunFolder, source: str, run: Provenance, scrubber: Scrubber) -> tuple[str, str, str]:
    """Return the name, the text and a description of the crate's workflow file.

    That is the file that was run, if it is still in the workflow's directory; otherwise its tasks, from the journal.
    """
    home = folder.directory.resolve()
    for path in ((home / source).resolve(), (home / Path(source).name).resolve()):
        if not path.is_file() or not path.is_relative_to(home) or path.stat().st_size > _LARGEST_WORKFLOW_BYTES:
            continue
        with suppress(OSError, UnicodeDecodeError):
            text = path.read_text(encoding="utf-8")
            changed = path.stat().st_mtime > run.started_at
            words = " It was changed after the run began." if changed else ""
            return path.name, scrubber.text(text), f"The workflow file that was run.{words}"
    about = "The tasks of the run as they are in its journal: no file that was run is in the workflow's directory."
    instance = instance_of(folder)
    try:
        return "workflow-as-run.yaml", scrubber.text(headway_yaml(instance.workflow).decode()), about
    except InputError:  # names that a workflow file cannot have
        return "workflow-as-run.json", scrubber.text(wfformat(instance).decode()), about


def _orcid(given: str) -> str:
    if not given:
        return ""
    found = _ORCID.fullmatch(given.strip())
    if found is None:
        todo = "write for example --orcid 0000-0002-1825-0097"
        raise InputError(f"{given!r} is not an ORCID", where="--orcid", todo=todo)
    return f"https://orcid.org/{found[1]}"


def _owner(folder: RunFolder) -> str:
    """The account that owns the run."""
    number = folder.journal.stat().st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
