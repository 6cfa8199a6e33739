"""The files of a crate: which results may be in it, and how a folder or an archive is written, whole or not at all."""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from headway.formats.run_crate_out import METADATA, CrateFile
from headway.model.errors import InputError, SiteError
from headway.model.provenance import Provenance
from headway.report.words import count

Texts = Mapping[str, Iterable[str]]  # by name in the crate


class Chosen(Struct):
    """The results that go into a crate: files by their path there, and sentences about what is left out."""

    described: dict[str, CrateFile] = field(default_factory=dict)  # by output, as the workflow names it
    copied: dict[str, Path] = field(default_factory=dict)  # by path in the crate
    folders: list[str] = field(default_factory=list)  # which may be empty
    size_bytes: int = 0
    left_out: list[str] = field(default_factory=list)


def choose(run: Provenance, directory: Path, clean: Callable[[str], str], taken: set[str]) -> Chosen:
    """Find the results of a run that are in the workflow's directory and are still what the run has made.

    Links are followed only within that directory. `taken` are names that the crate needs for itself.
    """
    chosen = Chosen()
    home = directory.resolve()
    for path in dict.fromkeys(path for task in run.tasks.values() for path in task.outputs):
        if path in run.stamps:
            obstacle = _choose(chosen, run, home, path, taken) if clean(path) == path else "its name holds a secret"
            if obstacle:
                chosen.left_out.append(f"{clean(path)}: {obstacle}")
    return chosen


def _choose(chosen: Chosen, run: Provenance, home: Path, path: str, taken: set[str]) -> str:
    """Add one output to `chosen`, or return why not."""
    name = os.path.normpath(path)
    if os.path.isabs(name) or name.split("/")[0] in ("..", ".headway"):
        return "it is not in the workflow's directory"
    if name in taken or name == METADATA:
        return "the crate has a file of that name"
    real = (home / name).resolve()
    if not real.is_relative_to(home) or real.is_relative_to(home / ".headway"):
        return "it is a link out of the workflow's directory"
    try:
        status = real.stat()
    except OSError:
        return "it is gone"
    if stat.S_ISDIR(status.st_mode):
        inside = dict(_inside(real, name))
        files = {path: file for path, file in inside.items() if _is_ours(file, home)}
        chosen.folders.append(name)
        if left := len(inside) - len(files):
            chosen.left_out.append(
                f"{count(left, 'file')} in {path}: links out of the workflow's directory, or no files"
            )
    elif not stat.S_ISREG(status.st_mode):
        return "it is neither a file nor a folder"
    elif run.stamps[path].size_bytes != status.st_size or run.stamps[path].modified_ns != status.st_mtime_ns:
        return "it was changed since the run"
    else:
        files = {name: real}
    size_bytes = sum(file.stat().st_size for file in files.values())
    chosen.described[path] = CrateFile(name, size_bytes, is_folder=stat.S_ISDIR(status.st_mode))
    chosen.copied |= files
    chosen.size_bytes += size_bytes
    return ""


def _inside(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """All files in a folder, with their paths in the crate; links are followed."""
    for base, _, files in os.walk(folder):
        for file in files:
            yield os.path.join(name, os.path.relpath(os.path.join(base, file), folder)), (Path(base) / file).resolve()


def _is_ours(file: Path, home: Path) -> bool:
    """Whether a path without links is a file of the workflow's directory, and not one of Headway's own."""
    return file.is_file() and file.is_relative_to(home) and not file.is_relative_to(home / ".headway")


def check_crate_target(target: Path, *, force: bool) -> None:
    """Raise InputError if nothing can be written there: before the work."""
    archive = target.suffix.lower() == ".zip"
    if archive and target.is_dir():
        raise InputError("this is a directory", where=str(target), todo="name a file, or a folder without .zip")
    if archive and target.exists() and not force:
        raise InputError("this file exists", where=str(target), todo="--force overwrites it")
    if not archive and target.is_dir() and any(target.iterdir()):
        raise InputError("this folder is not empty", where=str(target), todo="name a new one")
    if not archive and target.exists() and not target.is_dir():
        raise InputError("this is a file", where=str(target), todo="name a folder, or a file that ends in .zip")
    if not target.absolute().parent.is_dir():
        raise InputError("there is no such folder", where=str(target.parent), todo="make it, or name another OUT")


def write_crate(target: Path, texts: Texts, chosen: Chosen) -> None:
    """Write a folder, or an archive if its name ends in .zip; nothing is left if that is interrupted."""
    archive = target.suffix.lower() == ".zip"
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        try:
            (_write_zip if archive else _write_folder)(unfinished, texts, chosen)
            unfinished.replace(target)
        except OSError as error:
            raise SiteError(f"cannot write this: {error.strerror or error}", where=str(target)) from error
    except BaseException:  # Ctrl-C, too
        if archive:
            with suppress(OSError):
                unfinished.unlink()
        else:
            shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _write_folder(folder: Path, texts: Texts, chosen: Chosen) -> None:
    folder.mkdir()
    for name, parts in texts.items():
        with (folder / name).open("x", encoding="utf-8", errors="replace") as file:
            file.writelines(parts)
    for name in chosen.folders:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, source in chosen.copied.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, folder / name)


def _write_zip(file: Path, texts: Texts, chosen: Chosen) -> None:
    with zipfile.ZipFile(file, "x", zipfile.ZIP_DEFLATED, strict_timestamps=False) as packing:
        for name, parts in texts.items():
            with packing.open(name, "w", force_zip64=True) as member:
                for part in parts:
                    member.write(part.encode("utf-8", errors="replace"))
        for name in chosen.folders:
            packing.writestr(f"{name}/", "")
        for name, source in chosen.copied.items():
            packing.write(source, name)
