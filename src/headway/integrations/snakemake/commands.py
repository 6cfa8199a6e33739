"""The commands of Snakemake's jobs, in a service."""

from __future__ import annotations

import itertools
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import snakemake.benchmark

from headway.serving.client import PATIENCE_S, Call, Connection, ServiceError, write_all

_MIB = 1 << 20
_AGAIN_S = 0.1
_EXHAUSTED = {"memory": "memory_bytes", "time": "walltime_s", "disk": "disk_bytes"}
_QUIET = ("success", "exit-code", "signal", *_EXHAUSTED)


@dataclass(eq=False)
class Work:
    """A job of Snakemake's, as the service knows it."""

    category: str
    name: str
    wanted: dict[str, Any]
    quote: str = ""
    amounts: Mapping[str, float] = field(default_factory=dict)
    refused: str = ""  # why no amount is enough
    failures: dict[str, list[float]] = field(default_factory=dict)  # amounts that were not enough, by resource
    wall_s: float = 0.0  # of the last command
    exhausted: str = ""  # the resource of which the last command had too little


class Here(threading.local):
    """The work of this thread."""

    work: Work | None = None


here = Here()


class Commands:
    """Commands that run in one service for one run of Snakemake."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._us = f"snakemake-{os.getpid()}-{time.time_ns()}"
        self._numbers = itertools.count(1)
        self._calls: set[Call] = set()
        self._remarks: set[str] = set()  # that were shown
        self._lock = threading.Lock()
        self.cancelled = False

    def quote(self, works: Sequence[Work]) -> None:
        """Let each work have an amount, which its commands get exactly, or the reason why there is none."""
        asked = {f"{self._us}-{next(self._numbers)}": work for work in works}
        until = time.monotonic() + PATIENCE_S
        while asked:
            with suppress(FileNotFoundError, ConnectionError):  # a service that was killed may be started again
                self._ask(asked)
            if asked:
                if time.monotonic() > until or self.cancelled:
                    raise ServiceError("the service is gone; .headway/service.log may say why")
                time.sleep(_AGAIN_S)

    def _ask(self, asked: dict[str, Work]) -> None:
        """Ask for quotes, and remove each from `asked` when it is answered."""
        connection = Connection(self._place)
        try:
            for name, work in asked.items():
                request = {"do": "quote", "id": name, "quote": name, "category": work.category}
                connection.send(request | work.wanted | {"failures": work.failures})
            for message in connection.receive():
                if message["event"] == "remark" and message["message"] not in self._remarks:
                    self._remarks.add(message["message"])
                    write_all(2, f"headway: {message['message']}\n".encode())
                if (answered := message.get("id")) in asked:
                    work = asked.pop(answered)
                    work.quote, work.exhausted = answered, ""
                    work.amounts, work.refused = message.get("amounts", {}), message.get("message", "")
                if not asked:
                    return
        finally:
            connection.close()

    def run(self, work: Work, script: str, environment: Mapping[str, str]) -> dict[str, Any]:
        """Run a script of /bin/sh with the amounts that were quoted; return the message about its end."""
        for again in itertools.count(1):
            name = f"{work.name}#{again}" if work.name and again > 1 else work.name
            request = {"script": script, "category": work.category, "name": name, "quote": work.quote}
            terms = {"environment": environment, "on_exhausted": "return"}
            call = Call(request | work.wanted | terms, self._place, _show)
            try:
                with self._known(call):
                    return call.run()
            except ServiceError as error:
                if self.cancelled:
                    raise KeyboardInterrupt from error
                if "already a command" not in str(error):
                    raise
        raise AssertionError("unreachable")

    @contextmanager
    def _known(self, call: Call) -> Iterator[None]:
        with self._lock:
            if self.cancelled:
                raise KeyboardInterrupt
            self._calls.add(call)
        try:
            yield
        finally:
            with self._lock:
                self._calls.discard(call)

    def cancel(self) -> None:
        """Cancel all commands, and return when they have ended."""
        told: set[Call] = set()
        with self._lock:
            self.cancelled = True
        while self._calls:
            with self._lock:
                calls = self._calls - told
            for call in calls:
                call.patience_s = 0
                if call.task:  # accepted
                    told.add(call)
                    with suppress(OSError):
                        call.cancel()
            time.sleep(_AGAIN_S)


class Process:
    """What `snakemake.shell` needs of `subprocess.Popen`, for a command in a service."""

    stdout = None

    def __init__(self, commands: Commands, work: Work, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        # Headway would fill `{cores}` and `{memory_mb}` in; Snakemake has already done so, and what is left is meant.
        words = shlex.join(argv).replace("{cores}", "{''cores}").replace("{memory_mb}", "{''memory_mb}")
        self._script = f"exec {words}"
        self._commands, self._work, self._environment = commands, work, environment
        self.ended: dict[str, Any] = {}

    @property
    def pid(self) -> Process:
        """What Snakemake passes to `benchmarked`."""
        return self

    def wait(self) -> int:
        """Run it to its end, and return the exit code, or the signal as a negative number."""
        sys.stdout.flush()
        work = self._work
        self.ended = self._commands.run(work, self._script, self._environment)
        cause, code = self.ended["cause"], int(self.ended["exit_code"])
        work.wall_s = self.ended.get("wall_s", 0.0)
        if self._commands.cancelled:
            raise KeyboardInterrupt
        if cause in _EXHAUSTED:
            work.exhausted = _EXHAUSTED[cause]
            given = work.amounts.get(work.exhausted, self.ended.get(work.exhausted, 0))
            work.failures = work.failures | {work.exhausted: [*work.failures.get(work.exhausted, ()), given]}
        elif cause not in _QUIET:
            write_all(2, f"headway: {self.ended['task']}: {self.ended.get('message', cause)}\n".encode())
        return 128 - code if cause == "signal" else code

    def kill(self) -> None:
        """Do nothing: only jobs of groups are ended by Snakemake, and a group is one command here."""

    terminate = kill


class Subprocess:
    """The module `subprocess` for `snakemake.shell`: what a job of ours starts is a command of the service."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def Popen(self, command: str, **options: Any) -> Any:  # noqa: N802
        """Start a command of the job of this thread, or a process if there is none."""
        if here.work is None or options.get("stdout") == subprocess.PIPE:
            return subprocess.Popen(command, **options)
        return Process(self._commands, here.work, [options["executable"], "-c", command], options["env"])

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)


_benchmarked = snakemake.benchmark.benchmarked


@contextmanager
def benchmarked(pid: Any = None, benchmark_record: Any = None, *others: Any) -> Iterator[Any]:
    """Fill in Snakemake's benchmark with what Headway measured, or measure a process as Snakemake does."""
    if not isinstance(pid, Process):
        with _benchmarked(pid, benchmark_record, *others) as record:
            yield record
        return
    yield benchmark_record
    ended = pid.ended
    benchmark_record.running_time = ended.get("wall_s", 0.0)
    if "memory_bytes" in ended:
        benchmark_record.data_collected = True
        benchmark_record.max_rss = ended["memory_bytes"] / _MIB
        benchmark_record.cpu_time = ended.get("cpu_s", 0.0)
        benchmark_record.cpu_usage = 100 * benchmark_record.cpu_time  # Snakemake's load is in percent


def _show(stream: str, data: bytes) -> None:
    write_all(1 if stream == "stdout" else 2, data)
