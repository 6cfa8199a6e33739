"""`headway waits`: how well each model would have predicted the waits of a log's jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.cli.batch_options import batch_options, given, split_commas
from headway.cli.options import json_option
from headway.cli.output import console_for, print_json
from headway.cli.queue_progress import progress_bar

if TYPE_CHECKING:
    from headway.api.waits import WaitsResult


@click.command("waits", short_help="Show how well queue waits could have been predicted on a log of jobs.")
@click.argument("trace", metavar="TRACE")
@click.option("--models", callback=split_commas, metavar="A,B", help="Models to ask; by default all.")
@click.option(
    "--warm-up",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    metavar="DAYS",
    help="Models learn from jobs submitted in the first days, but are not scored on them.",
)
@batch_options(backfill="conservative")
@click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Also write one page.")
@click.option("--force", is_flag=True, help="Overwrite a FILE that exists.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, trace: str, as_json: bool, **options: Any) -> int:
    """Put the jobs of TRACE through a simulated batch queue, ask every model at each submission how long the job will
    wait, and score the answers.

    TRACE is as for `headway simulate`: a log in the Standard Workload Format or of Slurm's `sacct -P`, or the word
    lublin. Models: corrected-estimate, scheduler-estimate (the scheduler's own plan), quantile-bound, asa, asa-default,
    asa-greedy. They learn as they go: a wait becomes known when the job starts. docs/waits.md has the details.

    Errors and coverage are computed over the jobs that had to wait by the scheduler's plan.

    \b
    Examples:
      headway waits KTH-SP2.swf.gz
      headway waits KTH-SP2.swf.gz --models corrected-estimate,asa --requests accurate
      headway waits sacct.txt --backfill easy --warm-up 7 --html waits.html
      headway waits lublin --machine 256 --jobs 5000 --load 0.9 --seed 7 --json
    """
    from headway.api.waits import waits

    with progress_bar(trace, compiles=True) as tell:
        result = waits(progress=tell, **given(ctx))
    for file in result.files:
        click.echo(f"wrote {file}", err=True)
    if as_json:
        print_json(result.document())
    else:
        _print(result)
    return 0


def _print(result: WaitsResult) -> None:
    from rich.text import Text

    from headway.report.queue.waits import waits_headline, waits_table
    from headway.report.saying import say, show
    from headway.report.words import count, harmless

    console = console_for()
    title = Text.assemble((harmless(result.name), "bold"), f": {count(result.jobs, 'job')}")
    title.append(f" on {count(result.machine, 'node')}; {', '.join(result.words)}")
    say(console, title)
    console.print()
    say(console, waits_headline(result.models), "bold")
    console.print()
    for line in waits_table(result.models, console.width):
        show(console, line)
