"""`headway compare`: plans x workflows x logs x starts through simulated queues, on all cores."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import click
from rich.console import Console

from headway.api.compare import CompareResult, CompareSettings, compare
from headway.api.compare_pool import ComparePoolResult, compare_pool
from headway.cli.batch_options import NODE_OPTIONS, given, settings_options
from headway.cli.options import SPAN, answers, option
from headway.cli.queue_progress import ask_for_numba
from headway.cli.study_progress import study_progress
from headway.model.errors import InputError
from headway.report.saying import say, show

_LISTS = ("--traces", "--workflows", "--plans", "--again")
_LIST = {"multiple": True, "callback": lambda ctx, parameter, values: _split(values)}
_FILES = {"multiple": True, "required": True, "type": click.Path(exists=True, dir_okay=False)}
_AS_SIMULATE = "As for `headway simulate`."
_STARTS = {
    "--reference P": "The plan that others are measured by; one-job-per-task if it is there.",
    "--starts N": "In each log; 10 by default.",
    "--every T": "Instead: from the warm-up on, one every T. With --pool: from one workflow's arrival to the next.",
    "--seed N": "For all draws.",
}
_QUEUE = {
    "--requests": "What the scheduler is told of run times.",
    "--backfill": _AS_SIMULATE,
    **NODE_OPTIONS,
    "--rules": _AS_SIMULATE,
    "--cancelled": _AS_SIMULATE,
    "--dependency": "Whether a job that waits for another's end has a reservation.",
    "--machine N": "Nodes; by default as the logs say.",
    "--skip-bad": "Skip invalid lines and jobs of the logs.",
    "--most-jobs N": "Limit of a workflow's jobs in the queue.",
    "--processes N": "Processes; by default one a core.",
}


class _ListsCommand(click.Command):
    """A command whose list options take all words up to the next option, so that a shell's `*.dax` can follow one."""

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


def _split(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for value in values for part in value.split(",") if part.strip()))


def _print(console: Console, result: CompareResult | ComparePoolResult) -> None:
    say(console, *([result.words] if isinstance(result, ComparePoolResult) else result.words), "", style="dim")
    for line, laid_out in result.lines(console.width):
        (show if laid_out else say)(console, line)


@click.command("compare", cls=_ListsCommand, short_help="Compare plans on many workflows, queues and starts.")
@option("--traces TRACE...", "Logs of batch systems.", **_FILES)
@option("--workflows W...", "Recorded workflows: WfFormat, Pegasus DAX.", **_FILES)
@option("--plans P...", "By default all: `headway policies`.", **_LIST)
@settings_options(CompareSettings, _STARTS, every=SPAN)
@option("--warm-up T", "Before the first start.", type=SPAN, default="7d")
@settings_options(CompareSettings, _QUEUE)
@option(
    "--out DIR",
    "The folder of results, needed without --pool; runs that are in it already are not simulated again.",
    type=click.Path(file_okay=False),
)
@option("--again P...", "Forget DIR's results of these plans.", **_LIST)
@option("--pool", "Instead: one plan; the workflows arrive one after the other, in one pool and apart.", is_flag=True)
@option("--arrivals T", "With --pool: arrivals are drawn, T apart on average; 30m by default.", type=SPAN)
@answers(_print)
def command(pool: bool, **options: Any) -> CompareResult | ComparePoolResult:
    """Put every workflow through every log's queue, from many starts, under every plan, and say which plan is best.

    Results are appended to DIR/runs.csv as they come. After an interruption the same command continues; with more
    starts, plans or workflows it runs what is missing. It also writes DIR/summary.json and DIR/compare.html, and
    DIR/runs.parquet where pyarrow is installed.

    \b
    Examples:
      headway compare --traces KTH-SP2.swf.gz --workflows *.dax --out study
      headway compare --traces *.swf.gz --workflows montage.json --plans headway one-job --starts 100 --out study
      headway compare --traces log.swf --workflows w.dax --every 12h --most-jobs 16 --out study --json | jq .overall
      headway compare --pool --traces KTH-SP2.swf.gz --workflows *.json --arrivals 30m --starts 3
    """
    if find_spec("numba") is None:
        ask_for_numba()
    if pool:
        with study_progress() as tell:
            return compare_pool(progress=tell, **given("pool"))
    if options["out"] is None:
        raise InputError("no folder is named for the results", where="--out", todo="add, for example, `--out study`")
    if options["arrivals"] is not None:
        raise InputError("this is for pools", where="--arrivals", todo="add --pool")
    with study_progress(kept=True) as tell:
        return compare(progress=tell, **given("pool"))
