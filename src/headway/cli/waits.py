"""`headway waits`: how well each model would have predicted the waits of a log's jobs."""

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
from headway.cli.options import json_option
from headway.model.errors import InputError

if TYPE_CHECKING:
    from headway.model.batch_log import BatchJobs
    from headway.report.queue.waits_table import ModelScores
    from headway.waiting.base import WaitModel

_DAY_S = 86_400.0


@click.command("waits", short_help="Show how well queue waits could have been predicted on a log of jobs.")
@click.argument("trace", metavar="TRACE")
@click.option("--models", metavar="A,B", help="Which to ask; by default all.")
@click.option(
    "--warm-up",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    metavar="DAYS",
    help="Jobs submitted in the first days only teach; they do not count.",
)
@batch_options(backfill="conservative")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also as one page.")
@click.option("--force", is_flag=True, help="Overwrite a FILE that exists.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, trace: str, as_json: bool, **options: Any) -> int:
    """Put the jobs of TRACE through a simulated batch queue, ask every model at each submission how long the job will
    wait, and say how right they were.

    TRACE is as for `headway simulate`: a log in the Standard Workload Format or of Slurm's `sacct -P`, or the word
    lublin. Models: corrected-estimate, scheduler-estimate (the queue's own plan), quantile-bound, asa, asa-default,
    asa-greedy. They learn as they go: a wait becomes known when the job starts. docs/waits.md has the details.

    Errors and coverage are those of the jobs that the plan made wait; a job that can start at once is no question.

    \b
    Examples:
      headway waits KTH-SP2.swf.gz
      headway waits KTH-SP2.swf.gz --models corrected-estimate,asa --requests accurate
      headway waits sacct.txt --backfill easy --warm-up 7 --html waits.html
      headway waits lublin --machine 256 --jobs 5000 --load 0.9 --seed 7 --json
    """
    check_batch_options(ctx, trace, options, also=["seed"])
    _check_page(options["html"], trace, force=options["force"])
    models = _chosen(options["models"])
    jobs, _, said = jobs_from(trace, options)
    scored = _scored(jobs, models, options)
    settings = settings_of(options, generated=trace == GENERATED)
    if options["html"] is not None:
        from headway.cli.whole_files import write_whole
        from headway.report.queue.waits_page import WaitsPage

        write_whole(options["html"], [WaitsPage(jobs.name, jobs.machine, settings, scored).html()])
    if as_json:
        from msgspec import to_builtins

        from headway.cli.output import print_json

        asked = {"trace": trace, "policy": {name: options[name] for name in POLICY}, **said}
        figures = {"name": jobs.name, "machine": jobs.machine, "jobs": len(jobs)}
        learning = {"warm_up_days": options["warm_up"], "seed": options["seed"]}
        print_json(asked | figures | learning | {"models": [to_builtins(row) for row in scored]})
        return 0
    _print(jobs, settings, scored)
    return 0


def _check_page(path: Path | None, trace: str, *, force: bool) -> None:
    if path is None:
        return
    if path.exists() and not force:
        raise InputError("this file exists", where=str(path), todo="--force overwrites it")
    if not path.parent.is_dir():
        raise InputError("there is no such folder", where=str(path.parent), todo="make it, or name another FILE")
    if trace != GENERATED and os.path.realpath(path) == os.path.realpath(trace):
        raise InputError("this is the log itself", where=str(path), todo="name another FILE")


def _chosen(names: str | None) -> list[WaitModel]:
    from headway.waiting import WAITS

    if names is None:
        return [model() for model in WAITS.values()]
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not wanted:
        raise InputError(
            "no model is named", where="--models", todo="write for example --models corrected-estimate,asa"
        )
    for name in wanted:
        if name not in WAITS:
            from headway.cli.nearest import nearest

            todo = nearest(name, sorted(WAITS), otherwise="there are")
            raise InputError(f"there is no model of waits called {name!r}", where="--models", todo=todo)
    return [WAITS[name]() for name in wanted]


def _scored(jobs: BatchJobs, models: list[WaitModel], options: dict[str, Any]) -> list[ModelScores]:
    from headway.cli.queue_progress import queue_progress
    from headway.report.queue.waits_table import ModelScores
    from headway.simulation.wait_scores import ask, score, those_to_wait, waits_of

    warm_up_s = options["warm_up"] * _DAY_S
    rows = []
    with queue_progress(jobs.name) as tell:
        waits = waits_of(jobs, scheduling_of(options), lambda come: tell(jobs.name, come, len(jobs)))
        to_wait, everybody = those_to_wait(waits, warm_up_s), jobs.submit_s >= warm_up_s
        if not to_wait.any():
            raise InputError(
                "no job has to wait in this queue" if warm_up_s == 0 else "no job has to wait after the warm-up",
                where=jobs.name,
                todo="choose a smaller --machine, a higher --load or a shorter --warm-up",
            )
        for model in models:
            name = model.name
            answers = ask(model, waits, options["seed"], lambda come, name=name: tell(name, come, len(jobs)))  # type: ignore[misc]
            found = (score(name, answers, waits, counted) for counted in (to_wait, everybody))
            rows.append(ModelScores(*(each for each in found if each is not None)))
    return rows


def _print(jobs: BatchJobs, settings: list[str], scored: list[ModelScores]) -> None:
    from rich.text import Text

    from headway.cli.output import console_for
    from headway.report.queue.waits_table import waits_headline, waits_table
    from headway.report.saying import say, show
    from headway.report.words import count, harmless

    console = console_for()
    title = Text.assemble((harmless(jobs.name), "bold"), f": {count(len(jobs), 'job')}")
    title.append(f" on {count(jobs.machine, 'node')}; {', '.join(settings)}")
    say(console, title)
    console.print()
    say(console, waits_headline(scored), "bold")
    console.print()
    for line in waits_table(scored, console.width):
        show(console, line)
