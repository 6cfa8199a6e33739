"""`headway reproduce glume`: the GLUME thesis (2020)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headway.model.errors import InputError
from headway_papers.cli.shared import make_folder, present, study_options

_LIST = "separated by commas"


def _split(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for value in values for part in value.split(",") if part.strip()))


@click.command("glume")
@click.option("--as-published", is_flag=True, help="Only with the peculiarities of the thesis's simulator.")
@click.option("--clean", is_flag=True, help="Only without them, in four weeks of each log.")
@click.option("--full", is_flag=True, help="All 289 starts: about a million runs. By default two starts a workflow.")
@click.option("--starts", type=click.IntRange(min=1), metavar="N", help="N starts a workflow instead.")
@click.option("--plans", multiple=True, callback=_split, metavar="P", help=f"Only these plans, {_LIST}.")
@click.option("--workflows", multiple=True, callback=_split, metavar="W", help=f"Only these, as 'MONTAGE*', {_LIST}.")
@click.option("--logs", multiple=True, callback=_split, metavar="L", help=f"Only KTH or SDSC, {_LIST}.")
@click.option("--again", multiple=True, callback=_split, metavar="P", help="Discard the results of these plans in DIR.")
@study_options
def command(
    as_published: bool,
    clean: bool,
    full: bool,
    starts: int | None,
    plans: tuple[str, ...],
    workflows: tuple[str, ...],
    logs: tuple[str, ...],
    again: tuple[str, ...],
    seed: int,
    processes: int | None,
    out: Path | None,
    **_shown: Any,
) -> int:
    """Run chapters 5 and 7 of the GLUME thesis (2020) again: workflows through the queues of KTH and SDSC.

    Two modes, by default both: --as-published, as the thesis's simulator works, and --clean. Table 7.1, Figures 5.2,
    5.3, A.1 and 7.1 to 7.4 are printed beside ours, with intervals; and whether the plan `headway` is ahead of each of
    seven others in each of twelve cells.

    Logs and workflows are looked for in the folder that the environment variable HEADWAY_DATA names.

    \b
    Examples:
      headway reproduce glume
      headway reproduce glume --clean --plans headway,glume,one-job --starts 4 --workflows 'MONTAGE*'
      headway reproduce glume --full --out glume      # days; after Ctrl-C the same command continues
    """
    if full and starts is not None:
        raise InputError("--full has its own number of starts", where="--starts", todo="leave out one of the two")
    if again and out is None:
        raise InputError("without --out there are no earlier results", where="--again", todo="leave it out")

    from headway.cli.output import warn
    from headway.cli.study_progress import study_progress
    from headway.studies.ledger import Ledger
    from headway_papers.glume.modes import AS_PUBLISHED, CLEAN, FULL, MODES, QUICK, Asked, Size
    from headway_papers.glume.plans import check_plans
    from headway_papers.glume.report import document, report
    from headway_papers.glume.study import run_study
    from headway_papers.glume.workflows import find

    check_plans((*plans, *again))
    size = FULL if full else QUICK if starts is None else Size(starts, starts, starts)
    asked = Asked(find(workflows, logs), size, seed, plans)
    for sentence in asked.found.missing:
        warn(sentence)
    modes = [mode for mode, chosen in ((AS_PUBLISHED, as_published), (CLEAN, clean)) if chosen] or MODES
    make_folder(out)
    ledger = Ledger(None if out is None else out / "runs.csv", again)
    try:
        with study_progress(kept=out is not None) as tell:
            results = run_study(asked, modes, ledger, processes=processes, tell=tell)
    finally:
        ledger.close()
    return present(results, report, document, "glume")
