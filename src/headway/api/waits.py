"""`waits`: how well each wait model would have predicted the queue waits of a log's jobs."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, to_builtins

from headway.api.keywords import Tell, chosen_names, refuse, settled
from headway.api.queues import GENERATED, Backfill, QueueSettings, check_queue_settings, jobs_from
from headway.api.whole_files import check_target, write_whole
from headway.model.errors import InputError
from headway.report.queue.waits import ModelScores, WaitsPage

if TYPE_CHECKING:
    from headway.api.waits_on_slurm import WaitsNow
    from headway.model.batch_log import BatchJobs
    from headway.waiting.base import WaitModel

SLURM = "slurm"
_DAY_S = 86_400.0
_OF_JOBS = ("partition", "account", "qos", "preemptible")  # what Slurm is told of jobs


class WaitsSettings(QueueSettings, frozen=True, kw_only=True):
    """The queue, the models, and the file of the page."""

    backfill: Backfill = "conservative"
    nodes: Literal["counts", "ids", "contiguous"] = "counts"
    models: tuple[str, ...] | None = None  # None: all
    warm_up: Annotated[float, Meta(ge=0)] = 0.0  # days; models learn from jobs submitted in them, without being scored
    html: str | None = None
    force: bool = False  # overwrite the file
    on: str = ""  # slurm: the queue of the cluster here, instead of a log
    partition: str | None = None  # slurm, as the three below
    account: str | None = None
    qos: str | None = None
    preemptible: str | None = None


class WaitsResult(Struct, frozen=True):
    """The scores of each model."""

    trace: str
    settings: WaitsSettings
    source: dict[str, Any]  # where the jobs come from
    name: str  # of the log
    machine: int  # nodes
    jobs: int
    words: list[str]  # how the queue was simulated
    models: list[ModelScores]
    files: list[str]  # that were written

    def document(self) -> dict[str, Any]:
        """The answer of `headway waits --json`."""
        asked = {"trace": self.trace, "policy": self.settings.policy(), **self.source}
        figures = {"name": self.name, "machine": self.machine, "jobs": self.jobs}
        learning = {"warm_up_days": self.settings.warm_up, "seed": self.settings.seed}
        return asked | figures | learning | {"models": [to_builtins(scores) for scores in self.models]}

    def html(self) -> str:
        """The page that `html="FILE"` writes."""
        return WaitsPage(self.name, self.machine, self.words, self.models).html()


def waits(
    trace: str | Path = "", settings: WaitsSettings | None = None, *, progress: Tell | None = None, **named: Any
) -> WaitsResult | WaitsNow:
    """Ask each wait model at every submission of a log how long the job will wait, and score the answers.

    Keywords are the fields of `WaitsSettings`. With `on="slurm"` and without a log: say how long jobs of several shapes
    would wait in the queue of the Slurm cluster here, as it is now.

    >>> result = waits("lublin", jobs=300, load=0.9, models=["corrected-estimate", "asa"])
    >>> [scores.all.name for scores in result.models]
    ['corrected-estimate', 'asa']
    """
    from headway.drivers.assemble import wait_models

    asked, given = settled(WaitsSettings, settings, named)
    trace = str(trace)
    if asked.on or not trace:
        return _on_slurm(trace, asked, given)
    refuse(_OF_JOBS, given, "a real queue, and this is a log")
    check_queue_settings(trace, asked, given, also="seed")
    if asked.html is not None:
        check_target(Path(asked.html), force=asked.force)
        if trace != GENERATED and Path(asked.html).resolve() == Path(trace).resolve():
            raise InputError("this is the log itself", where=asked.html, todo="name another FILE")
    known = wait_models()
    if asked.models == ():
        todo = "write for example --models corrected-estimate,asa"
        raise InputError("no model is named", where="--models", todo=todo)
    names = list(known) if asked.models is None else chosen_names(asked.models, known, "model of waits", "--models")
    models = [known[name]() for name in names]
    found = jobs_from(trace, asked)
    jobs = found.jobs
    scores = _scores(jobs, models, asked, progress or (lambda what, done, total: None))
    files = [asked.html] if asked.html is not None else []
    result = WaitsResult(
        trace, asked, found.source, jobs.name, jobs.machine, len(jobs), asked.words(trace), scores, files
    )
    for file in files:
        write_whole(Path(file), [result.html()])
    return result


def _on_slurm(trace: str, asked: WaitsSettings, given: Collection[str]) -> WaitsNow:
    from headway.api.waits_on_slurm import waits_on_slurm

    if asked.on != SLURM or trace:
        what = "a log and --on are named" if trace else f"there is no queue called {asked.on!r}"
        what = what if asked.on else "no queue is named"
        raise InputError(what, where="--on", todo="name a log or lublin, or write --on slurm for the queue here")
    refuse([name for name in given if name not in ("on", *_OF_JOBS)], given, "logs, and this queue is a real one")
    return waits_on_slurm({name: getattr(asked, name) for name in _OF_JOBS})


def _scores(jobs: BatchJobs, models: list[WaitModel], asked: WaitsSettings, tell: Tell) -> list[ModelScores]:
    from headway.simulation.wait_scores import ask, score, those_to_wait, waits_of

    def telling(what: str) -> Any:
        return lambda come: tell(what, come, len(jobs))

    warm_up_s = asked.warm_up * _DAY_S
    found = waits_of(jobs, asked.scheduling(), telling(jobs.name))
    to_wait, everyone = those_to_wait(found, warm_up_s), jobs.submit_s >= warm_up_s
    if not to_wait.any():
        raise InputError(
            "no job has to wait in this queue" if warm_up_s == 0 else "no job has to wait after the warm-up",
            where=jobs.name,
            todo="choose a smaller --machine, a higher --load or a shorter --warm-up",
        )
    rows = []
    for model in models:
        answers = ask(model, found, asked.seed, telling(model.name))
        scored = (score(model.name, answers, found, counted) for counted in (to_wait, everyone))
        rows.append(ModelScores(*(each for each in scored if each is not None)))
    return rows
