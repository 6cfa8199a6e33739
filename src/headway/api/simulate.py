"""`simulate`: what a batch queue would have done with a log of jobs, and with a workflow among them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from headway.api.amounts import parse_partitions, parse_size
from headway.api.keywords import Tell, refuse, settled
from headway.api.queues import GENERATED, AtLeastOne, QueueSettings, check_queue_settings, jobs_from
from headway.api.whole_files import check_distinct, check_target, write_whole
from headway.api.workflow_in_queue import plans_of, start_of
from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.kernels.batch.queue import BatchQueue
    from headway.model.batch_log import BatchJobs, Seconds
    from headway.model.instance import Instance
    from headway.model.records import Decision, Event
    from headway.report.queue.clock import Clock
    from headway.report.queue.page import QueuePage
    from headway.report.queue.summary import QueueSummary
    from headway.report.queue.through_queue import Passage
    from headway.simulation.batch_resources import Further

    Journals = dict[str, list[Event | Decision]]  # by plan

_FILES = ("starts", "html", "journal")
_OF_THE_QUEUE = ("starts", "html", "window", "machine_memory", "partitions")
_OF_A_WORKFLOW = ("plan", "start", "most_jobs", "journal")


class SimulateSettings(QueueSettings, frozen=True, kw_only=True):
    """The queue, the files to write (`starts`, `html`, `journal`), and the workflow that passes through the queue."""

    machine_memory: str | None = None  # of all nodes together, such as 4 TB; None: memory does not count
    partitions: tuple[str, ...] | None = None  # nodes of each that is limited, as 2=32
    starts: str | None = None  # CSV of the start of each job
    html: str | None = None
    window: str | None = None  # of the page's schedule: a day, or FROM..TO
    workflow: str | None = None
    plan: tuple[str, ...] = ()  # none: all
    start: float | str | None = None  # seconds, or text such as 8d
    most_jobs: AtLeastOne | None = None
    journal: str | None = None
    force: bool = False  # overwrite files

    def further(self) -> Further:
        """What the machine has besides nodes."""
        from headway.simulation.batch_resources import Further

        memory = None if self.machine_memory is None else int(parse_size(self.machine_memory))
        return Further(memory, parse_partitions(self.partitions or ()))

    def words(self, trace: str) -> list[str]:
        """How the queue is simulated, in words."""
        memory = [] if self.machine_memory is None else [f"memory of {self.machine_memory}"]
        stated = parse_partitions(self.partitions or ()).items()
        return super().words(trace) + memory + [f"{nodes:,} nodes in partition {number}" for number, nodes in stated]


class SimulateResult(Struct, frozen=True):
    """A simulated queue: its figures, and the start of every job."""

    trace: str
    settings: SimulateSettings
    source: dict[str, Any]  # where the jobs come from
    jobs: BatchJobs
    start_s: Seconds  # of each job, since the first submission
    summary: QueueSummary
    clock: Clock
    page: QueuePage
    files: list[str]  # that were written

    def document(self) -> dict[str, Any]:
        """The answer of `headway simulate --json`."""
        asked = {"trace": self.trace, "policy": self.settings.policy(), **self.source}
        figures: dict[str, Any] = to_builtins(self.summary)
        return asked | {"started_at": self.jobs.started_at} | figures

    def html(self) -> str:
        """The page that `html="FILE"` writes."""
        return self.page.html()


class SimulateWorkflowResult(Struct, frozen=True):
    """A workflow's passage through a simulated queue, under each plan."""

    trace: str
    settings: SimulateSettings
    source: dict[str, Any]
    queue: str  # its name and settings, in words
    instance: Instance
    start_s: float
    passages: list[Passage]
    journals: Journals
    files: list[str]

    def document(self) -> dict[str, Any]:
        """The answer of `headway simulate --workflow W --json`."""
        asked = {"trace": self.trace, "policy": self.settings.policy(), **self.source}
        asked |= {"workflow": self.settings.workflow, "start_s": self.start_s}
        if self.settings.asks() is not None:
            asked |= {"node_cores": self.settings.node_cores, "node_memory": self.settings.node_memory}
        return asked | {"plans": [to_builtins(passage) for passage in self.passages]}


def simulate(
    trace: str | Path, settings: SimulateSettings | None = None, *, progress: Tell | None = None, **named: Any
) -> SimulateResult | SimulateWorkflowResult:
    """Put the jobs of a batch log (or `lublin`, generated jobs) through a simulated queue.

    Keywords are the fields of `SimulateSettings`. With `workflow`, a recorded workflow passes through that queue.

    >>> simulate("lublin", jobs=100, load=0.9).document()["jobs"]
    100
    """
    asked, given = settled(SimulateSettings, settings, named)
    trace = str(trace)
    _check(trace, asked, given)
    if asked.workflow is not None:
        return _with_workflow(trace, asked, asked.workflow, progress)
    return _queue_alone(trace, asked, progress)


def _check(trace: str, asked: SimulateSettings, given: set[str]) -> None:
    """Raise InputError for every mistake that can be found before hours of work."""
    check_queue_settings(trace, asked, given)
    asked.check_nodes(given, workflow=asked.workflow is not None)
    if asked.workflow is not None:
        refuse(_OF_THE_QUEUE, given, "the queue alone")
    else:
        refuse(_OF_A_WORKFLOW, given, "a workflow", todo="add --workflow W")
    if asked.further() and asked.nodes != "counts":
        what = "memory and partitions can be simulated only where nodes are counted"
        raise InputError(what, where="--nodes", todo="leave it out")
    if asked.window is not None and asked.html is None:
        raise InputError("this is for the page, and none is asked for", where="--window", todo="add --html FILE")
    outputs = [Path(path) for path in (getattr(asked, name) for name in _FILES) if path is not None]
    for path in outputs:
        check_target(path, force=asked.force)
    inputs = [None if trace == GENERATED else trace, asked.workflow]
    check_distinct(outputs, [Path(path) for path in inputs if path is not None])


def _queue_alone(trace: str, asked: SimulateSettings, progress: Tell | None) -> SimulateResult:
    found = jobs_from(trace, asked, asked.further())
    jobs = found.jobs

    from headway.report.queue.clock import check_window, clock_of, window_of
    from headway.report.queue.page import QueuePage
    from headway.report.queue.summary import curves_of, summary_of
    from headway.simulation.batch import schedule

    clock = clock_of(jobs.started_at, found.header)
    window = None if asked.window is None else window_of(asked.window, clock, "--window")
    tell = progress or (lambda what, done, total: None)
    start_s = schedule(jobs, asked.scheduling(), lambda come: tell(jobs.name, come, len(jobs)))
    tell(jobs.name, len(jobs), len(jobs))
    curves = curves_of(jobs, start_s)
    summary = summary_of(jobs, start_s, clock, curves)
    if window is not None:
        check_window(window, summary.span_s, clock, "--window")
    page = QueuePage(jobs, start_s, summary, curves, clock, asked.words(trace), window)
    files = []
    if asked.starts is not None:
        from headway.report.queue.starts import starts_lines

        write_whole(Path(asked.starts), starts_lines(jobs, start_s))
        files.append(asked.starts)
    if asked.html is not None:
        write_whole(Path(asked.html), [page.html()])
        files.append(asked.html)
    return SimulateResult(trace, asked, found.source, jobs, start_s, summary, clock, page, files)


def _with_workflow(trace: str, asked: SimulateSettings, workflow: str, progress: Tell | None) -> SimulateWorkflowResult:
    from headway.drivers.through_queue import check_node
    from headway.report.queue.through_queue import passage_of
    from headway.simulation.batch import queue_of
    from headway.studies.runs import recorded_instance

    plans = plans_of(asked.plan)
    instance = recorded_instance(Path(workflow), "simulate a recorded workflow")
    found = jobs_from(trace, asked)
    start_s = start_of(asked.start, found.jobs)
    queue = queue_of(found.jobs, asked.scheduling(), asked.most_jobs)
    if (node := asked.node()) is not None:
        check_node(node, queue.machine, instance)
    journals = _journals(asked, queue, found.jobs, instance, plans, start_s, progress)
    passages = [passage_of(plan, journal) for plan, journal in journals.items()]
    if asked.journal is not None:
        from headway.model.codec import encode

        lines = (f"{encode(record).decode()}\n" for journal in journals.values() for record in journal)
        write_whole(Path(asked.journal), lines)
    files = [] if asked.journal is None else [asked.journal]
    words = f"{found.jobs.name} ({', '.join(asked.words(trace))})"
    return SimulateWorkflowResult(trace, asked, found.source, words, instance, start_s, passages, journals, files)


def _journals(
    asked: SimulateSettings,
    queue: BatchQueue,
    jobs: BatchJobs,
    instance: Instance,
    plans: list[str],
    start_s: float,
    progress: Tell | None,
) -> Journals:
    """The records of the workflow's run under each plan, all from the same state of the queue at `start_s`."""
    from headway.drivers.assemble import plans as all_plans
    from headway.drivers.simulated import simulate as run_simulated
    from headway.drivers.through_queue import Through, run_through
    from headway.report.queue.words import waited
    from headway.simulation.batch import seen_waits

    tell = progress or (lambda what, done, total: None)
    tell("the queue before the workflow", 0, len(plans))
    queue.advance(start_s)
    seen = seen_waits(queue, jobs, unit=asked.unit)
    journals: Journals = {}
    for number, plan in enumerate(plans, start=1):
        through = Through(all_plans()[plan], start_s, node=asked.node(), seen_waits=seen, asks=asked.asks())
        run = run_through(instance, through, number)

        def tell_time(now: float, plan: str = plan, done: int = number - 1) -> None:
            tell(f"{plan}, {waited(now - start_s)} into it", done, len(plans))

        run_simulated(queue.clone(), [run], tell_time)
        journals[plan] = run.journal
    return journals
