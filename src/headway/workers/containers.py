"""Run a command inside a container, with the runtime that the user chose or the first one that the node has."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from headway.model.errors import SiteError
from headway.model.resources import Resources
from headway.model.task import Task, is_pattern
from headway.workers.trees import MARKER, kernel_limit_bytes

RUNTIMES = ("apptainer", "singularity", "podman", "docker")
CHOICE = "HEADWAY_CONTAINER_RUNTIME"
_APPTAINERS = ("apptainer", "singularity")
_FILES = (".sif", ".simg", ".img")
_MOST_LINKS = 40  # that lead to a file, as in Linux
_MOST_MOUNTS = 200  # of single inputs
_ANSWER_WITHIN_S = 60.0
_LEAST_BYTES = 32 << 20  # the runtime's own start counts against the limit, and Docker refuses less than 6 MiB
# Where Podman looks for the program that it makes a container's first process with `--init`.
_PODMAN_INITS = ("/usr/libexec/podman", "/usr/lib/podman", "/usr/local/libexec/podman", "/usr/local/lib/podman")


class Contained(NamedTuple):
    """A command in a container."""

    argv: list[str]
    environment: dict[str, str]  # of the runtime's own command
    removal: tuple[str, ...] = ()  # removes a container that outlives a killed command; empty if it cannot
    limits_memory: bool = False  # the runtime kills what exceeds the memory limit


def find_runtime() -> str:
    """Return the path of the container runtime to use."""
    chosen = os.environ.get(CHOICE, "")
    if chosen and os.path.basename(chosen) not in RUNTIMES:
        raise SiteError(f"{CHOICE} is {chosen!r}", todo=f"set it to one of {', '.join(RUNTIMES)}, or unset it")
    found = next((path for name in ([chosen] if chosen else RUNTIMES) if (path := shutil.which(name))), None)
    if found is None:
        has = f"no {chosen}, which {CHOICE} asks for" if chosen else f"none of {', '.join(RUNTIMES)}"
        raise SiteError(f"this node has {has}", todo="install it, or remove `container` from the task")
    return found


def in_container(
    task: Task,
    argv: Sequence[str],
    environment: Mapping[str, str],
    limits: Resources,
    *,
    key: str,
    work: Path,
    task_folder: Path,
    workflow_directory: Path,
    devices: Sequence[str] = (),
) -> Contained:
    """Return the command that runs `argv` inside the task's image, in the working directory `work`.

    The workflow's directory, the folder of the task's attempts and inputs elsewhere are mounted at their own paths:
    links in `work` point there. Of the workflow's directory, a strict task gets only its inputs, unless these are too
    many to be mounted one by one. `key` names the attempt. `devices` are its GPUs by id; if they are not known, a task
    that asks for GPUs gets all of the node.
    """
    try:
        runtime = find_runtime()
    except SiteError as error:
        raise SiteError(f"the task needs the container {task.container}, but {error.what}", todo=error.todo) from None
    image = image_name(runtime, task.container or "", workflow_directory)
    mounts = _strict_mounts(task, work, workflow_directory, task_folder) if task.strict else []
    mounts = mounts or _mounts(task, [workflow_directory, task_folder])
    if _kind(runtime) in _APPTAINERS:
        flags = [f"--pwd={work}", *(["--nv"] if limits.gpus else [])]
        prefix = f"{_kind(runtime).upper()}ENV_"  # the value of such a variable replaces that of the image
        own = {f"{prefix}{name}": value for name, value in environment.items()}
        return Contained([runtime, "exec", *map(_bind, mounts), *flags, image, *argv], own)
    name = f"headway-{hashlib.blake2b(key.encode(), digest_size=10).hexdigest()}"
    memory, cores = _limits(runtime, limits)
    variables = _variables(_as_inside(environment, devices), limits)
    flags = ["--rm", f"--name={name}", *_init(runtime), *_user(runtime, environment), *_volumes(mounts)]
    flags += [*variables.flags, *memory, *cores, *_gpus(runtime, limits, devices), f"--workdir={work}", "--entrypoint="]
    removal = (runtime, "rm", "--force", name)
    return Contained([runtime, "run", *flags, image, *argv], variables.own, removal, bool(memory))


def remove(contained: Contained) -> None:
    """Remove the container if it is left. A failure is ignored: usually it has ended with its command."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(contained.removal, capture_output=True, timeout=_ANSWER_WITHIN_S, check=False)


def image_name(runtime: str, image: str, workflow_directory: Path) -> str:
    """Return the image's name as this runtime takes it: `docker://alpine` and `alpine` work with every runtime."""
    scheme, has_scheme, rest = image.partition("://")
    is_file = not has_scheme and (image.startswith(("/", ".")) or image.endswith(_FILES))
    kind = _kind(runtime)
    if kind in _APPTAINERS:
        local = workflow_directory / image
        if is_file or (not has_scheme and (local.is_file() or (local / ".singularity.d").exists())):
            return str(local)
        return image if has_scheme else f"docker://{image}"
    if is_file or (has_scheme and scheme != "docker"):
        todo = "install Apptainer, or name an image of a registry, such as docker://alpine:3"
        raise SiteError(f"{kind} cannot run the image {image}", todo=todo)
    if not has_scheme or kind == "docker":
        return rest or image
    first, has_folder, _ = rest.partition("/")  # Podman asks for the registry, which Docker takes for granted
    if has_folder and ("." in first or ":" in first or first == "localhost"):
        return rest
    return f"docker.io/{rest}" if has_folder else f"docker.io/library/{rest}"


def ask(runtime: str, *words: str) -> str:
    """Return what the runtime answers; a SiteError with its own words if it fails."""
    try:
        done = subprocess.run(
            [runtime, *words], capture_output=True, text=True, errors="replace", timeout=_ANSWER_WITHIN_S, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SiteError(f"{_kind(runtime)} does not work: {error}") from None
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        why = lines[-1] if lines else f"exit code {done.returncode}"
        raise SiteError(f"{_kind(runtime)} does not work: {why}", todo="`headway doctor` checks it")
    return done.stdout


def check_runtime(runtime: str) -> None:
    """Raise a SiteError if the runtime cannot start containers, for example since its daemon does not run."""
    ask(runtime, *(["--version"] if _kind(runtime) in _APPTAINERS else ["info"]))


def try_image(runtime: str, image: str) -> None:
    """Run `true` in a container of this image; a SiteError if that fails."""
    name = image_name(runtime, image, Path.cwd())
    apptainer = _kind(runtime) in _APPTAINERS
    ask(runtime, *(["exec", name, "true"] if apptainer else ["run", "--rm", "--entrypoint=", name, "true"]))


def _kind(runtime: str) -> str:
    return os.path.basename(runtime)


# --- mounts ---


class _Mount(NamedTuple):
    path: str
    read_only: bool


def _mounts(task: Task, own: Sequence[Path]) -> list[_Mount]:
    """Return what to mount: inputs outside our own folders first, since one of these may lie inside an input."""
    folders = [str(path) for path in own if not any(path != other and path.is_relative_to(other) for other in own)]
    read = dict.fromkeys(path for name in task.inputs for path in _places(name, own[0]))
    outside = [path for path in read if not any(Path(path).is_relative_to(folder) for folder in folders)]
    return [*(_Mount(path, True) for path in outside), *(_Mount(path, False) for path in dict.fromkeys(folders))]


def _strict_mounts(task: Task, work: Path, directory: Path, task_folder: Path) -> list[_Mount]:
    """Return what a strict task gets: what the links in its directory lead to, and inputs by absolute paths.

    Nothing is returned if that would be more mounts than runtimes and command lines take.
    """
    links = (Path(folder) / name for folder, folders, files in os.walk(work) for name in (*folders, *files))
    named = [*(str(path) for path in links if path.is_symlink()), *(path for path in task.inputs if path[0] == "/")]
    places = dict.fromkeys(path for name in named for path in _places(name, directory))
    read = [path for path in places if not Path(path).is_relative_to(task_folder)]
    if len(read) > _MOST_MOUNTS:
        return []
    return [*(_Mount(path, True) for path in read), _Mount(str(task_folder), False)]


def _places(name: str, directory: Path) -> Iterator[str]:
    """Yield where an input lies: its own path and those of the links that lead to its content."""
    path = directory / name
    if is_pattern(name):
        path = next(above for above in path.parents if not is_pattern(str(above)))
    for _ in range(_MOST_LINKS):
        if not path.is_symlink():
            break
        yield os.path.normpath(path)
        path = path.parent / path.readlink()
    if path.exists():
        yield os.path.normpath(path)
        yield os.path.realpath(path)


def _bind(mount: _Mount) -> str:
    """Return Apptainer's flag; its short form cannot have a colon or a comma in a path."""
    if ":" in mount.path or "," in mount.path:
        return f"--mount={_long_form(mount, 'ro')}"
    return f"--bind={mount.path}:{mount.path}:{'ro' if mount.read_only else 'rw'}"


def _volumes(mounts: Sequence[_Mount]) -> list[str]:
    """Return the flags of Docker and Podman. SELinux would deny the mounts unless it is told to leave them alone."""
    flags = [
        f"--mount={_long_form(mount, 'readonly')}"
        if ":" in mount.path
        else f"--volume={mount.path}:{mount.path}{':ro' if mount.read_only else ''}"
        for mount in mounts
    ]
    return [*flags, "--security-opt=label=disable"]


def _long_form(mount: _Mount, read_only: str) -> str:
    """Return a mount as comma-separated values, quoted where that is needed."""
    fields = ["type=bind", f"source={mount.path}", f"destination={mount.path}", *([read_only] * mount.read_only)]
    quoted = ('"' + field.replace('"', '""') + '"' if "," in field or '"' in field else field for field in fields)
    return ",".join(quoted)


# --- the other flags of Docker and Podman ---


class _Variables(NamedTuple):
    flags: list[str]
    own: dict[str, str]  # the environment of the runtime's command, from which it takes the values


def _variables(environment: Mapping[str, str], limits: Resources) -> _Variables:
    """Hand variables in by name, so that their values are in no list of processes.

    A variable that this process has too, such as PATH or HOME, steers the runtime itself: only the container gets it.
    """
    names = [name for name in environment if name not in os.environ]
    given = [f"{name}={value}" for name, value in environment.items() if name in os.environ]
    devices = ["CUDA_VISIBLE_DEVICES"] if limits.gpus and "CUDA_VISIBLE_DEVICES" not in environment else []
    flags = [f"--env={text}" for text in (MARKER, *names, *given, *devices)]
    return _Variables(flags, {name: environment[name] for name in names})


def _user(runtime: str, environment: Mapping[str, str]) -> list[str]:
    """Run as this user, so that files belong to them. A home that this user can write to replaces the image's."""
    uid = os.geteuid()
    if _kind(runtime) == "docker" and "rootless" in _answer(runtime, "info", "--format={{.SecurityOptions}}"):
        return []  # root inside is this user outside
    home = [] if uid == 0 or "HOME" in environment else ["--env=HOME=/tmp"]
    keep = ["--userns=keep-id"] if _kind(runtime) == "podman" and uid else []
    return [*keep, f"--user={uid}:{os.getegid()}", *home]


def _init(runtime: str) -> list[str]:
    """Ask for an init process: without one, a shell as first process of the container ignores SIGTERM."""
    if _kind(runtime) == "docker" or any(os.path.exists(f"{folder}/catatonit") for folder in _PODMAN_INITS):
        return ["--init"]
    return []


def _limits(runtime: str, limits: Resources) -> tuple[list[str], list[str]]:
    """Return the flags for memory and cores. Podman refuses those for which this user has no control group."""
    controllers = {"memory", "cpu"}
    if _kind(runtime) == "podman":
        controllers &= set(_answer(runtime, "info", "--format={{.Host.CgroupControllers}}").strip("[]\n").split())
    memory, cores = [], []
    if limits.memory_bytes and "memory" in controllers:
        limit_bytes = max(kernel_limit_bytes(limits.memory_bytes), _LEAST_BYTES)
        memory = [f"--memory={limit_bytes}", f"--memory-swap={limit_bytes}"]
    if limits.cores and "cpu" in controllers:
        cores = [f"--cpus={min(max(limits.cores, 0.01), os.cpu_count() or 1):g}"]
    return memory, cores


def _gpus(runtime: str, limits: Resources, devices: Sequence[str]) -> list[str]:
    """Return the flags for these GPUs; Docker wants quotes around a value with commas."""
    if not limits.gpus:
        return []
    if _kind(runtime) == "docker":
        return [f'--gpus="device={",".join(devices)}"' if devices else "--gpus=all"]
    return [f"--device=nvidia.com/gpu={device}" for device in devices or ("all",)]


def _as_inside(environment: Mapping[str, str], devices: Sequence[str]) -> Mapping[str, str]:
    """Return the variables with the numbers that GPUs have inside a container, which begin at 0; UUIDs stay."""
    inside = ",".join(str(number) if name.isdecimal() else name for number, name in enumerate(devices))
    outside = ",".join(devices)
    return {
        name: inside if devices and name == "CUDA_VISIBLE_DEVICES" and value == outside else value
        for name, value in environment.items()
    }


_answer = functools.cache(ask)  # asked once: what a runtime can do does not change while this process lives
