"""The figures of runs as Prometheus reads them: its text format, version 0.0.4."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct, field

from headway.model.records import Decision, Event, TasksAdded
from headway.model.resources import Resources
from headway.report.run.figures import STATES, Figures
from headway.report.run.summary import RunSummary

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
RUN_STATES = ("running", "succeeded", "failed", "stopped", "interrupted", "unreadable")
_OTHER = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}


class Extra:
    """Hears a run's records and keeps what metrics need and `RunSummary` has not: what was asked for."""

    def __init__(self) -> None:
        self.asked_memory: defaultdict[str, float] = defaultdict(float)  # by category: the most that a task asks for
        self.asked_cores: defaultdict[str, float] = defaultdict(float)

    def apply(self, record: Event | Decision) -> None:
        """Take note of a record."""
        for task in record.tasks if isinstance(record, TasksAdded) else ():
            memory, cores = task.hints.get("memory_bytes") or 0.0, task.hints.get("cores") or 0.0
            self.asked_memory[task.category] = max(self.asked_memory[task.category], memory)
            self.asked_cores[task.category] = max(self.asked_cores[task.category], cores)


class RunMetrics(Struct, frozen=True):
    """What the metrics of one run are made from."""

    workflow: str = ""
    state: str = "unreadable"
    categories: dict[str, Figures] = field(default_factory=dict)
    retries: dict[str, int] = field(default_factory=dict)
    asked_memory: dict[str, float] = field(default_factory=dict)
    asked_cores: dict[str, float] = field(default_factory=dict)
    available: Resources = Resources()
    in_use: Resources = Resources()
    waits: int = 0
    waited_s: float = 0.0
    jobs_waiting: int = 0
    jobs_running: int = 0
    core_hours_held: float = 0.0
    core_hours_used: float = 0.0


def metrics_of(summary: RunSummary, extra: Extra, state: str, now: float) -> RunMetrics:
    """The figures of a run now; nothing in them changes later."""
    begun: Counter[str] = Counter()
    for (category, _), tasks in summary.reasons.items():
        begun[category] += tasks
    goes_on = state == "running"
    batch = summary.jobs.live().values() if summary.batch and goes_on else ()
    waits_s = summary.jobs.waits_s() if summary.batch else []
    running = sum(job.started_at is not None for job in batch)
    return RunMetrics(
        workflow=summary.settings.name if summary.settings else "",
        state=state,
        # A sum is a copy: the summary goes on counting in its own.
        categories={name: Figures.sum([figures]) for name, figures in summary.categories.items()},
        retries={name: max(0, figures.attempts - begun[name]) for name, figures in summary.categories.items()},
        asked_memory=dict(extra.asked_memory),
        asked_cores=dict(extra.asked_cores),
        available=summary.available() if goes_on and summary.capacity else Resources(),
        in_use=summary.in_use() if goes_on else Resources(),
        waits=len(waits_s),
        waited_s=sum(waits_s),
        jobs_waiting=len(batch) - running,
        jobs_running=running,
        core_hours_held=summary.jobs.held_core_hours(now if goes_on else summary.last_at),
        core_hours_used=summary.jobs.used_core_hours,
    )


def metrics_text(runs: Sequence[RunMetrics]) -> str:
    """All metrics of some runs, summed over the runs of a workflow."""
    return "".join(line + "\n" for line in _lines(runs))


# name, kind, what it is, and the figure of a category
_OF_CATEGORY: tuple[tuple[str, str, str, Callable[[RunMetrics, str, Figures], float]], ...] = (
    ("attempts_total", "counter", "Attempts that were begun.", lambda run, name, each: each.attempts),
    ("retries_total", "counter", "Attempts after the first at a task.", lambda run, name, each: run.retries[name]),
    ("lost_attempts_total", "counter", "Attempts that ended with their node.", lambda run, name, each: each.lost),
    ("run_seconds_total", "counter", "Run time of all attempts.", lambda run, name, each: each.run_s),
    ("cpu_seconds_total", "counter", "CPU time used.", lambda run, name, each: each.cpu_s),
    ("core_seconds_total", "counter", "Cores given, times run time.", lambda run, name, each: each.core_s),
    (
        "memory_given_byte_seconds_total",
        "counter",
        "Memory given, times run time, of all attempts.",
        lambda run, name, each: each.totals["memory_bytes"].allocated,
    ),
    (
        "memory_used_byte_seconds_total",
        "counter",
        "Peak memory times run time of attempts that succeeded.",
        lambda run, name, each: each.totals["memory_bytes"].consumed,
    ),
)
# The largest of all runs of a workflow
_LARGEST: tuple[tuple[str, str, Callable[[RunMetrics, str, Figures], float]], ...] = (
    (
        "memory_asked_bytes",
        "The most that the workflow asks for a task.",
        lambda run, name, each: run.asked_memory[name],
    ),
    ("cores_asked", "The most cores that the workflow asks for a task.", lambda run, name, each: run.asked_cores[name]),
    (
        "memory_given_mean_bytes",
        "Mean of what attempts were given.",
        lambda run, name, each: each.totals["memory_bytes"].asked_mean or 0.0,
    ),
    (
        "memory_used_max_bytes",
        "The most that an attempt which succeeded used.",
        lambda run, name, each: each.totals["memory_bytes"].used_max,
    ),
)
_OF_RUN: tuple[tuple[str, str, str, Callable[[RunMetrics], float]], ...] = (
    ("cores_held", "gauge", "Cores that running runs hold.", lambda run: run.available.cores),
    ("cores_in_use", "gauge", "Cores that running tasks were given.", lambda run: run.in_use.cores),
    ("memory_held_bytes", "gauge", "Memory that running runs hold.", lambda run: run.available.memory_bytes),
    ("memory_in_use_bytes", "gauge", "Memory that running tasks were given.", lambda run: run.in_use.memory_bytes),
    ("jobs_waiting", "gauge", "Jobs of running runs that wait in a queue.", lambda run: run.jobs_waiting),
    ("jobs_running", "gauge", "Jobs of running runs that run.", lambda run: run.jobs_running),
    ("core_hours_held_total", "counter", "Core-hours that jobs held.", lambda run: run.core_hours_held),
    ("core_hours_used_total", "counter", "Core-hours in which tasks ran.", lambda run: run.core_hours_used),
)


def _lines(runs: Sequence[RunMetrics]) -> Iterator[str]:
    states = Counter(run.state for run in runs)
    yield from _metric("runs", "gauge", "Runs by state.", [((("state", name),), states[name]) for name in RUN_STATES])
    of_category = [(run, name, each) for run in runs for name, each in run.categories.items()]
    tasks: defaultdict[_Labels, float] = defaultdict(float)
    for run, name, each in of_category:
        for state in STATES:
            tasks[(*_labels(run, name), ("state", state))] += getattr(each, state)
    yield from _metric("tasks", "gauge", "Tasks by workflow, category and state.", tasks.items())
    for metric, kind, words, figure in _OF_CATEGORY:
        sums: defaultdict[_Labels, float] = defaultdict(float)
        for run, name, each in of_category:
            sums[_labels(run, name)] += figure(run, name, each)
        yield from _metric(metric, kind, words, sums.items())
    for metric, words, figure in _LARGEST:
        largest: defaultdict[_Labels, float] = defaultdict(float)
        for run, name, each in of_category:
            largest[_labels(run, name)] = max(largest[_labels(run, name)], figure(run, name, each))
        yield from _metric(metric, "gauge", words, largest.items())
    for metric, kind, words, of_run in _OF_RUN:
        sums = defaultdict(float)
        for run in runs:
            sums[(("workflow", run.workflow),)] += of_run(run)
        yield from _metric(metric, kind, words, sums.items())
    yield from _waits(runs)


def _waits(runs: Sequence[RunMetrics]) -> Iterator[str]:
    """What Prometheus calls a summary: a sum and a number, from which it makes means over any time."""
    yield from _head("job_wait_seconds", "summary", "How long jobs waited in a queue.")
    for part, figure in (("sum", "waited_s"), ("count", "waits")):
        sums: defaultdict[_Labels, float] = defaultdict(float)
        for run in runs:
            sums[(("workflow", run.workflow),)] += getattr(run, figure)
        yield from _samples(f"job_wait_seconds_{part}", sums.items())


_Labels = tuple[tuple[str, str], ...]


def _labels(run: RunMetrics, category: str) -> _Labels:
    return (("workflow", run.workflow), ("category", category))


def _metric(name: str, kind: str, words: str, samples: Iterable[tuple[_Labels, float]]) -> Iterator[str]:
    yield from _head(name, kind, words)
    yield from _samples(name, samples)


def _head(name: str, kind: str, words: str) -> Iterator[str]:
    yield f"# HELP headway_{name} {words}"
    yield f"# TYPE headway_{name} {kind}"


def _samples(name: str, samples: Iterable[tuple[_Labels, float]]) -> Iterator[str]:
    for labels, value in samples:
        said = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
        yield f"headway_{name}{{{said}}} {value:.15g}"


def _escaped(text: str) -> str:
    """A label's value; a character that is no Unicode text (half of a surrogate pair) becomes a question mark."""
    return "".join(_OTHER.get(letter, letter) for letter in text).encode(errors="replace").decode()
