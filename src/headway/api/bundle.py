"""`bundle`: pack what a support request needs of a run into one file, without secrets."""

from __future__ import annotations

import io
import os
import platform
import sys
import tarfile
import time
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

from headway.api.answers import Answer
from headway.api.bundle_contents import Contents, add_journal, add_logs, add_what_is_missing, learn_secrets
from headway.api.bundle_secrets import Scrubber
from headway.api.detach import LOG
from headway.api.doctor import doctor
from headway.api.finding import find_run, reading
from headway.api.settings import PROJECT_FILE, read_environment, read_settings, user_file
from headway.api.whole_files import write_whole
from headway.journal.folder import RunFolder
from headway.journal.logs import open_inside
from headway.model.errors import InputError
from headway.model.units import format_bytes
from headway.report.run.story import settings_of
from headway.report.words import count
from headway.version import __version__

_MOST_BYTES = 100_000  # of a file with settings
_PACKAGES = (
    "click",
    "cloudpickle",
    "dask",
    "distributed",
    "msgspec",
    "numba",
    "numpy",
    "psycopg",
    "PyYAML",
    "rich",
    "textual",
)


class Bundle(Answer, frozen=True):
    """A file that was written: bytes by member, what was left out in words, how many secrets were removed."""

    unsaid = ("overview",)

    run: str
    file: Path
    contents: dict[str, int]
    left_out: list[str]
    removed: int
    overview: str  # the text of the member CONTENTS.txt

    def document(self) -> dict[str, Any]:
        """Return what `headway bundle --json` prints."""
        return Answer.document(self) | {"file": str(self.file.absolute())}


def bundle(
    run: str | None = None,
    directory: str | os.PathLike[str] = ".",
    output: str | os.PathLike[str] | None = None,
    *,
    force: bool = False,
) -> Bundle:
    """Pack a run (by default the newest) into `output`, by default headway-run-N.tar.gz in the current directory.

    The file holds the journal as JSON lines, logs of managers and jobs, settings, versions and what `doctor` finds.
    Passwords, tokens, keys and the values of the tasks' `env` are removed. Only its owner can read the file.
    """
    folder = find_run(Path(directory), run)
    target = Path(output) if output is not None else Path(f"headway-run-{folder.run}.tar.gz")
    if target.exists() and not force:
        raise InputError("this file exists", where=str(target), todo="name another one with -o, or add --force")
    contents, scrubber = Contents(), Scrubber()
    scrubber.learn(os.environ, only_secrets=True)
    scrubber.learn(_told(folder.directory))
    with reading(folder) as journal:
        learn_secrets(journal, scrubber)
        add_journal(contents, journal, scrubber)
        cluster = settings_of(journal).cluster
    add_logs(contents, folder, folder.path / LOG, scrubber)
    _add_settings(contents, folder.directory, scrubber)
    contents.texts["doctor.txt"] = scrubber.text(_diagnosis(folder.directory, cluster))
    contents.texts["versions.txt"] = _versions()
    add_what_is_missing(contents, folder)
    overview = _overview(contents, folder, scrubber)
    _pack({"CONTENTS.txt": overview} | contents.texts, target, f"headway-run-{folder.run}")
    sizes = {name: len(text.encode()) for name, text in contents.texts.items()}
    return Bundle(folder.run, target, sizes, contents.left_out, scrubber.removed, overview)


def _told(directory: Path) -> dict[str, str]:
    """Return whom runs tell how they go: the address of a webhook lets anyone write there."""
    found: list[str] = []
    for read in (read_environment, lambda: read_settings(directory / PROJECT_FILE), lambda: read_settings(user_file())):
        with suppress(InputError):
            found += read().get("notify", ())
    return {str(number): target for number, target in enumerate(found) if not target.startswith("mail:")}


def _add_settings(contents: Contents, directory: Path, scrubber: Scrubber) -> None:
    with suppress(OSError), open_inside(directory, (PROJECT_FILE,)) as file:  # no link, which may lead to anything
        contents.texts[f"settings/{PROJECT_FILE}"] = _text(file, scrubber)
    with suppress(OSError), user_file().open("rb") as file:
        contents.texts["settings/config.toml"] = _text(file, scrubber)
    ours = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(("HEADWAY_", "SLURM_"))]
    contents.texts["settings/environment.txt"] = scrubber.text("".join(f"{line}\n" for line in ours))


def _text(file: BinaryIO, scrubber: Scrubber) -> str:
    return scrubber.text(file.read(_MOST_BYTES).decode(errors="replace"))


def _diagnosis(directory: Path, cluster: str) -> str:
    """Return what the doctor finds; an error in it must not keep us from packing the rest."""
    try:
        found = doctor(directory, cluster)
    except Exception as error:  # whatever it is, the reader of the bundle should see it
        return f"the examination ended with {type(error).__name__}: {error}\n"
    return "".join(f"{check.mark}  {check.about}: {check.found}\n" for check in found.checks)


def _versions() -> str:
    lines = [f"headway {__version__}", f"python {sys.version.split()[0]}", f"system {platform.platform()}"]
    for name in _PACKAGES:
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            lines.append(f"{name} is not installed")
    return "".join(f"{line}\n" for line in lines)


def _overview(contents: Contents, folder: RunFolder, scrubber: Scrubber) -> str:
    at = time.strftime("%Y-%m-%d %H:%M:%S %z")
    lines = [f"run {folder.run} of {folder.directory}, packed {at}", "", "in it:"]
    lines += [f"  {name} ({format_bytes(len(text.encode()))})" for name, text in contents.texts.items()]
    lines += ["", "left out:", *(f"  {words}" for words in contents.left_out)]
    lines += [f"  {count(scrubber.removed, 'secret')} in what is in it, marked as (removed)"]
    return "\n".join(lines) + "\n"


def _pack(texts: dict[str, str], target: Path, root: str) -> None:
    """Write the whole archive or nothing; at no moment can another user read it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in texts.items():
            body = text.encode("utf-8", errors="replace")
            member = tarfile.TarInfo(f"{root}/{name}")
            member.size, member.mode, member.mtime = len(body), 0o600, int(time.time())
            tar.addfile(member, io.BytesIO(body))
    write_whole(target, [packed.getvalue()], mode=0o600, compressed=False)
