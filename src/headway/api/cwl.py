"""`cwl`: cwltool, whose tools run in a service."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any

from headway.api.answers import Answer
from headway.api.exec import SERVICE_VARIABLE
from headway.api.hosting import hosted
from headway.model.errors import InputError


class CwlEnded(Answer, frozen=True):
    """How cwltool ended: its exit code, and the workflow's outputs as CWL describes them, if it wrote any."""

    unsaid = ("stdout",)

    exit_code: int
    outputs: Any
    stdout: str


def cwl(
    words: Sequence[str],
    directory: str | os.PathLike[str] = ".",
    options: Sequence[str] = (),
    *,
    off: bool = False,
) -> CwlEnded:
    """Run `cwltool` with these words in `directory`, with its tools in the service there, and return how it ended.

    `options` are those of `headway service`, such as `["--on", "slurm"]`. With `off`, cwltool runs as it is. What
    cwltool logs goes to standard error.
    """
    try:
        found = find_spec("cwltool")
    except ValueError:
        found = None
    if found is None:
        raise InputError("cwltool is not installed", todo="install it with `pip install 'headway[cwl]'`")
    environment = {name: value for name, value in os.environ.items() if name != SERVICE_VARIABLE}
    with ExitStack() as stack:
        if not off:
            environment[SERVICE_VARIABLE] = stack.enter_context(hosted(directory, options))
        command = [sys.executable, "-P", "-m", "headway.integrations.cwl", *words]
        done = subprocess.run(command, cwd=directory, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    return CwlEnded(done.returncode, _parsed(done.stdout), done.stdout)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
