"""`headway compare`: plans x workflows x logs x starts through simulated queues, on all cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from headway.api import queues
from headway.cli.batch_options import choice, given
from headway.cli.options import SPAN, json_option
from headway.cli.output import console_for, print_json
from headway.cli.study_progress import study_progress

if TYPE_CHECKING:
    from headway.api.compare import CompareResult

_LISTS = ("--traces", "--workflows", "--plans", "--again")
_AS_SIMULATE = "As for `headway simulate`."


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


def _commas(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for value in values for part in value.split(",") if part.strip()))


def _files(name: str, metavar: str, words: str) -> Callable[[Any], Any]:
    path = click.Path(exists=True, dir_okay=False)
    return click.option(name, multiple=True, required=True, type=path, metavar=metavar, help=words)


@click.command("compare", cls=_ListsCommand, short_help="Compare plans on many workflows, queues and starts.")
@_files("--traces", "TRACE...", "Logs of batch systems.")
@_files("--workflows", "W...", "Recorded workflows: WfFormat, Pegasus DAX.")
@click.option("--plans", multiple=True, callback=_commas, metavar="P...", help="By default all: `headway policies`.")
@click.option("--reference", metavar="P", help="The plan that others are measured by; one-job-per-task if it is there.")
@click.option("--starts", type=click.IntRange(min=1), metavar="N", help="In each log; 10 by default.")
@click.option("--every", type=SPAN, metavar="T", help="Instead: from the warm-up on, one every T.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="For all draws.")
@click.option("--warm-up", type=SPAN, default="7d", show_default=True, metavar="T", help="Before the first start.")
@choice("--requests", ["real", "accurate", "both"], "real", "What the scheduler is told of run times.")
@choice("--backfill", queues.Backfill, "easy", _AS_SIMULATE)
@choice("--nodes", queues.Nodes, "counts", _AS_SIMULATE)
@choice("--rules", queues.Rules, "pyss", _AS_SIMULATE)
@choice("--cancelled", queues.Cancelled, "drop", _AS_SIMULATE)
@choice("--dependency", ["slurm", "reserved"], "slurm", "Whether a job that waits for another's end has a reservation.")
@click.option("--machine", type=click.IntRange(min=1), metavar="N", help="Nodes; by default as the logs say.")
@click.option("--skip-bad", is_flag=True, help="Skip invalid lines and jobs of the logs.")
@click.option("--most-jobs", type=click.IntRange(min=1), metavar="N", help="Limit of a workflow's jobs in the queue.")
@click.option("--processes", type=click.IntRange(min=1), metavar="N", help="Processes; by default one a core.")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    required=True,
    metavar="DIR",
    help="The folder of results; runs that are in it already are not simulated again.",
)
@click.option("--again", multiple=True, callback=_commas, metavar="P...", help="Forget DIR's results of these plans.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, as_json: bool, **options: Any) -> int:
    """Put every workflow through every log's queue, from many starts, under every plan, and say which plan is best.

    Results are appended to DIR/runs.csv as they come. After an interruption the same command continues; with more
    starts, plans or workflows it runs what is missing. It also writes DIR/summary.json and DIR/compare.html, and
    DIR/runs.parquet where pyarrow is installed.

    \b
    Examples:
      headway compare --traces KTH-SP2.swf.gz --workflows *.dax --out study
      headway compare --traces *.swf.gz --workflows montage.json --plans headway one-job --starts 100 --out study
      headway compare --traces log.swf --workflows w.dax --every 12h --most-jobs 16 --out study --json | jq .overall
    """
    from headway.api.compare import compare

    with study_progress(kept=True) as tell:
        result = compare(progress=tell, **given(ctx))
    for file in result.files:
        click.echo(f"wrote {file}", err=True)
    if as_json:
        print_json(result.document())
    else:
        _print(result)
    return 0


def _print(result: CompareResult) -> None:
    from headway.report.saying import say, show

    console = console_for()
    for sentence in result.words:
        say(console, sentence, "dim")
    console.print()
    for line, laid_out in result.lines(console.width):
        (show if laid_out else say)(console, line)
