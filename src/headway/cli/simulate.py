"""`headway simulate`: what a batch queue would have done with a log of jobs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from headway.cli.options import SPAN, json_option
from headway.model.errors import InputError, SiteError

if TYPE_CHECKING:
    from headway.kernels.batch.queue import Scheduling
    from headway.model.batch_log import BatchJobs, Seconds
    from headway.report.queue_clock import Clock
    from headway.report.queue_page import QueuePage
    from headway.report.queue_summary import QueueSummary

_GENERATED = "lublin"
_POLICY = ("backfill", "nodes", "rules", "depth")
_ONLY_GENERATED = ("jobs", "load", "seed")
_ONLY_LOGS = ("processors", "cancelled", "overrun", "skip_bad")

_OUTPUT = click.Path(path_type=Path, dir_okay=False)

_BACKFILL = {
    "fcfs": "first come, first served",
    "easy": "EASY backfilling",
    "conservative": "conservative backfilling",
}
_NODES = {"counts": "nodes only counted", "ids": "nodes by name", "contiguous": "neighbouring nodes"}
_CANCELLED = {
    "full-request": "jobs that never ran take all they asked for",
    "one-second": "jobs that never ran take a second",
}


def _choice(name: str, choices: Iterable[str], default: str, words: str) -> Callable[[Any], Any]:
    return click.option(name, type=click.Choice(list(choices)), default=default, show_default=True, help=words)


@click.command("simulate", short_help="Show what a batch queue would have done with a log of jobs.")
@click.argument("trace", metavar="TRACE")
@_choice("--backfill", _BACKFILL, "easy", "Who may overtake: nobody; who does not delay the first; who delays nobody.")
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="K",
    help="With easy: how many waiting jobs have a reservation that others may not delay.",
)
@_choice("--nodes", _NODES, "counts", "Whether nodes are only counted, or each job holds certain ones, or neighbours.")
@_choice("--rules", ["pyss", "batsched"], "pyss", "Whose order of events at the same time.")
@_choice("--requests", ["real", "accurate"], "real", "What the queue is told of run times: the requests, or the truth.")
@_choice("--cancelled", ["drop", *_CANCELLED], "drop", "What becomes of jobs that never ran.")
@_choice("--processors", ["requested", "allocated"], "requested", "What says how wide a job is.")
@_choice("--overrun", ["extend", "kill"], "extend", "Who ran for longer than asked: asked for more, or ended in time.")
@click.option("--machine", type=click.IntRange(min=1), metavar="N", help="Nodes; by default the log's, lublin's 128.")
@click.option("--skip-bad", is_flag=True, help="Leave out, and count, lines and jobs that cannot be.")
@click.option("--jobs", type=click.IntRange(min=1), default=10_000, show_default=True, help="lublin: how many.")
@click.option("--load", type=float, default=0.8, show_default=True, help="lublin: the share of the machine they want.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="lublin: for the draws.")
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
    jobs, header, said = _jobs(trace, options)

    from headway.report.queue_clock import clock_of

    clock = clock_of(jobs.started_at, header)
    window = None
    if options["window"] is not None:
        from headway.report.queue_window import window_of

        window = window_of(options["window"], clock, "--window")
    start_s = _schedule(jobs, _scheduling(options))

    from headway.report.queue_page import QueuePage
    from headway.report.queue_summary import curves_of, summary_of

    curves = curves_of(jobs, start_s)
    summary = summary_of(jobs, start_s, clock, curves)
    settings = _settings(options, generated=trace == _GENERATED)
    page = QueuePage(jobs, start_s, summary, curves, clock, settings, window)
    _write(options, page)
    if as_json:
        from msgspec import to_builtins

        from headway.cli.output import print_json

        policy = {name: options[name] for name in _POLICY}
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
    jobs, _, said = _jobs(trace, options)
    start_s = through_queue.start_of(options["start"], jobs)
    queue = queue_of(jobs, _scheduling(options), options["most_jobs"])
    journals = through_queue.pass_through(queue, instance, plans, start_s)
    if options["journal"] is not None:
        from headway.model.records import encode

        write_whole(options["journal"], (f"{encode(record).decode()}\n" for it in journals.values() for record in it))
    if as_json:
        from headway.cli.output import print_json

        policy = {name: options[name] for name in _POLICY}
        asked = {"trace": trace, "policy": policy, **said, "workflow": str(options["workflow"]), "start_s": start_s}
        print_json(asked | {"plans": through_queue.document(journals)})
        return 0
    settings = ", ".join(_settings(options, generated=trace == _GENERATED))
    through_queue.print_passages(journals, instance, start_s, f"{jobs.name} ({settings})")
    return 0


# --- what was asked for ---


def _check(ctx: click.Context, trace: str, options: dict[str, Any]) -> None:
    """All that can be known to be wrong before hours of work."""

    def given(name: str) -> bool:
        return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE

    generated = trace == _GENERATED
    for name in _ONLY_LOGS if generated else _ONLY_GENERATED:
        if given(name):
            whom = "logs, and lublin is none" if generated else "jobs that are made up (lublin), and this is a log"
            raise InputError(f"this is for {whom}", where=f"--{name.replace('_', '-')}", todo="leave it out")
    if given("depth") and options["backfill"] != "easy":
        raise InputError("only --backfill easy has a depth", where="--depth", todo="leave it out")
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


def _scheduling(options: dict[str, Any]) -> Scheduling:
    from headway.kernels.batch.queue import Scheduling

    return Scheduling(**{name: options[name] for name in _POLICY})


def _jobs(trace: str, options: dict[str, Any]) -> tuple[BatchJobs, dict[str, str], dict[str, Any]]:
    """The jobs, the log's header, and for the document where they come from."""
    requests = options["requests"]
    if trace == _GENERATED:
        from headway.simulation.lublin import lublin

        model = {"machine": options["machine"] or 128, **{name: options[name] for name in _ONLY_GENERATED}}
        jobs = lublin(**model, requests="accurate" if requests == "accurate" else "estimated")
        return jobs, {}, {"generated": model | {"requests": requests}}
    from msgspec import to_builtins

    from headway.formats.read_batch_log import read_batch_log
    from headway.simulation.batch_jobs import Choices, jobs_of

    names = ("processors", "requests", "cancelled", "overrun", "machine", "skip_bad")
    choices = Choices(**{name: options[name] for name in names})
    log = read_batch_log(Path(trace), choices.skip_bad)
    return jobs_of(log, choices, trace), log.header, {"choices": to_builtins(choices)}


def _settings(options: dict[str, Any], *, generated: bool) -> list[str]:
    """How it is simulated, in words; what is as usual is not said."""
    depth = options["depth"]
    requests = "requests estimated" if generated else "requests as logged"
    said = [
        _BACKFILL[options["backfill"]] + (f" with {depth} reservations" if depth > 1 else ""),
        f"rules of {options['rules']}",
        _NODES[options["nodes"]],
        requests if options["requests"] == "real" else "requests accurate",
        _CANCELLED.get(options["cancelled"], ""),
        "widths as allocated" if options["processors"] == "allocated" else "",
        "jobs end with their request" if options["overrun"] == "kill" else "",
    ]
    return [words for words in said if words]


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
        from headway.report.queue_window import check_window

        check_window(page.window, page.summary.span_s, page.clock, "--window")
    if options["starts"] is not None:
        from headway.report.queue_starts import starts_lines

        write_whole(options["starts"], starts_lines(page.jobs, page.start_s))
    if options["html"] is not None:
        write_whole(options["html"], [page.html()])


def write_whole(path: Path, lines: Iterable[str]) -> None:
    """All of it or nothing: beside its place first, then moved there. Packed if the name ends in .gz."""
    place = Path(os.path.realpath(path))  # a link stays one
    unfinished = place.with_name(f".{place.name}.{os.getpid()}.unfinished")
    try:
        try:
            with unfinished.open("xb") as file:
                _pour(lines, file, packed=path.suffix.lower() == ".gz")
            unfinished.replace(place)
        except OSError as error:
            raise SiteError(f"cannot write this: {error.strerror}", where=str(path)) from error
    except BaseException:  # Ctrl-C, too
        with suppress(OSError):
            unfinished.unlink()
        raise
    click.echo(f"wrote {path}", err=True)


def _pour(lines: Iterable[str], file: BinaryIO, *, packed: bool) -> None:
    if not packed:
        file.writelines(line.encode("utf-8", errors="replace") for line in lines)
        return
    from gzip import GzipFile

    # Without name and time in it: the same schedule makes the same file.
    with GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packing:
        cast(BinaryIO, packing).writelines(line.encode() for line in lines)


def _print(summary: QueueSummary, settings: list[str], clock: Clock) -> None:
    from rich.text import Text

    from headway.cli.output import console_for
    from headway.model.units import format_duration
    from headway.report.queue_table import hour_line, hour_table, size_table
    from headway.report.queue_words import headline, telling
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
