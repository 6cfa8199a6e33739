"""cwltool, whose tools run in a service: `python -m headway.integrations.cwl` is what `headway cwl` starts.

A tool's `$(runtime.ram)` and `$(runtime.cores)` are a quote of the service, so that what a command line says is what is
enforced. A command line is therefore made when its turn comes, with what was learned by then, and made again with more
when the tool has run out of memory: in new directories, so that no output of the failed attempt stays.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, MutableMapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from cwl_utils.types import CWLObjectType
from cwltool import job as cwl_job
from cwltool import main as cwl_main
from cwltool.argparser import arg_parser
from cwltool.builder import Builder
from cwltool.command_line_tool import CallbackJob, CommandLineTool
from cwltool.context import LoadingContext, RuntimeContext
from cwltool.docker import DockerCommandLineJob
from cwltool.errors import WorkflowException
from cwltool.executors import MultithreadedJobExecutor
from cwltool.job import JobBase
from cwltool.loghandler import _logger as log
from cwltool.process import Process, shortname
from cwltool.utils import DEFAULT_TMP_PREFIX, OutputCallbackType
from cwltool.workflow import default_make_tool
from ruamel.yaml.comments import CommentedMap
from schema_salad.ref_resolver import uri_file_path

from headway.api.exec import SERVICE_VARIABLE, Executed, execute
from headway.api.quote import Quote, quote, runs_in_jobs
from headway.model.errors import HeadwayError

_MIB = 1 << 20
_WAITING = 2  # command lines per core that are made ahead, on this machine
_WAITING_FOR_JOBS = 200  # the more are known, the better jobs are planned
_RESOURCES = {"memory": "memory_bytes", "time": "walltime_s", "disk": "disk_bytes"}  # by the cause of an end
_PR_SET_PDEATHSIG = 1


class RanOut(BaseException):
    """A command ran out of a resource. Not an `Exception`: those cwltool takes for the end of the job."""

    def __init__(self, resource: str, amount: float) -> None:
        super().__init__(resource, amount)
        self.resource = resource
        self.amount = amount


class Pinned(dict[str, int | float]):
    """The resources that a command line was made with, and the quote that they are from."""

    def __init__(self, amounts: Mapping[str, int | float], category: str, pinned: Quote) -> None:
        memory, cores = pinned.amounts["memory_bytes"], pinned.amounts["cores"]
        own = {"ram": int(memory / _MIB), "cores": int(cores) if cores == int(cores) else cores}
        super().__init__({**amounts, **own})
        self.category = category
        self.quote = pinned


class InService:
    """Makes jobs of one of cwltool's classes run their command in the service; comes before that class."""

    builder: Builder

    def _execute(
        self, runtime: list[str], env: MutableMapping[str, str], context: RuntimeContext, monitor: Any = None
    ) -> None:
        _turn.pinned = self.builder.resources
        try:
            super()._execute(runtime, env, context, None)  # type: ignore[misc]
        finally:
            del _turn.pinned


class ServiceTool(CommandLineTool):
    """A tool whose commands run in the service, unless a daemon such as Docker's would run them."""

    def make_job_runner(self, context: RuntimeContext) -> type[JobBase]:
        """Return the class of this tool's jobs."""
        kind = super().make_job_runner(context)
        if issubclass(kind, DockerCommandLineJob) or context.job_script_provider is not None:
            return kind
        return type(kind.__name__, (InService, kind), {})

    def evalResources(self, builder: Builder, context: RuntimeContext) -> dict[str, int | float]:  # noqa: N802
        """Return what the tool may use: what it asks for, or where its job is about to start, a quote."""
        asked = super().evalResources(builder, context)
        later: Later | None = getattr(_turn, "later", None)
        # The key of a cached result must not depend on what was learned; cwltool makes it in a made-up directory.
        if later is None or context.stagedir == "/stage":
            return asked
        stated, _ = self.get_requirement("ResourceRequirement")
        hints: dict[str, float | str] = {"cores": asked["cores"]}
        if stated and ("ramMin" in stated or "ramMax" in stated):
            hints["memory_bytes"] = asked["ram"] * _MIB
        limit, _ = self.get_requirement("ToolTimeLimit")
        limit_s = builder.do_eval(limit["timelimit"]) if limit else None
        pinned = quote(
            category=later.category,
            hints=hints,
            limits={"walltime_s": limit_s} if isinstance(limit_s, int) and limit_s > 0 else {},
            input_bytes=sum(map(_size, builder.files)),
            failures=later.failures,
        )
        return Pinned(asked, later.category, pinned)

    def job(
        self, job_order: CWLObjectType, output_callbacks: OutputCallbackType, context: RuntimeContext
    ) -> Generator[Any, None, None]:
        """Yield the tool's job, whose command line is made when it is run."""
        if issubclass(self.make_job_runner(context), InService):
            name = context.name or shortname(str(self.tool.get("id", "job")))
            yield Later(name, partial(super().job, job_order), output_callbacks, context)
        else:
            yield from super().job(job_order, output_callbacks, context)


class Later:
    """A job whose command line is made when it is run, and made again when it has run out of memory."""

    outdir = None
    prov_obj = None

    def __init__(self, name: str, make: Make, done: OutputCallbackType, context: RuntimeContext) -> None:
        self.name = name
        self.category = re.sub(r"[^\w.+-]", "_", name)
        self.failures: dict[str, list[float]] = {}  # amounts that were not enough, by resource
        self.output_dirs: set[str] = set()  # the executor's
        self._make = make
        self._done = done
        self._context = context
        self._again = False

    def run(self, context: RuntimeContext, tmpdir_lock: threading.Lock | None = None) -> None:
        """Run it to its end."""
        while True:
            self._again = False
            try:
                jobs = self._made()
            except (WorkflowException, HeadwayError) as error:
                log.error("[%s] Cannot make job: %s", self.name, error)
                self._end({}, "permanentFail")
                return
            for job in jobs:
                try:
                    job.run(context, tmpdir_lock)
                except RanOut as end:
                    self._discard(job, end)
            if not self._again:
                return

    def _made(self) -> list[Any]:
        """Make the command line, with a quote; a job whose result is cached has none."""
        _turn.later = self
        try:
            with lock_of(self._context):
                jobs = list(self._make(self._end, self._context))
        finally:
            del _turn.later
        self.output_dirs.update(job.outdir for job in jobs if job.outdir is not None)
        return jobs

    def _end(self, outputs: CWLObjectType | None, status: str) -> None:
        if not self._again:
            with lock_of(self._context):
                self._done(outputs, status)

    def _discard(self, job: JobBase, end: RanOut) -> None:
        """Leave nothing of an attempt: not its files, not what cwltool noted of it."""
        self._again = True
        self.failures.setdefault(end.resource, []).append(end.amount)
        what = f"{end.amount / _MIB:.0f} MiB" if end.resource.endswith("_bytes") else f"{end.amount:.0f} s"
        log.info("[job %s] needs more than %s (%s); it is run again with more", job.name, what, end.resource)
        with suppress(Exception):  # the outputs need not be whole; the inputs are free for others after this
            job.collect_outputs(job.outdir, 1)
        if job.output_callback is not None:  # unlocks the cache
            job.output_callback({}, "permanentFail")
        for directory in (job.outdir, job.tmpdir, job.stagedir):
            shutil.rmtree(directory or "", ignore_errors=True)


class Executor(MultithreadedJobExecutor):
    """Hands jobs to the service, many at a time: there they wait for room."""

    def run_job(self, job: Any, context: RuntimeContext) -> None:
        """Start a job in a thread of its own."""
        if isinstance(job, Later):
            job.output_dirs = self.output_dirs
        super().run_job(job, context)


def lock_of(context: RuntimeContext) -> threading.Condition:
    """Return the lock under which the state of a workflow may be changed."""
    if context.workflow_eval_lock is None:
        raise WorkflowException("there is no lock")
    return context.workflow_eval_lock


def run_command(
    commands: list[str],
    stdin_path: str | None,
    stdout_path: str | None,
    stderr_path: str | None,
    env: Mapping[str, str],
    cwd: str,
    *args: Any,
    **more: Any,
) -> int:
    """Run a command as cwltool's own function does, in the service if it is one of its jobs; return its exit code."""
    pinned: Pinned | None = getattr(_turn, "pinned", None)
    if pinned is None:
        return _run_here(commands, stdin_path, stdout_path, stderr_path, env, cwd, *args, **more)
    if not _in_jobs and not shutil.which(
        os.path.join(cwd, commands[0]) if "/" in commands[0] else commands[0], path=env.get("PATH")
    ):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), commands[0])
    with ExitStack() as stack:
        files = {
            stream: stack.enter_context(open(path, "wb", buffering=0)).fileno() if path else sys.stderr.fileno()
            for stream, path in (("stdout", stdout_path), ("stderr", stderr_path))
        }
        ended = execute(
            commands,
            category=pinned.category,
            quote=pinned.quote.name,
            on_exhausted="return",
            directory=cwd,
            environment=env,
            stdin=stdin_path or False,
            output=lambda stream, data: write_all(files[stream], data),
        )
    return _exit_code(ended, pinned, str(more.get("name")), more.get("timelimit"))


def _exit_code(ended: Executed, pinned: Pinned, name: str, limit_s: int | None) -> int:
    """Return what `subprocess` would; raise an error if the end is not the command's own doing."""
    if ended.memory_bytes is not None and (ended.wall_s or 0) > 1:  # as cwltool does, whose figure is of every second
        log.info("[job %s] Max memory used: %iMiB", name, round(ended.memory_bytes / _MIB))
    if ended.cause in ("success", "exit-code"):
        return ended.exit_code
    if ended.cause == "signal":
        return 128 - ended.exit_code
    if ended.cause == "time" and limit_s:
        log.warning("[job %s] exceeded time limit of %d seconds and will be terminated", name, limit_s)
        return -signal.SIGTERM
    resource = _RESOURCES.get(ended.cause, "")
    if resource in pinned.quote.amounts:
        raise RanOut(resource, pinned.quote.amounts[resource])
    raise WorkflowException(ended.message or ended.cause)


def write_all(handle: int, data: bytes) -> None:
    """Write all bytes."""
    while data:
        data = data[os.write(handle, data) :]


def _size(entry: Mapping[str, Any]) -> int:
    """Return the size of an input file in bytes."""
    if "size" in entry:
        return int(entry["size"])
    try:
        return os.path.getsize(uri_file_path(str(entry["location"])))
    except (OSError, KeyError, ValueError):
        return 0


def make_tool(toolpath_object: CommentedMap, loadingContext: LoadingContext) -> Process:  # noqa: N803
    """Return the process of a CWL document."""
    is_tool = toolpath_object.get("class") == "CommandLineTool"
    return (ServiceTool if is_tool else default_make_tool)(toolpath_object, loadingContext)


def main(words: Sequence[str]) -> int:
    """Run cwltool with these words, as it is if no service is named; return its exit code."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # its connections cancel what runs
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    sys.argv[0] = "cwltool"  # the name that it goes by in its messages
    if SERVICE_VARIABLE not in os.environ:
        return cwl_main.main(list(words))
    args = arg_parser().parse_args([*os.environ.get("CWLTOOL_OPTIONS", "").split(), *words])
    if args.validate or args.provenance:  # nothing is run, or its executor is needed
        return cwl_main.main(list(words))
    global _in_jobs  # noqa: PLW0603
    _in_jobs = runs_in_jobs()
    if _in_jobs and args.tmpdir_prefix == DEFAULT_TMP_PREFIX:  # of this machine, which nodes do not see
        words = ["--tmpdir-prefix", os.path.join(os.path.dirname(os.environ[SERVICE_VARIABLE]), "cwl", ""), *words]
    cwl_job._job_popen = run_command
    if not args.debug:  # cwltool says it once more, in its last words
        log.addFilter(lambda record: not record.getMessage().startswith("Got workflow error"))
    usual = _WAITING_FOR_JOBS if _in_jobs else _WAITING * len(os.sched_getaffinity(0))
    loading = LoadingContext()
    loading.construct_tool_object = make_tool
    return cwl_main.main(list(words), executor=Executor(args.parallel_max or usual), loadingContext=loading)


def _leave(number: int, _: Any) -> None:
    """End at once: under Ctrl-C cwltool's executor would wait for a lock of its own."""
    cwl_main._terminate_processes()
    os._exit(128 + number)


Make = Callable[[OutputCallbackType, RuntimeContext], Iterator[JobBase | CallbackJob]]
_turn = threading.local()  # whose command line this thread makes, or what the command that it runs was promised
_run_here = cwl_job._job_popen
_in_jobs = False

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
