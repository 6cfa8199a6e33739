"""`headway bundle`: what a support request needs of a run, in one file and without secrets."""

from __future__ import annotations

import io
import os
import platform
import sys
import tarfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli.completion import complete_run
from headway.cli.options import directory_option, json_option

if TYPE_CHECKING:
    from headway.journal.base import Journal
    from headway.journal.folder import RunFolder
    from headway.report.bundle import Bundle
    from headway.report.bundle_secrets import Scrubber

_PACKAGES = ("click", "cloudpickle", "dask", "distributed", "msgspec", "numba", "numpy", "psycopg", "PyYAML", "rich")


@click.command("bundle", short_help="Pack what a support request needs, without secrets.")
@click.argument("run", required=False, shell_complete=complete_run)
@directory_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to; by default headway-run-N.tar.gz, here.",
)
@click.option("--force", is_flag=True, help="Overwrite a FILE that exists.")
@json_option
def command(run: str | None, directory: Path, output: Path | None, force: bool, as_json: bool) -> int:
    """Pack RUN (by default the newest) into a file that you can send to those who help you.

    It holds the journal as JSON lines, logs of managers and jobs, settings, versions and what `headway doctor` says.
    Values of the tasks' `env`, passwords, tokens and keys are taken out where they can be told; names of users,
    machines and files, and the tasks' commands stay. Only you can read the file: look into it before you send it.

    \b
    Examples:
      headway bundle
      headway bundle 3 -o problem.tar.gz && tar -tzf problem.tar.gz
    """
    from headway.cli.detach import LOG
    from headway.cli.finding import find_run, reading
    from headway.model.errors import InputError
    from headway.report.bundle import Bundle, add_journal, add_logs, add_what_is_missing, learn_secrets
    from headway.report.bundle_secrets import Scrubber

    folder = find_run(directory, run)
    place = output or Path(f"headway-run-{folder.run}.tar.gz")
    if place.exists() and not force:
        raise InputError("this file exists", where=str(place), todo="name another one with -o, or add --force")
    bundle, scrubber = Bundle(), Scrubber()
    scrubber.learn(os.environ, only_secrets=True)
    with reading(folder) as journal:
        learn_secrets(journal, scrubber)
        add_journal(bundle, journal, scrubber)
        cluster = _cluster_of(journal)
    add_logs(bundle, folder, folder.path / LOG, scrubber)
    _add_settings(bundle, folder.directory, scrubber)
    bundle.texts["doctor.txt"] = scrubber.text(_doctor(folder.directory, cluster))
    bundle.texts["versions.txt"] = _versions()
    add_what_is_missing(bundle, folder)
    contents = _contents(bundle, folder, scrubber)
    _pack({"CONTENTS.txt": contents} | bundle.texts, place, f"headway-run-{folder.run}")
    if as_json:
        from headway.cli.output import print_json

        print_json(_document(bundle, folder, place, scrubber))
    else:
        click.echo(contents)
        click.echo(f"wrote {place}, which only you can read: look into it before you send it")
    return 0


def _cluster_of(journal: Journal) -> str:
    from headway.model.records import RunStarted

    first = next(journal.replay(kinds=("run-started",)), None)
    return first.cluster if isinstance(first, RunStarted) else ""


def _add_settings(bundle: Bundle, directory: Path, scrubber: Scrubber) -> None:
    from headway.cli.settings import PROJECT_FILE, user_file

    for name, path in ((PROJECT_FILE, directory / PROJECT_FILE), ("config.toml", user_file())):
        with suppress(OSError):
            bundle.texts[f"settings/{name}"] = scrubber.text(path.read_text(errors="replace")[:100_000])
    ours = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(("HEADWAY_", "SLURM_"))]
    bundle.texts["settings/environment.txt"] = scrubber.text("".join(f"{line}\n" for line in ours))


def _doctor(directory: Path, cluster: str) -> str:
    """What the doctor finds; it must not keep us from packing the rest."""
    from headway.cli.checks import examine

    lines = []
    try:
        lines += [f"{check.mark}  {check.about}: {check.found}" for check in examine(directory)]
        if cluster == "slurm":
            from headway.clusters.slurm.diagnosis import diagnose
            from headway.clusters.slurm.options import SlurmOptions

            lines += [f"{it.mark}  {it.about}: {it.found}" for it in diagnose(SlurmOptions())]
    except Exception as error:  # whatever it is, those who help should see it
        lines.append(f"the examination ended with {type(error).__name__}: {error}")
    return "".join(f"{line}\n" for line in lines)


def _versions() -> str:
    from importlib.metadata import PackageNotFoundError, version

    from headway.version import __version__

    lines = [f"headway {__version__}", f"python {sys.version.split()[0]}", f"system {platform.platform()}"]
    for name in _PACKAGES:
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            lines.append(f"{name} is not installed")
    return "".join(f"{line}\n" for line in lines)


def _contents(bundle: Bundle, folder: RunFolder, scrubber: Scrubber) -> str:
    from headway.model.units import format_bytes
    from headway.report.words import count

    at = time.strftime("%Y-%m-%d %H:%M:%S %z")
    lines = [f"run {folder.run} of {folder.directory}, packed {at}", "", "in it:"]
    lines += [f"  {name} ({format_bytes(len(text.encode()))})" for name, text in bundle.texts.items()]
    lines += ["", "left out:", *(f"  {words}" for words in bundle.left_out)]
    lines += [f"  {count(scrubber.removed, 'secret')} in what is in it, marked as (removed)"]
    return "\n".join(lines) + "\n"


def _document(bundle: Bundle, folder: RunFolder, place: Path, scrubber: Scrubber) -> dict[str, Any]:
    return {
        "run": folder.run,
        "file": str(place.absolute()),
        "contents": {name: len(text.encode()) for name, text in bundle.texts.items()},
        "left_out": bundle.left_out,
        "removed": scrubber.removed,
    }


def _pack(texts: dict[str, str], place: Path, root: str) -> None:
    """The file is whole or not there, and nobody else's to read at any moment."""
    from headway.model.errors import SiteError

    unfinished = place.with_name(f".{place.name}.{os.getpid()}.unfinished")
    try:
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as tar:
            for name, text in texts.items():
                body = text.encode("utf-8", errors="replace")
                member = tarfile.TarInfo(f"{root}/{name}")
                member.size, member.mode, member.mtime = len(body), 0o600, int(time.time())
                tar.addfile(member, io.BytesIO(body))
        unfinished.replace(place)
    except OSError as error:
        raise SiteError(f"cannot write this: {error.strerror}", where=str(place)) from error
    finally:
        with suppress(OSError):
            unfinished.unlink()
