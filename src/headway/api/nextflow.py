"""`nextflow`: the user's own Nextflow, whose tasks run in a service, or are sized by one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from headway.api import nextflow_plugin
from headway.api.answers import Answer
from headway.api.hosting import hosted
from headway.drivers.run_history import Warn, warn_program
from headway.model.errors import InputError

_SOCKET = "HEADWAY_NEXTFLOW_SOCKET"  # tells the plugin where the service is
_SIZES_ONLY = "HEADWAY_NEXTFLOW_SIZES_ONLY"  # tells the plugin to leave tasks to Nextflow's own executors
_LONGEST_SOCKET = 107
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class NextflowEnded(Answer, frozen=True):
    """How Nextflow ended; it has said the rest itself."""

    exit_code: int


def nextflow(
    words: Sequence[str],
    directory: str | os.PathLike[str] = ".",
    options: Sequence[str] = (),
    *,
    program: str = "nextflow",
    sizes_only: bool = False,
    off: bool = False,
    warn: Warn = warn_program,
) -> NextflowEnded:
    """Run Nextflow with these words in `directory`, with its tasks in the service there, and return how it ended.

    `options` are those of `headway service`, such as `["--on", "slurm"]`. With `sizes_only`, Nextflow's own executors
    run the tasks, and the service only says how large they are. With `off`, Nextflow runs as it is, and so do all of
    its commands but `run`. Its output is that of this process.
    """
    path = nextflow_plugin.find(program)
    if off or "run" not in words:
        return NextflowEnded(_call([path, *words], directory, os.environ))
    if "-bg" in words:
        raise InputError("-bg would end the service at once", todo="write `headway nextflow … &` instead")
    if sizes_only and any(word.partition("=")[0] == "--on" for word in options):
        todo = "name the executor in nextflow.config, or leave out --sizes-only"
        raise InputError("with --sizes-only, Nextflow's own executor decides where tasks run", where="--on", todo=todo)
    own = {_SIZES_ONLY: "1"} if sizes_only else {}
    plugin = nextflow_plugin.installed(path, os.environ, warn)
    with (
        hosted(directory, ["--quiet", *options]) as place,
        _short(place) as socket,
    ):
        environment = {**os.environ, **own, _SOCKET: socket, "NXF_PLUGINS_DEFAULT": _plugins(plugin)}
        return NextflowEnded(_call([path, *words], directory, environment))


def _plugins(ours: str) -> str:
    """Return the plugins that Nextflow starts besides those that the pipeline names."""
    others = os.environ.get("NXF_PLUGINS_DEFAULT", "")
    return ours if others in ("", "true", "false") else f"{others},{ours}"


def _call(command: Sequence[str], directory: str | os.PathLike[str], environment: Mapping[str, str]) -> int:
    """Run a command in the foreground, and return its exit code as a shell would."""
    process: subprocess.Popen[bytes] | None = None

    def pass_on(number: int, frame: object) -> None:
        in_terminal = sys.stdin is not None and sys.stdin.isatty()
        if process is not None and not (number == signal.SIGINT and in_terminal):  # Ctrl-C reaches Nextflow itself
            process.send_signal(number)

    in_main = threading.current_thread() is threading.main_thread()  # no other one may handle signals
    before = {number: signal.signal(number, pass_on) for number in _SIGNALS if in_main}
    try:
        process = subprocess.Popen(command, cwd=directory, env=environment)
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


@contextmanager
def _short(place: str) -> Iterator[str]:
    """Yield a path to a socket that is short enough for Java."""
    if len(os.fsencode(place)) <= _LONGEST_SOCKET:
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="headway-", dir="/tmp") as folder:
        link = os.path.join(folder, "service")
        os.symlink(place, link)
        yield link
