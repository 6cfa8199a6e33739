"""`HeadwayExecutor`: Parsl's apps as calls of `headway.Executor`.

    import parsl
    from parsl.config import Config
    from headway.integrations.parsl import HeadwayExecutor

    parsl.load(Config(executors=[HeadwayExecutor()]))

Apps are the categories. A worker makes one call after the other and is measured and limited with all that it starts; a
call that exceeds its memory is made again in a worker with more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from parsl.app.errors import wrap_error
from parsl.executors.base import ParslExecutor
from parsl.executors.errors import InvalidResourceSpecification
from parsl.utils import RepresentationMixin

from headway.api.settings import RunSettings
from headway.integrations.calls import PROCESS, SHARED
from headway.integrations.executor import Executor
from headway.integrations.submitter import category_of

_WRAPPER = wrap_error(len).__code__  # of Parsl's functions that turn errors into values
_MEGABYTES = ("memory", "disk")
_HINTS = ("cores", "gpus", *_MEGABYTES)


class HeadwayExecutor(ParslExecutor, RepresentationMixin):
    """A Parsl executor whose calls are measured, limited, sized by what earlier ones needed, and retried with more.

    The parameters are those of `headway.Executor`; by default calls share processes, on a cluster each has its own. An
    app's `parsl_resource_specification` may have `cores`, `memory` and `disk` in MB, `gpus`, `priority` and
    `running_time_max` in seconds, after which a call fails.
    """

    def __init__(
        self,
        label: str = "headway",
        directory: str | os.PathLike[str] | None = None,
        cores: float | None = None,
        memory: float | str | None = None,
        sizer: str = RunSettings().sizer,
        fresh: bool = False,
        isolation: str | None = None,
        on: str = "local",
        plan: str = "",
        batch: Mapping[str, str] | None = None,
        working_dir: str | None = None,
        storage_access: list[Any] | None = None,
    ) -> None:
        ParslExecutor.__init__(self)
        self.label = label
        self.directory = directory
        self.cores = cores
        self.memory = memory
        self.sizer = sizer
        self.fresh = fresh
        self.isolation = isolation or (SHARED if on == "local" else PROCESS)
        self.on = on
        self.plan = plan
        self.batch = batch
        self.working_dir = working_dir  # these two are for Parsl's staging of files
        self.storage_access = storage_access
        self._executor: Executor | None = None

    def start(self) -> None:
        """Start the run."""
        self._executor = Executor(
            self.directory,
            cores=self.cores,
            memory=self.memory,
            sizer=self.sizer,
            fresh=self.fresh,
            echo=False,
            isolation=self.isolation,
            on=self.on,
            plan=self.plan,
            batch=self.batch,
        )

    def submit(
        self, func: Callable[..., Any], resource_specification: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Submit a call of an app."""
        if self._executor is None:
            raise RuntimeError("the executor has not been started; `parsl.load` does that")
        category = category_of(func)
        if getattr(func, "__code__", None) is _WRAPPER:  # Headway brings errors back as they are
            func = func.__wrapped__  # type: ignore[attr-defined]
        settings = {"category": category, **_settings(resource_specification)}
        return self._executor.using(**settings).submit(func, *args, **kwargs)

    def shutdown(self) -> None:
        """Stop what still runs, as Parsl's other executors do, and end the run."""
        if self._executor is not None:
            self._executor.stop()
        super().shutdown()

    def monitor_resources(self) -> bool:
        """Headway measures calls itself; see `headway usage`."""
        return False


def _settings(specification: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a call that a resource specification of Parsl's means."""
    known = {*_HINTS, "priority", "running_time_max", "running_time_min"}
    if unknown := {*specification} - known:
        raise InvalidResourceSpecification(unknown, f"Headway knows {', '.join(sorted(known))}.")
    settings = {name: specification[name] for name in (*_HINTS, "priority") if name in specification}
    settings |= {name: f"{settings[name]} MB" for name in _MEGABYTES if name in settings}
    if "running_time_max" in specification:
        settings["limit"] = {"time": f"{specification['running_time_max']}s"}
    return settings
