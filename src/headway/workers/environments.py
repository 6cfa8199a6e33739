"""Environments of conda, pixi, uv and venv, and modules: created once for a file's content, activated once on a node.

An environment that a file describes lies in `.headway/envs/HASH`, where HASH is that of the file's content. The manager
creates it, since nodes of a cluster may have no network. A supervisor runs the activation once, compares the variables
before and after, and gives the difference to every task.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from headway import locks
from headway.model.errors import SiteError
from headway.model.software import Software, environment_of, files_of
from headway.workers.attempt import remove_tree

_ACTIVATE_WITHIN_S = 300.0
_LOCK_EVERY_S = 0.5
_CONDAS = ("micromamba", "mamba", "conda")
_NOT_OURS = ("_", "SHLVL", "PWD", "OLDPWD")
# `module` is a function of the shell, which login shells define. These are the files that define it elsewhere.
_MODULES = """
if ! command -v module >/dev/null; then
    for file in "${LMOD_PKG:-/usr/share/lmod/lmod}/init/bash" "${MODULESHOME:-/usr/share/modules}/init/bash" \\
        /etc/profile.d/lmod.sh /etc/profile.d/modules.sh; do
        if [ -r "$file" ]; then . "$file"; break; fi
    done
fi
command -v module >/dev/null || { echo "this machine has no command 'module'" >&2; exit 1; }
"""


class Environment(NamedTuple):
    """An environment that a file describes. It is complete if `ready` exists."""

    kind: str
    file: Path
    prefix: Path  # the folder it lies in, or will lie in

    @property
    def ready(self) -> Path:
        return self.prefix.with_suffix(".ready")

    @property
    def log(self) -> Path:
        return self.prefix.with_suffix(".log")

    def __str__(self) -> str:
        return f"{self.kind} environment of {self.file.name}"


def described_environment(software: Software, directory: Path) -> Environment | None:
    """Return the environment that a file describes; None if the task has none, or one that exists already."""
    files = files_of(software)
    kind, name = environment_of(software) or ("", "")
    if not files:
        return None
    digest = hashlib.blake2b(kind.encode(), digest_size=10)
    for file in files:
        try:
            digest.update(b"\0" + (directory / file).read_bytes())
        except OSError as error:
            raise SiteError(f"cannot read {file}: {error.strerror}", where=str(directory)) from None
    # An environment knows its own path. A check of inputs has a link to the environments of the workflow's directory.
    environments = (directory / ".headway" / "envs").resolve()
    return Environment(kind, directory / name, environments / digest.hexdigest())


# --- creating ---


async def create(environment: Environment) -> None:
    """Create the environment, or wait for another process that does; a SiteError if that fails."""
    environment.prefix.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    while (lock := locks.take(environment.prefix.with_suffix(".lock"), f"process {os.getpid()}")) is None:
        await asyncio.sleep(_LOCK_EVERY_S)
    try:
        if environment.ready.exists():
            return
        if environment.prefix.exists():  # left by a creation that was interrupted
            await asyncio.to_thread(remove_tree, environment.prefix)
        with environment.log.open("wb") as log:
            for argv in _creation(environment):
                await _run(environment, argv, log.fileno())
        environment.ready.touch(mode=0o600)
    finally:
        os.close(lock)


async def _run(environment: Environment, argv: Sequence[str], log: int) -> None:
    variables = {
        "CONDA_ALWAYS_YES": "true",
        "MAMBA_ALWAYS_YES": "true",
        "UV_PROJECT_ENVIRONMENT": str(environment.prefix),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | variables,
            cwd=environment.file.parent,
            start_new_session=True,  # Ctrl-C is for the run: a second one stops this, too
        )
    except OSError as error:
        raise SiteError(f"cannot create the {environment}: {argv[0]}: {error.strerror}") from None
    try:
        code = await process.wait()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if code:
        lines = [line.strip() for line in environment.log.read_text(errors="replace").splitlines() if line.strip()]
        said = f": {lines[-1]}" if lines else ""
        todo = f"see {environment.log}"
        raise SiteError(f"cannot create the {environment}: {argv[0]} exited with code {code}{said}", todo=todo)


def _creation(environment: Environment) -> Iterator[list[str]]:
    """Yield the commands that create the environment."""
    prefix, file = str(environment.prefix), str(environment.file)
    suffix = environment.file.suffix
    match environment.kind:
        case "conda":
            program = _conda()
            verb = ["create"] if suffix in (".txt", ".lock") or "micromamba" in program else ["env", "create"]
            yield [program, *verb, "--quiet", "--prefix", prefix, "--file", file]
        case "pixi":
            environment.prefix.mkdir(mode=0o700)
            is_lock = suffix == ".lock"
            manifest = environment.file.with_name("pixi.toml") if is_lock else environment.file
            for source in {manifest, environment.file}:
                shutil.copy(source, environment.prefix)
            frozen = ["--frozen"] if is_lock else []
            yield ["pixi", "install", *frozen, "--manifest-path", str(environment.prefix / manifest.name)]
        case "uv" if suffix == ".lock":
            folder = str(environment.file.parent)
            yield ["uv", "sync", "--frozen", "--no-install-project", "--project", folder]
        case "uv":
            yield ["uv", "venv", prefix]
            yield ["uv", "pip", "install", "--python", f"{prefix}/bin/python", "--requirement", file]
        case "venv":
            yield ["python3", "-I", "-m", "venv", prefix]  # not by modules in the working directory
            yield [f"{prefix}/bin/python", "-I", "-m", "pip", "install", "--requirement", file]


def _conda() -> str:
    """Return the program to call: conda's own shell functions say where theirs is, if it is not on PATH."""
    found = next((path for name in _CONDAS if (path := shutil.which(name))), None)
    found = found or os.environ.get("MAMBA_EXE") or os.environ.get("CONDA_EXE")
    if found is None:
        raise SiteError(f"there is none of {', '.join(_CONDAS)} here", todo="install one, or load its module")
    return found


# --- activating ---


def activation(software: Software, directory: Path, usual: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that activating the software sets beyond the `usual` ones, by activating it in a shell."""
    script = "\n".join(_activation(software, directory))
    shell = shutil.which("bash") or "/bin/sh"
    command = [shell, "-c", f"{{ {script}\n}} >&2; env -0"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ACTIVATE_WITHIN_S, check=False, env=usual
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SiteError(f"cannot activate {_described(software)}: {error}") from None
    said = done.stderr.decode(errors="replace")
    if done.returncode or "ERROR:" in said:  # older versions of `module` succeed with an error
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        why = next((line for line in lines if "ERROR" in line), lines[-1] if lines else f"code {done.returncode}")
        raise SiteError(f"cannot activate {_described(software)}: {why}")
    after = (text.partition("=") for text in os.fsdecode(done.stdout).split("\0") if "=" in text)
    return {name: value for name, _, value in after if usual.get(name) != value and name not in _NOT_OURS}


def _described(software: Software) -> str:
    return ", ".join(f"{kind} {' '.join(names)}" for kind, names in software.items())


def _activation(software: Software, directory: Path) -> Iterator[str]:
    """Yield the lines of the script: modules first, so that the programs of an environment come before theirs."""
    if "modules" in software:
        yield _MODULES
        yield f"module load {shlex.join(software['modules'])} || exit 1"
    kind, name = environment_of(software) or ("", "")
    described = described_environment(software, directory)
    prefix = shlex.quote(str(described.prefix if described else _existing(kind, name, directory))) if kind else ""
    match kind:
        case "conda":
            yield f"export CONDA_PREFIX={prefix} CONDA_DEFAULT_ENV={shlex.quote(name)} CONDA_SHLVL=1"
            yield 'export PATH="$CONDA_PREFIX/bin:$PATH"'
            yield 'for file in "$CONDA_PREFIX"/etc/conda/activate.d/*.sh; do [ ! -r "$file" ] || . "$file"; done'
        case "pixi":
            manifest = f"{prefix}/pyproject.toml" if name.endswith("pyproject.toml") else f"{prefix}/pixi.toml"
            yield f'hook=$(pixi shell-hook --shell bash --manifest-path {manifest}) || exit 1; eval "$hook"'
        case "uv" | "venv":
            yield f'export VIRTUAL_ENV={prefix}; export PATH="$VIRTUAL_ENV/bin:$PATH"'


def _existing(kind: str, name: str, directory: Path) -> Path:
    """Return the folder of an environment that exists already, given its folder or, with conda, its name."""
    folder = directory / name
    if (folder / ("pixi.toml" if kind == "pixi" else "bin")).exists():
        return folder
    if kind != "conda" or "/" in name:
        todo = "create it, or name a file that describes it"
        raise SiteError(f"there is no {kind} environment {name}", where=str(directory), todo=todo)
    done = subprocess.run([_conda(), "env", "list", "--json"], capture_output=True, check=False)
    try:
        folders = [Path(path) for path in json.loads(done.stdout)["envs"]]
    except (ValueError, KeyError, TypeError):
        raise SiteError(f"cannot list the environments of conda: {done.stderr.decode(errors='replace')}") from None
    found = [path for path in folders if path.name == name] or [path for path in folders[:1] if name == "base"]
    if not found:
        known = ", ".join(path.name for path in folders[:10]) or "none"
        raise SiteError(f"there is no conda environment {name!r}", todo=f"there are: {known}")
    return found[0]
