"""The plugin `nf-headway`: compiled once with the user's own Nextflow, into the folder of Nextflow's plugins."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from headway.drivers.run_history import Warn
from headway.model.errors import InputError, SiteError

NAME = "nf-headway"
_SOURCES = Path(__file__).parents[1] / "integrations" / "nextflow"
_MANIFEST = """Manifest-Version: 1.0
Plugin-Id: {name}
Plugin-Version: {version}
Plugin-Class: nextflow.headway.HeadwayPlugin
Plugin-Provider: headway
Plugin-Requires: >=25.04.0
"""
_EXTENSIONS = ("nextflow.headway.HeadwayFactory", "nextflow.headway.HeadwayExecutor")
_HEAD_BYTES = 1 << 16  # Nextflow's launcher is a small script that names its version; some have all jars behind it


def installed(program: str, environment: Mapping[str, str], warn: Warn) -> str:
    """Return the plugin as Nextflow wants it named, compiled for this Nextflow unless that has been done."""
    folder = _plugins(environment)
    version = _version(program, environment)
    place = folder / f"{NAME}-{version}"
    if not place.is_dir():
        warn("compiling Headway's plugin with this Nextflow, once")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=f".{NAME}-", dir=folder) as unfinished:
                built = Path(unfinished) / "plugin"
                _compile(program, environment, Path(unfinished), built / "classes")
                _describe(built / "classes" / "META-INF", version)
                with suppress(FileExistsError):  # another run was faster
                    built.rename(place)
        except OSError as error:
            if place.is_dir():
                return f"{NAME}@{version}"
            todo = "let NXF_PLUGINS_DIR name a folder that can be"
            raise SiteError(f"cannot be written: {error.strerror}", where=str(folder), todo=todo) from error
    return f"{NAME}@{version}"


def _plugins(environment: Mapping[str, str]) -> Path:
    """Return the folder in which Nextflow looks for plugins."""
    if named := environment.get("NXF_PLUGINS_DIR"):
        return Path(named).absolute()
    home = environment.get("NXF_HOME") or Path.home() / ".nextflow"
    return Path(home).absolute() / "plugins"


def _version(program: str, environment: Mapping[str, str]) -> str:
    """Return a version number that differs if the plugin's sources or Nextflow do."""
    with open(program, "rb") as launcher:
        seen = launcher.read(_HEAD_BYTES)
    seen += f"{os.path.getsize(program)} {environment.get('NXF_VER', '')}".encode()
    for source in sorted(_SOURCES.iterdir()):
        seen += source.read_bytes()
    return f"1.0.{zlib.crc32(seen)}"


def _compile(program: str, environment: Mapping[str, str], scratch: Path, target: Path) -> None:
    """Let Nextflow run a script that compiles the sources: it knows its own classes."""
    command = [program, "-q", "run", str(_SOURCES / "build.nf"), "--sources", str(_SOURCES), "--into", str(target)]
    without = {"NXF_PLUGINS_DEFAULT": "false", "NXF_SYNTAX_PARSER": "v1", "NXF_ANSI_LOG": "false"}
    done = subprocess.run(
        command, cwd=scratch, env={**environment, **without}, capture_output=True, text=True, check=False
    )
    if done.returncode or not target.is_dir():
        lines = [line.strip() for line in f"{done.stderr}\n{done.stdout}".splitlines() if line.strip()]
        if any("startup failed" in line for line in lines):
            wrong = next((line for line in lines if ".groovy:" in line), lines[0])
            raise InputError(f"Headway's plugin does not fit this version of Nextflow: {Path(wrong).name}")
        if too_old := next((line for line in lines if "is too old for Headway" in line), ""):
            raise InputError(too_old)
        raise InputError(f"Nextflow does not start: {lines[-1] if lines else f'exit code {done.returncode}'}")


def _describe(folder: Path, version: str) -> None:
    folder.mkdir()
    (folder / "MANIFEST.MF").write_text(_MANIFEST.format(name=NAME, version=version))
    (folder / "extensions.idx").write_text("\n".join(_EXTENSIONS) + "\n")


def find(program: str) -> str:
    """Return the path of the user's Nextflow."""
    found = shutil.which(program)
    if found is None:
        todo = "install it (https://nextflow.io), or name it with `headway nextflow --nextflow`"
        raise InputError(f"there is no program {program!r} here", todo=todo)
    return found
