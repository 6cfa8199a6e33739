"""`headway reproduce bucketing`: Phung and Thain 2024."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headway.cli.options import SHARE
from headway.model.errors import InputError
from headway_papers.cli.shared import make_folder, present, study_options

_FULL_SEEDS = 3


@click.command("bucketing")
@click.option(
    "--full/--quick",
    default=False,
    help="All lags and times to failure, with three seeds (some minutes); by default some of them, with one seed.",
)
@click.option(
    "--tasks", type=click.IntRange(min=1), default=1000, show_default=True, metavar="N", help="Per generated workflow."
)
@click.option(
    "--failures",
    type=SHARE,
    default="3%",
    show_default=True,
    help="How many attempts `ladder` may let fail once a category is known; any: the row 'any failures' twice.",
)
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also write one HTML page, FILE."
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
@study_options
def command(
    full: bool,
    tasks: int,
    failures: float,
    html: Path | None,
    force: bool,
    seed: int,
    processes: int | None,
    out: Path | None,
    **_shown: Any,
) -> int:
    """Run Figures 5 and 6 and Table I of Phung and Thain, "Adaptive Task-Oriented Resource Allocation for Large Dynamic
    Workflows on Opportunistic Resources" (IPDPS 2024), again: seven allocators and ours, replayed on the logs of the
    paper's workflows and on generated ones.

    The logs are looked for in the folder that the environment variable HEADWAY_DATA names; without it only generated
    workflows are compared. docs/reproduce-bucketing.md explains what differs from the paper, and why.

    \b
    Examples:
      headway reproduce bucketing
      headway reproduce bucketing --failures any
      headway reproduce bucketing --full --html bucketing.html
      headway reproduce bucketing --json | jq '.verdicts[] | [.passed, .about]'
    """
    if html is not None and html.exists() and not force:
        raise InputError("this file exists", where=str(html), todo="--force overwrites it")
    if html is not None and not html.parent.is_dir():
        raise InputError("there is no such folder", where=str(html.parent), todo="make it, or name another FILE")

    from headway.cli.output import warn
    from headway.cli.study_progress import study_progress
    from headway_papers.bucketing.report import document, report
    from headway_papers.bucketing.study import run_study
    from headway_papers.bucketing.workflows import find_workflows

    seeds = list(range(seed, seed + (_FULL_SEEDS if full else 1)))
    found = find_workflows(seeds, tasks)
    for sentence in found.missing:
        warn(sentence)
    make_folder(out)
    with study_progress(kept=out is not None) as tell:
        path = None if out is None else out / "replays.jsonl"
        results = run_study(found, seeds, full=full, failures=failures, path=path, processes=processes, tell=tell)
    return present(results, report, document, "bucketing")
