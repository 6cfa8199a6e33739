"""The executor itself: Snakemake's own for one machine, whose jobs' commands go to a service."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import ExitStack, suppress
from typing import Any

import snakemake
import snakemake.benchmark
from snakemake.exceptions import RuleException, SpawnedJobError, WorkflowError
from snakemake.executors import local
from snakemake.logging import logger

from headway.api.hosting import hosted
from headway.integrations.snakemake import commands
from headway.integrations.snakemake.amounts import as_options, pin, wanted
from headway.integrations.snakemake.commands import Commands, Process, Subprocess, Work, here
from headway.integrations.snakemake.settings import ExecutorSettings
from headway.model.errors import HeadwayError
from headway.model.units import format_bytes
from headway.serving.client import ServiceError

_VERSION = "9"
_SHORT_S = 1.0
_NAMES = {"memory_bytes": "memory", "walltime_s": "time", "disk_bytes": "disk"}


class Executor(local.Executor):  # type: ignore[misc]
    """Runs jobs as Snakemake's local executor does, with their commands in a service of the working directory.

    `run:` and `shadow:` rules and groups of pipes are commands that start a nested Snakemake. Local rules are run by
    Snakemake itself.
    """

    def __post_init__(self) -> None:
        if snakemake.__version__.split(".")[0] != _VERSION:
            raise WorkflowError(f"--executor headway needs Snakemake {_VERSION}; this is {snakemake.__version__}")
        super().__post_init__()
        self._works: dict[Any, Work] = {}
        self._commands: Commands | None = None
        self._stack = ExitStack()
        self._given = self.executor_settings or ExecutorSettings()  # none from Snakemake's API
        self._in_jobs = self._given.on not in ("", "local")
        self._more_cores = 0

    def _begin(self) -> Commands:
        """Start the service with the first job, so that a run with nothing to do takes no time for it."""
        if self._commands is None:
            given = self._given
            here_has = len(os.sched_getaffinity(0))
            options = ["--on", given.on] if given.on else []
            if not self._in_jobs and self.cores < here_has:
                options += ["--cores", str(self.cores)]
            options += ["--fresh"] if given.fresh else []
            place = self._stack.enter_context(hosted(".", options + shlex.split(given.options)))
            self._commands = Commands(place)
            self._most_cores = float("inf") if self._in_jobs else float(min(self.cores, here_has))
            self._replace(sys.modules["snakemake.shell"], "sp", Subprocess(self._commands))
            self._replace(snakemake.benchmark, "benchmarked", commands.benchmarked)
            logger.info("Headway runs the commands: see `headway status`, `headway usage` and `headway why JOB`.")
        return self._commands

    def _replace(self, module: Any, name: str, value: object) -> None:
        """Replace a part of Snakemake until the end."""
        self._stack.callback(setattr, module, name, getattr(module, name))
        setattr(module, name, value)

    def run_jobs(self, jobs: list[Any]) -> None:
        """Run jobs, of which each knows before it is shown and written what it is given."""
        try:
            self._size([job for job in jobs if not self._stays(job)])
        except (HeadwayError, ServiceError, OSError, ValueError) as error:
            self.workflow.scheduler.executor_error_callback(WorkflowError(f"Headway: {error}"))
        else:
            super().run_jobs(jobs)

    def _size(self, jobs: list[Any]) -> None:
        """Have an amount quoted for each job, and let the job's resources say so."""
        if not jobs:
            return
        service = self._begin()
        for job in jobs:
            size = wanted(job, self._most_cores, in_jobs=self._in_jobs)
            before = self._works.get(job)  # of an attempt that failed for another reason
            self._works[job] = Work(_rules(job), _name(job), size, failures=before.failures if before else {})
        service.quote([self._works[job] for job in jobs])
        for job in jobs:
            self._pin(job)

    def _stays(self, job: Any) -> bool:
        """Whether Snakemake runs a job by itself: it has no command, or is of a local rule."""
        return not job.is_group() and (
            job.is_norun or job.is_template_engine or job.rule.name in self.workflow._localrules
        )

    def _pin(self, job: Any) -> None:
        work = self._works[job]
        if work.amounts and not job.is_group():
            pin(job, work.amounts)

    def run_single_job(self, job: Any) -> Any:
        """Run a job in a thread: directly, or by a nested Snakemake if it would work in this process."""
        if job in self._works and (job.is_run or job.is_shadow):
            return self.pool.submit(self.cached_or_run, job, self.spawn_job, job)
        return super().run_single_job(job)

    def run_group_job(self, job: Any) -> None:
        """Run jobs that are connected by pipes as one command, so that they run at the same time on the same node."""
        self._try(job, self.spawn_job, job)

    def cached_or_run(self, job: Any, run_func: Any, *args: Any) -> None:
        """Run a job, if its results are not in Snakemake's cache."""
        if job in self._works:
            self._try(job, super().cached_or_run, job, run_func, *args)
        else:
            super().cached_or_run(job, run_func, *args)

    def _try(self, job: Any, function: Any, *args: Any) -> None:
        """Call a function until the job's commands have enough; that is no failure that Snakemake would count."""
        work = self._works[job]
        while True:
            if work.refused:
                raise RuleException(f"Headway: {work.refused}", rule=None if job.is_group() else job.rule)
            here.work = work
            try:
                function(*args)
            except Exception:
                if not work.exhausted:
                    raise
            else:
                return
            finally:
                here.work = None
            args = self._again(job, work, args)

    def _callback(self, job_info: Any, future: Any) -> None:
        """Report how a job ended. Where no amount was enough, the sentence says all; Snakemake would add our lines."""
        if job_info.job in self._works and self._works[job_info.job].refused:
            future.exception().with_traceback(None)
        super()._callback(job_info, future)

    def _again(self, job: Any, work: Work, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Prepare a job that had too little as Snakemake does with one that failed; return its arguments."""
        lacked, before = work.exhausted, work.failures[work.exhausted][-1]
        self._begin().quote([work])
        if work.refused:
            return args
        amounts = f"{_text(lacked, before)}; it is run again with {_text(lacked, work.amounts[lacked])}"
        logger.info(f"Job {job.jobid} ({work.category}) ran out of {_NAMES[lacked]} with {amounts}.")
        self.workflow.async_run(job.postprocess(error=True))
        job.register()
        self._pin(job)
        if args[1:2] == (local.run_wrapper,):  # not nested: its arguments are what commands are written from
            return (*args[:2], *self.job_args_and_prepare(job))
        return args

    def spawn_job(self, job: Any) -> None:
        """Run a job by a nested Snakemake."""
        work = self._works.get(job)
        if work is None:
            super().spawn_job(job)
        elif Process(self._begin(), work, ["/bin/sh", "-c", self.format_job_exec(job)], os.environ).wait():
            raise SpawnedJobError

    def format_job_exec(self, job: Any) -> str:
        """Return the command of a nested Snakemake, which gives its job what was quoted."""
        command = super().format_job_exec(job)
        return command if job.is_group() or job not in self._works else f"{command} {as_options(job)}"

    def handle_job_success(self, job: Any) -> None:
        """Let a second job for each core wait in the service while jobs are short, as Snakemake is slow to choose one.

        With long jobs that would gain nothing, and after a failure jobs would start that need not.
        """
        if job not in self._works or self._in_jobs:
            return
        more = self.cores if self._works[job].wall_s < _SHORT_S else 0
        free = self.workflow.scheduler.resources
        if free["_cores"] + more >= self._more_cores:
            free["_cores"] += more - self._more_cores
            self._more_cores = more

    def shutdown(self) -> None:
        """End with the last job."""
        super().shutdown()
        self._stack.close()

    def cancel(self) -> None:
        """End all commands and, if it is ours, the service."""
        if self._commands is not None:
            self._commands.cancel()
        super().cancel()
        with suppress(KeyboardInterrupt):
            self._stack.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)


def _rules(job: Any) -> str:
    """Return the rule of a job, or the rules of a group."""
    return "+".join(sorted(job.rules)) if job.is_group() else str(job.rule.name)


def _name(job: Any) -> str:
    """Return what tells a job from others of its rule."""
    return "" if job.is_group() else ",".join(f"{name}={value}" for name, value in job.wildcards_dict.items())


def _text(resource: str, amount: float) -> str:
    return format_bytes(amount) if resource.endswith("_bytes") else f"{amount:.0f} s"
