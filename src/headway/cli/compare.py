"""`headway compare`: plans x workflows x logs x starts through simulated queues, on all cores."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from headway.cli.options import SPAN, json_option
from headway.model.errors import InputError, SiteError

if TYPE_CHECKING:
    from headway.studies.queues import Queue
    from headway.studies.runs import Run

_LISTS = ("--traces", "--workflows", "--plans", "--again")
_USUAL_STARTS = 10
_USUAL_REFERENCE = "one-job-per-task"  # what most people do
_BOTH = ("accurate", "real")


class _ListsCommand(click.Command):
    """Options that take all words up to the next option, so that a shell's `*.dax` can stand behind one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        listing = ""
        for arg in args:
            if arg.startswith("-"):
                listing = arg if arg in _LISTS else ""
                if not listing:
                    spread.append(arg)
            else:
                spread += [listing, arg] if listing else [arg]
        return super().parse_args(ctx, spread)


def _commas(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for value in values for part in value.split(",") if part.strip()))


def _file(words: str, name: str, metavar: str) -> Callable[[Any], Any]:
    path = click.Path(exists=True, dir_okay=False)
    return click.option(name, multiple=True, required=True, type=path, metavar=metavar, help=words)


def _choice(name: str, choices: Iterable[str], default: str, words: str) -> Callable[[Any], Any]:
    return click.option(name, type=click.Choice(list(choices)), default=default, show_default=True, help=words)


@click.command("compare", cls=_ListsCommand, short_help="Compare plans on many workflows, queues and starts.")
@_file("Logs of batch systems.", "--traces", "TRACE...")
@_file("Recorded workflows: WfFormat, Pegasus DAX.", "--workflows", "W...")
@click.option("--plans", multiple=True, callback=_commas, metavar="P...", help="By default all: `headway policies`.")
@click.option(
    "--reference", metavar="P", help=f"The plan that others are measured by; {_USUAL_REFERENCE} if it is there."
)
@click.option("--starts", type=click.IntRange(min=1), metavar="N", help=f"In each log; {_USUAL_STARTS} by default.")
@click.option("--every", type=SPAN, metavar="T", help="Instead: from the warm-up on, one every T.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="For all draws.")
@click.option("--warm-up", type=SPAN, default="7d", show_default=True, metavar="T", help="Before the first start.")
@_choice("--requests", ["real", "accurate", "both"], "real", "What the queue is told of run times.")
@_choice("--backfill", ["fcfs", "easy", "conservative"], "easy", "As for `headway simulate`.")
@_choice("--nodes", ["counts", "ids", "contiguous"], "counts", "As for `headway simulate`.")
@_choice("--rules", ["pyss", "batsched"], "pyss", "As for `headway simulate`.")
@_choice("--cancelled", ["drop", "full-request", "one-second"], "drop", "As for `headway simulate`.")
@_choice("--dependency", ["slurm", "reserved"], "slurm", "What a job that waits for another's end holds meanwhile.")
@click.option("--machine", type=click.IntRange(min=1), metavar="N", help="Nodes, if not as many as the logs say.")
@click.option("--skip-bad", is_flag=True, help="Leave out lines and jobs of the logs that cannot be.")
@click.option("--most-jobs", type=click.IntRange(min=1), metavar="N", help="That a workflow may have in the queue.")
@click.option("--processes", type=click.IntRange(min=1), metavar="N", help="That work; by default one a core.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="For results; what is there already is not run again.",
)
@click.option("--again", multiple=True, callback=_commas, metavar="P...", help="Forget what DIR knows of these plans.")
@json_option
def command(out: Path, as_json: bool, **options: Any) -> int:
    """Put every workflow through every log's queue, from many starts, under every plan, and say which plan is best.

    Results are appended to DIR/runs.csv as they come. Interrupted, the same command goes on; with more starts, plans or
    workflows it runs what is missing. DIR gets summary.json and compare.html too, and runs.parquet where pyarrow is
    installed.

    \b
    Examples:
      headway compare --traces KTH-SP2.swf.gz --workflows *.dax --out study
      headway compare --traces *.swf.gz --workflows montage.json --plans headway one-job --starts 100 --out study
      headway compare --traces log.swf --workflows w.dax --every 12h --most-jobs 16 --out study --json | jq .overall
    """
    if options["starts"] is not None and options["every"] is not None:
        raise InputError("--starts and --every exclude each other", where="--every", todo="leave out one of the two")
    plans, reference = _plans(options)
    for what in ("traces", "workflows"):
        _check_names(options[what], f"--{what}")

    from headway.cli.output import console_for, print_json
    from headway.cli.study_progress import study_progress
    from headway.report.saying import say, show
    from headway.studies.ledger import Ledger, write_parquet
    from headway.studies.page import page
    from headway.studies.study import study
    from headway.studies.summary import summary_of
    from headway.studies.tables import lines_of

    runs = list(_runs(options, plans))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SiteError(f"cannot make this folder: {error.strerror}", where=str(out)) from error
    ledger = Ledger(out / "runs.csv", options["again"])
    try:
        with study_progress(kept=True) as tell:
            rows = study(runs, ledger, options["processes"], tell)
    finally:
        ledger.close()
    summary = summary_of(rows, reference)
    settings = _settings(options, len(rows))
    document = _document(summary, options, len(rows))
    _write(out / "summary.json", json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    _write(out / "compare.html", page(summary, settings))
    write_parquet(ledger.rows.values(), out / "runs.parquet")
    if as_json:
        print_json(document)
        return 0
    console = console_for()
    for sentence in settings:
        say(console, sentence, "dim")
    console.print()
    for line, laid_out in lines_of(summary, console.width):
        (show if laid_out else say)(console, line)
    return 0


def _plans(options: dict[str, Any]) -> tuple[list[str], str]:
    """The plans that take part, and the one that the others are measured by."""
    from headway.planning import PLANS
    from headway.studies.plans import CODED

    for name in (*options["plans"], *options["again"], *filter(None, [options["reference"]])):
        if name not in PLANS and name not in CODED:
            from headway.cli.nearest import nearest

            todo = nearest(name, sorted([*PLANS, *CODED]), otherwise="there are")
            raise InputError(f"there is no plan called {name!r}", where="--plans", todo=todo)
    plans = list(options["plans"] or PLANS)
    usual = _USUAL_REFERENCE if _USUAL_REFERENCE in plans else plans[0]
    reference = options["reference"] or usual
    return list(dict.fromkeys([*plans, reference])), reference


def _check_names(files: tuple[str, ...], where: str) -> None:
    from headway.studies.queues import named

    seen: dict[str, str] = {}
    for file in files:
        other = seen.setdefault(named(file), file)
        if other != file:
            todo = "give one of them another name: results are found by it"
            raise InputError(f"{other} and {file} have the same name", where=where, todo=todo)


def _queues(options: dict[str, Any]) -> Iterable[Queue]:
    from headway.studies.queues import Queue

    names = ("cancelled", "machine", "skip_bad", "backfill", "nodes", "rules", "dependency", "most_jobs")
    asked: str = options["requests"]
    for trace in dict.fromkeys(options["traces"]):
        for requests in _BOTH if asked == "both" else (asked,):
            told: Literal["accurate", "real"] = "accurate" if requests == "accurate" else "real"
            yield Queue(trace, told, **{name: options[name] for name in names})


def _runs(options: dict[str, Any], plans: list[str]) -> Iterable[Run]:
    from headway.studies.runs import Run, instance_of
    from headway.studies.starts import bounds, every, spread

    workflows = list(dict.fromkeys(options["workflows"]))
    for workflow in workflows:
        instance_of(workflow)  # what is wrong with one is said before hours of work
    for queue in _queues(options):
        first_s, last_s = bounds(queue.trace, float(queue.jobs().submit_s[-1]), options["warm_up"])
        if options["every"] is not None:
            starts = every(first_s, last_s, options["every"])
        else:
            starts = spread(queue.name, first_s, last_s, options["starts"] or _USUAL_STARTS, options["seed"])
        for start_s in starts:
            for workflow in workflows:
                for plan in plans:
                    yield Run(queue, workflow, start_s, plan, options["seed"])


def _settings(options: dict[str, Any], runs: int) -> list[str]:
    from headway.report.words import count

    cap = options["most_jobs"]
    limit = f"at most {count(cap, 'job')} at a time" if cap else "any number of jobs"
    return [
        f"{count(runs, 'run')}: {count(len(options['workflows']), 'workflow')}, "
        f"{count(len(options['traces']), 'log')}; {options['backfill']} backfilling, "
        f"nodes: {options['nodes']}, rules of {options['rules']}, requests: "
        f"{options['requests']}, {limit}"
    ]


def _document(summary: Any, options: dict[str, Any], runs: int) -> dict[str, Any]:
    from msgspec import to_builtins

    asked = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    return {"asked": asked, "runs": runs, **to_builtins(summary)}


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SiteError(f"cannot write this: {error.strerror}", where=str(path)) from error
    click.echo(f"wrote {path}", err=True)
