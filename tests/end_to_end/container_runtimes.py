"""Container runtimes for tests: a stand-in at the command line for each, and a real Podman where it can run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

IMAGE = "localhost/headway-test:1"
# Records how it was called, then does what the runtime would do, but on this machine instead of inside an image: it
# runs the command after the image's name with the working directory and the variables that were handed in.
_STAND_IN = """#!{python}
import json, os, sys
words = sys.argv[1:]
with open({log!r}, "a") as log:
    call = {{"argv": [os.path.basename(sys.argv[0]), *words], "environment": dict(os.environ)}}
    log.write(json.dumps(call) + chr(10))
if words[0] == "info":
    if {no_daemon}:
        sys.exit("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?")
    print("[cpu memory pids]")
    sys.exit()
if words[0] not in ("run", "exec"):
    sys.exit()
flags = [word for word in words[1:] if word.startswith("--")]
image, *command = words[1 + len(flags):]
environment = {{"PATH": os.environ["PATH"]}} if words[0] == "run" else dict(os.environ)
for flag in flags:
    name, _, value = flag.partition("=")
    if name == "--env":
        variable, has_value, text = value.partition("=")
        if has_value or variable in os.environ:
            environment[variable] = text if has_value else os.environ[variable]
    elif name in ("--workdir", "--pwd"):
        os.chdir(value)
for name, value in os.environ.items():
    for prefix in ("APPTAINERENV_", "SINGULARITYENV_"):
        if words[0] == "exec" and name.startswith(prefix):
            environment[name.removeprefix(prefix)] = value
os.execvpe(command[0], command, environment)
"""


class StandIn:
    """A container runtime that is a script: `path` is the PATH on which it is found first."""

    def __init__(self, folder: Path, name: str, *, no_daemon: bool = False) -> None:
        folder.mkdir()
        self._log = folder / "calls"
        program = folder / name
        program.write_text(_STAND_IN.format(python=sys.executable, log=str(self._log), no_daemon=no_daemon))
        program.chmod(0o755)
        self.program = str(program)
        self.path = f"{folder}:{os.environ['PATH']}"

    def calls(self, verb: str) -> list[dict[str, Any]]:
        calls = [json.loads(line) for line in self._log.read_text().splitlines()]
        return [call for call in calls if call["argv"][1] == verb]


@pytest.fixture(scope="session")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A Podman that really runs, with an image of busybox; the environment variables that it needs."""
    if not shutil.which("podman") or not shutil.which("busybox"):
        pytest.skip("podman and busybox-static are not installed (tests/packages.sh)")
    root = tmp_path_factory.mktemp("podman")
    # Without CAP_SYS_RESOURCE no limit can be raised; crun refuses machines with cgroup v1 and v2 side by side.
    limits = 'default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]'
    (root / "containers.conf").write_text(f"[containers]\n{limits}\n[engine]\nruntime = '{_oci_runtime()}'\n")
    environment = {"CONTAINERS_CONF": str(root / "containers.conf"), "HEADWAY_CONTAINER_RUNTIME": "podman"}
    image = root / "image"
    (image / "bin").mkdir(parents=True)
    (image / "tmp").mkdir(mode=0o1777)
    shutil.copy(shutil.which("busybox") or "", image / "bin" / "busybox")
    for name in ("sh", "cat", "sleep", "id", "env", "true", "dd", "grep", "touch", "tr", "head"):
        (image / "bin" / name).symlink_to("busybox")
    shutil.make_archive(str(root / "image"), "tar", image)
    for words in (["import", f"{root}/image.tar", IMAGE], ["run", "--rm", IMAGE, "true"]):
        done = subprocess.run(
            ["podman", *words], env=os.environ | environment, capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode:
            pytest.skip(f"podman cannot run here: {done.stderr.strip().splitlines()[-1]}")
    yield environment
    subprocess.run(["podman", "rmi", "--force", IMAGE], env=os.environ | environment, capture_output=True, check=False)


def _oci_runtime() -> str:
    hybrid = Path("/sys/fs/cgroup/unified").exists()
    return next((name for name in (("runc", "crun") if hybrid else ("crun", "runc")) if shutil.which(name)), "runc")
