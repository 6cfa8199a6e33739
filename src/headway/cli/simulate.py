"""`headway simulate`: what a batch queue would have done with a log of jobs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli.batch_options import (
    GENERATED,
    POLICY,
    batch_options,
    check_batch_options,
    jobs_from,
    scheduling_of,
    settings_of,
)
from headway.cli.options import SPAN, json_option
from headway.cli.whole_files import write_whole
from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.kernels.batch.queue import Scheduling
    from headway.model.batch_log import BatchJobs, Seconds
    from headway.report.queue.clock import Clock
    from headway.report.queue.page import QueuePage
    from headway.report.queue.summary import QueueSummary

_OUTPUT = click.Path(path_type=Path, dir_okay=False)


@click.command("simulate", short_help="Show what a batch queue would have done with a log of jobs.")
@click.argument("trace", metavar="TRACE")
@batch_options("easy")
@click.option("--starts", type=_OUTPUT, metavar="FILE", help="Write there when each job started, as CSV; .gz packs it.")
@click.option("--html", type=_OUTPUT, metavar="FILE", help="Also as one page, with pictures.")
@click.option("--window", metavar="DAY|FROM..TO", help="Of the page's schedule; by default the busiest day.")
@click.option("--workflow", type=_OUTPUT, metavar="W", help="Put this recorded workflow through the queue as well.")
@click.option("--plan", multiple=True, metavar="P", help="How; `headway policies` lists them. By default all of them.")
@click.option("--start", type=SPAN, metavar="T", help="When it begins: 8d, 36h; by default halfway.")
@click.option("--most-jobs", type=click.IntRange(min=1), metavar="N", help="That it may have in the queue at a time.")
@click.option("--journal", type=_OUTPUT, metavar="FILE", help="Write there what happened to it, a record a line.")
@click.option("--force", is_flag=True, help="Overwrite FILEs that exist.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, trace: str, as_json: bool, **options: Any) -> int:
    """Put the jobs of TRACE through a simulated batch queue, and say who would have waited how long.

    TRACE is a log in the Standard Workload Format or what Slurm's `sacct -P` prints, either also with .gz; or the word
    lublin, for jobs made up by the model of Lublin and Feitelson (a file of that name is ./lublin).

    With --workflow, a recorded workflow (WfFormat, Pegasus DAX) begins at T among the log's jobs, under each plan, and
    the answer is how long it would have taken.

    Every job is submitted when the log says, runs for as long as it did, and starts when the queue lets it. Bounded
    slowdown is (wait + run) / run, at least 1, with runs shorter than 10 s counted as 10 s. docs/simulate.md has the
    details.

    \b
    Examples:
      headway simulate KTH-SP2.swf.gz
      headway simulate KTH-SP2.swf.gz --backfill conservative --requests accurate
      headway simulate sacct.txt --machine 512 --html queue.html --window 2024-03-01
      headway simulate lublin --machine 256 --jobs 5000 --load 0.9 --seed 7
      headway simulate log.swf --starts starts.csv.gz --json | jq .waits.wait_s
      headway simulate log.swf --workflow montage.dax --start 8d --most-jobs 16
    """
    _check(ctx, trace, options)
    if options["workflow"] is not None:
        return _workflow(trace, options, as_json=as_json)
    jobs, header, said = jobs_from(trace, options)

    from headway.report.queue.clock import clock_of

    clock = clock_of(jobs.started_at, header)
    window = None
    if options["window"] is not None:
        from headway.report.queue.window import window_of

        window = window_of(options["window"], clock, "--window")
    start_s = _schedule(jobs, scheduling_of(options))

    from headway.report.queue.page import QueuePage
    from headway.report.queue.summary import curves_of, summary_of

    curves = curves_of(jobs, start_s)
    summary = summary_of(jobs, start_s, clock, curves)
    settings = settings_of(options, generated=trace == GENERATED)
    page = QueuePage(jobs, start_s, summary, curves, clock, settings, window)
    _write(options, page)
    if as_json:
        from msgspec import to_builtins

        from headway.cli.output import print_json

        policy = {name: options[name] for name in POLICY}
        asked = {"trace": trace, "policy": policy, **said, "started_at": jobs.started_at}
        print_json(asked | to_builtins(summary))
        return 0
    _print(summary, settings, clock)
    return 0


def _workflow(trace: str, options: dict[str, Any], *, as_json: bool) -> int:
    """The workflow's way through the queue, instead of the queue's own figures."""
    from headway.cli import through_queue
    from headway.simulation.batch import queue_of

    plans = through_queue.plans_of(options["plan"])
    instance = through_queue.instance_of(options["workflow"])
    jobs, _, said = jobs_from(trace, options)
    start_s = through_queue.start_of(options["start"], jobs)
    queue = queue_of(jobs, scheduling_of(options), options["most_jobs"])
    journals = through_queue.pass_through(queue, jobs, instance, plans, start_s)
    if options["journal"] is not None:
        from headway.model.records import encode

        write_whole(options["journal"], (f"{encode(record).decode()}\n" for it in journals.values() for record in it))
    if as_json:
        from headway.cli.output import print_json

        policy = {name: options[name] for name in POLICY}
        asked = {"trace": trace, "policy": policy, **said, "workflow": str(options["workflow"]), "start_s": start_s}
        print_json(asked | {"plans": through_queue.document(journals)})
        return 0
    settings = ", ".join(settings_of(options, generated=trace == GENERATED))
    through_queue.print_passages(journals, instance, start_s, f"{jobs.name} ({settings})")
    return 0


# --- what was asked for ---


def _check(ctx: click.Context, trace: str, options: dict[str, Any]) -> None:
    """All that can be known to be wrong before hours of work."""

    def given(name: str) -> bool:
        return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE

    generated = trace == GENERATED
    check_batch_options(ctx, trace, options)
    about_queue, about_workflow = ("starts", "html", "window"), ("plan", "start", "most_jobs", "journal")
    for name in about_queue if options["workflow"] is not None else about_workflow:
        if given(name):
            whom = "the queue alone" if name in about_queue else "a workflow"
            todo = "leave it out" if name in about_queue else "add --workflow W"
            raise InputError(f"this is for {whom}", where=f"--{name.replace('_', '-')}", todo=todo)
    if options["window"] is not None and options["html"] is None:
        raise InputError("this is for the page, and none is asked for", where="--window", todo="add --html FILE")
    outputs = [path for path in (options["starts"], options["html"], options["journal"]) if path is not None]
    for path in outputs:
        if path.exists() and not options["force"]:
            raise InputError("this file exists", where=str(path), todo="--force overwrites it")
        if not path.parent.is_dir():
            raise InputError("there is no such folder", where=str(path.parent), todo="make it, or name another FILE")
    inputs = [path for path in (None if generated else trace, options["workflow"]) if path is not None]
    names = [os.path.realpath(path) for path in (*outputs, *inputs)]
    if outputs and len(set(names)) < len(names):
        raise InputError("two of the files are the same", where=str(outputs[0]), todo="name another FILE")


# --- the work ---


def _schedule(jobs: BatchJobs, scheduling: Scheduling) -> Seconds:
    from headway.cli.queue_progress import queue_progress
    from headway.simulation.batch import schedule

    with queue_progress(jobs.name) as tell:
        return schedule(jobs, scheduling, lambda come: tell(jobs.name, come, len(jobs)))


# --- the answer ---


def _write(options: dict[str, Any], page: QueuePage) -> None:
    """The files that were asked for."""
    if page.window is not None:
        from headway.report.queue.window import check_window

        check_window(page.window, page.summary.span_s, page.clock, "--window")
    if options["starts"] is not None:
        from headway.report.queue.starts import starts_lines

        write_whole(options["starts"], starts_lines(page.jobs, page.start_s))
    if options["html"] is not None:
        write_whole(options["html"], [page.html()])


def _print(summary: QueueSummary, settings: list[str], clock: Clock) -> None:
    from rich.text import Text

    from headway.cli.output import console_for
    from headway.model.units import format_duration
    from headway.report.queue.table import hour_line, hour_table, size_table
    from headway.report.queue.words import headline, telling
    from headway.report.saying import say, show
    from headway.report.words import count, harmless

    console = console_for()
    title = Text.assemble((harmless(summary.name), "bold"), f": {count(summary.jobs, 'job')}")
    title.append(f" on {count(summary.machine, 'node')} in {format_duration(summary.span_s)}; {', '.join(settings)}")
    say(console, title)
    console.print()
    say(console, headline(summary), "bold")
    console.print()
    for about, words in telling(summary).items():
        say(console, Text.assemble((f"{about:<10}", "dim"), harmless(words)))
    console.print()
    for line in size_table(summary, console.width):
        show(console, line)
    console.print()
    for line in [*hour_table(summary, console.width), hour_line(summary)]:
        show(console, line)
    say(console, f"hours of {clock.zone_name}" if clock.dated else "hours since the first submission", "dim")
