"""A task's story as text for the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headway.journal.story.jobs import Job
from headway.model.command_as_run import command_as_run
from headway.model.outcome import Ending, Measured, Quality, Usage
from headway.model.records import Figure, JobSeen, Launch, Why
from headway.model.task import Task
from headway.model.units import format_duration
from headway.report.run.again import chosen_words
from headway.report.run.job_lines import named, shape_of, without_nodes
from headway.report.run.story import Attempt, Story
from headway.report.saying import say, show
from headway.report.words import amount, clock, count, first_line, harmless, moment

_MARKS = {Quality.EXACT: "", Quality.SAMPLED: "≈ ", Quality.LOWER_BOUND: "≥ ", Quality.UPPER_BOUND: "≤ "}
_NAMES = {"memory_bytes": "memory", "cores": "cores", "disk_bytes": "disk", "walltime_s": "time"}
_STATES = {
    "succeeded": "bold green",
    "reused": "bold blue",
    "failed": "bold red",
    "cut-off": "bold red",
    "running": "bold cyan",
    "interrupted": "bold yellow",
    "waiting": "bold yellow",
}


def tell(console: Console, story: Story) -> None:
    """Print the story: the task's state, why it ran, and each attempt."""
    title = Text.assemble(
        (harmless(story.task.id), "bold"),
        f", run {story.run} of {harmless(story.workflow)}: ",
        (story.state.replace("-", " "), _STATES[story.state]),
    )
    say(console, title, *_reasons(story))
    for attempt in story.attempts:
        console.print()
        _tell_attempt(console, story.task, attempt, interrupted=story.state == "interrupted")


def _reasons(story: Story) -> list[str]:
    """Why the task ran, or why it did not."""
    lines = []
    if story.attempts:
        lines.append(f"it ran because: {harmless(story.attempts[0].launch.because)}")
    if story.reused_from is not None:
        lines.append(
            f"it was not run: the result of run {story.reused_from} was reused, since neither the task nor its inputs "
            f"changed (for details: headway why {shlex.quote(story.task.id)} --run {story.reused_from})"
        )
    if story.withdrawn:
        lines.append("it was cancelled before it had a result")
    for task, why in list(story.cut_off_by.items())[:5]:
        lines.append(f"it cannot run: {harmless(task)}, which it depends on, failed: {harmless(why.text)}")
    if story.state == "waiting":
        lines.append(_waiting(story))
    if story.state == "interrupted":
        lines.append(f"the run has no manager, nothing is lost; to go on: headway resume {story.run}")
    if story.full_disk:
        lines.append(harmless(story.full_disk))
    if story.given_up is not None:
        why = story.given_up
        figures = f" ({_figures(why)})" if why.figures else ""
        lines.append(f"given up: {harmless(why.text)} [{why.policy}: {why.rule}]{figures}")
    if story.settings is not None and (chosen := chosen_words(story.settings)):
        lines.append(harmless(f"settings of the run: {', '.join(chosen)}"))
    return lines


def _waiting(story: Story) -> str:
    if story.waits_for:
        more = f" and {len(story.waits_for) - 3:,} more" if len(story.waits_for) > 3 else ""
        return f"it waits for {', '.join(harmless(task) for task in story.waits_for[:3])}{more}"
    if story.without_nodes is not None:
        return f"it waits: {without_nodes(story.without_nodes)[1]}"
    if story.jobs:
        return f"it waits for {_jobs(story.jobs)}"
    if story.attempts:
        return "it waits for free resources for another attempt, or for the run to be resumed"
    return "all its dependencies are finished: it waits for free resources, or for the run to be resumed"


def _jobs(jobs: Sequence[Job]) -> str:
    """The job that a task waits for, and why that waits; of several one that is held, else the first."""
    job = next((job for job in jobs if job.seen and job.seen.held), jobs[0])
    others = f" or {count(len(jobs) - 1, 'other job')}" if jobs[1:] else ""
    held, why = (job.seen.held, job.seen.message) if job.seen else (False, "")
    return harmless(
        f"job {named(job)} ({shape_of(job)}){others} to start{', which is HELD' * held}{f': {why}' * bool(why)}"
    )


def _tell_attempt(console: Console, task: Task, attempt: Attempt, interrupted: bool) -> None:
    launch, outcome = attempt.launch, attempt.outcome
    gpus = f" with {', '.join(map(_gpu, launch.devices))}" if launch.devices else ""
    line = Text.assemble((f"attempt {launch.attempt}", "bold"), f" on {launch.node}{gpus}, {moment(launch.at)}")
    if outcome is not None:
        ran = format_duration(max(0.0, outcome.ended_at - outcome.started_at))
        words = "succeeded" if outcome.ending is Ending.SUCCESS else harmless(outcome.message) or str(outcome.ending)
        line.append(f" to {clock(outcome.ended_at)} ({ran}): ")
        line.append(words, style="green" if outcome.ending is Ending.SUCCESS else "red")
    elif attempt.lost is not None:
        line.append(f": lost, {harmless(attempt.lost)}", style="yellow")
    elif interrupted:
        line.append(": running when the run was interrupted", style="yellow")
    else:
        line.append(": running", style="cyan")
    say(console, line)
    if outcome is not None and outcome.ending is not Ending.SUCCESS and task.command.strip():
        show(console, f"  $ {first_line(command_as_run(task, launch.ceiling or launch.resources))}", style="dim")
    if attempt.job is not None and attempt.job.partition:
        gave = f"; the job gave back {count(attempt.given_back, 'node')}" if attempt.given_back else ""
        say(console, f"  {_job(attempt.job)}{gave}")
    if launch.overtook:
        say(console, f"  it started before {harmless(launch.overtook)}, which did not fit at that time")
    console.print(_figures_table(attempt))


def _job(job: JobSeen) -> str:
    """In which job and partition an attempt ran, what that costs, and why it was chosen."""
    price = "" if job.billing is None else f", which is charged {job.billing:.3g} billing units while it runs"
    why = f"; {job.why_there}" if job.why_there else ""
    return harmless(f"in job {job.job_id} in partition {job.partition}{price}{why}")


def _gpu(device: str) -> str:
    """A GPU's name for people; one of Slurm's is a number."""
    return harmless(device if device.startswith(("GPU-", "MIG-")) else f"GPU {device}")


def _figures_table(attempt: Attempt) -> Table:
    """For each resource: the amount given, the amount used, and why that amount was chosen."""
    launch, usage = attempt.launch, attempt.outcome.usage if attempt.outcome else Usage()
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(no_wrap=True, justify="right")
    table.add_column()
    table.add_row("", *(Text(name, style="dim") for name in ("given", "used", "why that much")))
    order = [resource for resource in _NAMES if resource in launch.why]
    for resource in [*order, *(other for other in launch.why if other not in _NAMES)]:
        given, why = launch.resources[resource], launch.why[resource]
        table.add_row(
            Text(f"  {_NAMES.get(resource, resource)}"),
            "no limit" if given is None else amount(resource, given),
            used_words(resource, usage.peak(resource)),
            _reason(why, _may_use(launch, resource)),
        )
    if usage.cpu_s:
        average = f", {usage.cores_average.value:.2g} cores on average" if usage.cores_average else ""
        note = f"measured by {usage.method}" if usage.method else ""
        about = Text(f"{note}{average}".lstrip(", "), style="dim")
        table.add_row(Text("  CPU"), "", used_words("cpu_s", usage.cpu_s), about)
    if usage.gpu_memory_bytes:
        busy = f"{usage.gpus_average.value:.2g} GPUs busy on average" if usage.gpus_average else ""
        about = Text(busy if usage.gpu_memory_bytes.value else "it never used a GPU", style="dim")
        table.add_row(Text("  GPU memory"), "", used_words("gpu_memory_bytes", usage.gpu_memory_bytes), about)
    return table


def used_words(resource: str, measured: Measured | None) -> str:
    """The amount used with a mark for its precision (`≈`, `≥`, `≤`); empty if not measured."""
    return f"{_MARKS[measured.quality]}{amount(resource, measured.value)}" if measured else ""


def _may_use(launch: Launch, resource: str) -> str:
    """What an attempt may use of a resource beyond what is held for it; empty if nothing."""
    most = launch.ceiling[resource] if launch.ceiling else None
    lent = most is not None and most > (launch.resources[resource] or 0)
    return f"it may use {amount(resource, most or 0)}, since no other task needs that\n" if lent else ""


def _reason(why: Why, note: str) -> Text:
    figures = f": {_figures(why)}" if why.figures else ""
    text = f"{harmless(why.text)}\n" if why.text else ""
    return Text.assemble(text, note, (f"{why.policy}, {why.rule}{figures}", "dim"))


def _figures(why: Why) -> str:
    return ", ".join(f"{name} {_figure(name, value)}" for name, value in why.figures.items() if value != "")


def _figure(name: str, value: Figure) -> str:
    """A figure in short form; `--json` has all digits."""
    if value is None:
        return "none"
    if isinstance(value, str):
        return harmless(value)
    times = "·s" if name == "fine" and value else ""  # an amount held for a time
    return (amount("_bytes", value) if value >= 1e5 else f"{value:g}") + times
