"""Digests of what files and directories hold, and stamps that tell whether they have changed."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from headway.model.outcome import Stamp

_BLOCK_BYTES = 1 << 20
_ZEROS = bytes(_BLOCK_BYTES)
_Identity = tuple[int, int]  # device and inode
EXECUTABLE = "x"  # after the digest of a file that can be executed
MOST_INSIDE = 10_000  # files of a directory whose digests are kept one by one


def file_digest(path: str | Path, status: os.stat_result) -> str:
    """Return the digest of a file's content, and of whether it can be executed."""
    if not stat.S_ISREG(status.st_mode):
        return special_digest(status)
    with open(path, "rb") as file:
        return with_mode(content_digest(file), status)


def special_digest(status: os.stat_result) -> str:
    """Return what stands for the content of a pipe or device, which may never end, or of an empty directory."""
    return f"special-{stat.S_IFMT(status.st_mode):o}"


def with_mode(digest: str, status: os.stat_result) -> str:
    """Return the digest of a file whose content has this digest: its owner can execute it, or cannot."""
    return digest + EXECUTABLE if status.st_mode & stat.S_IXUSR else digest


def content_digest(file: BinaryIO) -> str:
    """Return the digest of an open file's content; holes of a sparse file are not read.

    It depends on the content alone: a hole counts as the zeros that a reader sees. Without an aligned block that is all
    zeros it is the BLAKE2b digest of the content, else of the other blocks' digest and the positions of the zeros.
    """
    data, layout = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16, person=b"zero blocks")
    at, in_zeros, has_zeros = 0, False, False
    while block := file.read(_BLOCK_BYTES):
        if (block == _ZEROS) != in_zeros:
            in_zeros = not in_zeros
            layout.update(b"%d " % at)
        at += len(block)
        if in_zeros:
            has_zeros = True
            at = _end_of_hole(file, at)
        else:
            data.update(block)
    if not has_zeros:
        return data.hexdigest()
    layout.update(b"%d " % at + data.digest())
    return layout.hexdigest()


def _end_of_hole(file: BinaryIO, at: int) -> int:
    """Move the file from a block's start to the block in which data follow, or to the last, incomplete one."""
    try:
        data_at = file.seek(at, os.SEEK_DATA)
    except OSError as error:
        # ENXIO: no data follow. Otherwise the file system cannot tell, and all is read.
        data_at = max(at, os.fstat(file.fileno()).st_size) if error.errno == errno.ENXIO else at
    return file.seek(data_at // _BLOCK_BYTES * _BLOCK_BYTES)


def directory_digest(files: Iterable[tuple[str, str]]) -> str:
    """Return the digest of a directory that is not empty, given the paths in it, in order, and their digests."""
    whole = hashlib.blake2b(digest_size=16)
    for path, digest in files:
        whole.update(f"{path}\0{digest}\0".encode(errors="surrogateescape"))
    return whole.hexdigest()


def files_below(directory: str | Path) -> list[str]:
    """Return the paths of all files below a directory, as it is named, in the order `in_order`.

    Links are followed, as programs do. A directory that is empty or was passed before stands for itself.
    """
    return sorted((path for path, _, is_passed in _walk(directory) if not is_passed), key=in_order)


def _walk(directory: str | Path) -> Iterator[tuple[str, os.stat_result, bool]]:
    """Yield all that is below a directory, and whether it is a directory whose content follows.

    Each directory is passed once, by its own name if it has one here: links may lead to each other, or upwards.
    """
    passed = set(_above(directory))
    here, linked = [str(directory)], list[tuple[str, os.stat_result]]()
    while here or linked:
        if here:
            folder = here.pop()
        else:
            folder, status = linked.pop()
            is_new = _identity(status) not in passed and bool(_entries(folder))
            yield folder, status, is_new
            if not is_new:
                continue
            passed.add(_identity(status))
        for path, status in _entries(folder):
            if not stat.S_ISDIR(status.st_mode):
                yield path, status, False
            elif os.path.islink(path):
                linked.append((path, status))
            else:
                is_new = _identity(status) not in passed and bool(_entries(path))
                yield path, status, is_new
                if is_new:
                    passed.add(_identity(status))
                    here.append(path)


def _identity(status: os.stat_result) -> _Identity:
    return status.st_dev, status.st_ino


def _entries(folder: str) -> list[tuple[str, os.stat_result]]:
    """Return what is in a directory, and what is behind links there, by name. Dangling links are left out."""
    found: list[tuple[str, os.stat_result]] = []
    with suppress(PermissionError):
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            with suppress(OSError):
                found.append((path, os.stat(path)))
    return found


def _above(directory: str | Path) -> tuple[_Identity, ...]:
    """Return a directory and all above it: a link to one of them would lead back to where it is."""
    real = Path(os.path.realpath(directory))
    return tuple(map(_identity, map(os.stat, (real, *real.parents))))


def in_order(path: str) -> list[tuple[bool, str]]:
    """Return the sort key by which paths have the order of `files_below`: files before folders."""
    *folders, name = path.split(os.sep)
    return [*((True, folder) for folder in folders), (False, name)]


def stamp(path: str | Path) -> Stamp:
    """Return size and times of a file, or of everything in a directory together; links are followed."""
    status = os.stat(path)
    if not stat.S_ISDIR(status.st_mode):
        return Stamp(status.st_size, status.st_mtime_ns, changed_ns=status.st_ctime_ns)
    size_bytes, modified_ns, changed_ns = 0, status.st_mtime_ns, status.st_ctime_ns
    for _, seen, _ in _walk(path):
        size_bytes += 0 if stat.S_ISDIR(seen.st_mode) else seen.st_size
        modified_ns, changed_ns = max(modified_ns, seen.st_mtime_ns), max(changed_ns, seen.st_ctime_ns)
    return Stamp(size_bytes, modified_ns, changed_ns=changed_ns)


def full_stamp(path: str | Path) -> Stamp:
    """Return the stamp of a file or directory with the digest of its content, which is read.

    It has no time of the last change: an output's name will still change.
    """
    seen, status = stamp(path), os.stat(path)
    if not stat.S_ISDIR(status.st_mode):
        return Stamp(seen.size_bytes, seen.modified_ns, file_digest(path, status))
    inside = {os.path.relpath(name, path): file_digest(name, os.stat(name)) for name in files_below(path)}
    digest = directory_digest(inside.items()) if inside else special_digest(status)
    return Stamp(seen.size_bytes, seen.modified_ns, digest, kept_inside(inside))


def kept_inside(inside: dict[str, str]) -> dict[str, str]:
    """Return the digests of a directory's files, or none: a name that is not text cannot be written to a journal."""
    return inside if len(inside) <= MOST_INSIDE and all(map(_is_text, inside)) else {}


def _is_text(name: str) -> bool:
    return name.isprintable() or name.encode(errors="replace").decode() == name
