"""`headway reproduce glume`: chapters 5 and 7 of 002 run again, and whether our plan is ahead of all of them."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.options import json_option
from headway.model.errors import InputError

_LIST = "may be several, separated by commas"


def _split(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for value in values for part in value.split(",") if part.strip()))


@click.command("glume")
@click.option("--as-published", is_flag=True, help="Only as the thesis's simulator did it.")
@click.option("--clean", is_flag=True, help="Only without its peculiarities, in four weeks of each log.")
@click.option("--full", is_flag=True, help="All 289 starts: about a million runs. By default a few starts a workflow.")
@click.option("--starts", type=click.IntRange(min=1), metavar="N", help="So many for each workflow, instead.")
@click.option("--plans", multiple=True, callback=_split, metavar="P", help=f"Only these; {_LIST}.")
@click.option("--workflows", multiple=True, callback=_split, metavar="W", help=f"Only these, as 'MONTAGE*'; {_LIST}.")
@click.option("--logs", multiple=True, callback=_split, metavar="L", help=f"Only KTH or SDSC; {_LIST}.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="For starts.")
@click.option("--processes", type=click.IntRange(min=1), metavar="N", help="That work; by default one a core.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep results there, go on with what is there; JSON and a page too.",
)
@click.option("--again", multiple=True, callback=_split, metavar="P", help="Forget what DIR knows of these plans.")
@json_option
def command(
    as_published: bool,
    clean: bool,
    full: bool,
    starts: int | None,
    plans: tuple[str, ...],
    workflows: tuple[str, ...],
    logs: tuple[str, ...],
    seed: int,
    processes: int | None,
    out: Path | None,
    again: tuple[str, ...],
    as_json: bool,
) -> int:
    """Run chapters 5 and 7 of GLUME's thesis (2020) again: workflows through the queues of KTH and SDSC.

    Two ways, by default both: --as-published, as the thesis's simulator did it, and --clean. Table 7.1, Figures 5.2,
    5.3, A.1 and 7.1 to 7.4 are printed beside ours, with intervals; and whether the plan `headway` is ahead of each of
    seven others in each of twelve cells.

    Logs and workflows are looked for in the folder that the environment variable HEADWAY_DATA names.

    \b
    Examples:
      headway reproduce glume
      headway reproduce glume --clean --plans headway,glume,one-job --starts 4 --workflows 'MONTAGE*'
      headway reproduce glume --full --out glume      # days; Ctrl-C, and again, goes on
    """
    if full and starts is not None:
        raise InputError("--full has its own number of starts", where="--starts", todo="leave out one of the two")
    if again and out is None:
        raise InputError("without --out nothing is known of earlier runs", where="--again", todo="leave it out")

    from headway.cli.output import warn
    from headway.cli.study_progress import study_progress
    from headway.studies.ledger import Ledger
    from headway_papers.cli.study_results import make_folder, present
    from headway_papers.glume.experiment import AS_PUBLISHED, CLEAN, MODES, run_experiment
    from headway_papers.glume.modes import FULL, QUICK, Asked, Size
    from headway_papers.glume.workflows import find

    _check_plans((*plans, *again))
    size = FULL if full else QUICK if starts is None else Size(starts, starts, starts)
    asked = Asked(find(workflows, logs), size, seed, plans)
    for sentence in asked.found.missing:
        warn(sentence)
    modes = [mode for mode, chosen in ((AS_PUBLISHED, as_published), (CLEAN, clean)) if chosen] or MODES
    make_folder(out)
    ledger = Ledger(None if out is None else out / "runs.csv", again)
    try:
        with study_progress(kept=out is not None) as tell:
            results = run_experiment(asked, modes, ledger, processes=processes, tell=tell)
    finally:
        ledger.close()

    from headway_papers.glume.document import document
    from headway_papers.glume.page import page
    from headway_papers.glume.tables import lines_of

    present(results, document, lines_of, as_json=as_json, out=out, name="glume", page=page)
    return 0


def _check_plans(names: tuple[str, ...]) -> None:
    from headway.planning import PLANS
    from headway.studies.plans import CODED

    for name in names:
        if name not in PLANS and name not in CODED:
            from headway.api.nearest import nearest

            todo = nearest(name, sorted([*PLANS, *CODED]), otherwise="there are")
            raise InputError(f"there is no plan called {name!r}", where="--plans", todo=todo)
