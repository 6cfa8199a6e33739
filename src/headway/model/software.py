"""The software that a task names: one environment (conda, pixi, uv or venv), and modules of the site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from posixpath import basename, dirname, join

from headway.model.errors import InputError

ENVIRONMENTS = ("conda", "pixi", "uv", "venv")
KINDS = (*ENVIRONMENTS, "modules")
_FILES = (".yaml", ".yml", ".txt", ".in", ".toml", ".lock")
_MANIFESTS = {"uv.lock": "pyproject.toml", "pixi.lock": "pixi.toml"}  # the files that lie beside lock files

Software = Mapping[str, tuple[str, ...]]


def environment_of(software: Software) -> tuple[str, str] | None:
    """Return the kind of the environment and its file, folder or name; None if there is none.

    >>> environment_of({"modules": ("gcc/12",), "uv": ("requirements.txt",)})
    ('uv', 'requirements.txt')
    """
    return next(((kind, software[kind][0]) for kind in ENVIRONMENTS if kind in software), None)


def files_of(software: Software) -> tuple[str, ...]:
    """Return the files that say what is in the environment; none if it exists already, under a name or in a folder.

    >>> files_of({"uv": ("env/uv.lock",)}), files_of({"conda": ("base",)})
    (('env/uv.lock', 'env/pyproject.toml'), ())
    """
    _, name = environment_of(software) or ("", "")
    if not name.endswith(_FILES):
        return ()
    manifest = _MANIFESTS.get(basename(name))
    return (name, join(dirname(name), manifest)) if manifest else (name,)


def checked_software(
    software: Mapping[str, str | Sequence[str]], container: str | None = None, *, where: str = ""
) -> dict[str, tuple[str, ...]]:
    """Return the software with lists of names; raise InputError if it cannot be meant."""
    found = {kind: (names,) if isinstance(names, str) else tuple(names) for kind, names in software.items()}
    environments = [kind for kind in found if kind in ENVIRONMENTS]
    if unknown := [kind for kind in found if kind not in KINDS]:
        raise InputError(f"software has {unknown[0]!r}", where=where, todo=f"the kinds are {', '.join(KINDS)}")
    if len(environments) > 1:
        raise InputError(f"software has both {' and '.join(environments)}", where=where, todo="remove one of them")
    if found and container:
        raise InputError("there are both container and software", where=where, todo="remove one of them")
    for kind, names in found.items():
        if not all(name.strip() and "\0" not in name for name in names) or (kind in ENVIRONMENTS and len(names) != 1):
            raise InputError(f"software has {names!r} for {kind!r}", where=where, todo="write a name")
    return found
