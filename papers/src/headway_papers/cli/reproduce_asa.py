"""`headway reproduce asa`: Figure 5 and Tables 1 and 2 of 000 run again, in simulated queues."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.options import json_option
from headway.model.errors import InputError


@click.command("asa")
@click.option("--full", is_flag=True, help="25 made-up logs for each machine and kind of queue; by default two.")
@click.option("--traces", type=click.IntRange(min=1), metavar="N", help="So many logs, instead.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="For logs and draws."
)
@click.option("--processes", type=click.IntRange(min=1), metavar="N", help="That work; by default one a core.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep results there, go on with what is there; JSON and a page too.",
)
@json_option
def command(full: bool, traces: int | None, seed: int, processes: int | None, out: Path | None, as_json: bool) -> int:
    """Run the experiments of ASA, the Adaptive Scheduling Algorithm (Souza et al.), again.

    Figure 5: how soon the learner knows a wait that changes, and its regret beside the appendix's bound. Tables 1 and
    2: three workflows on six geometries through simulated queues of two machines, as one big job, a job a stage, a job
    a stage asked for ahead (asa), and as the plan `headway` does it; makespans, waits, core-hours beside the paper's.

    \b
    Examples:
      headway reproduce asa
      headway reproduce asa --json | jq '.verdicts[] | [.passed, .about, .value]'
      headway reproduce asa --full --out asa      # Ctrl-C, and again, goes on
    """
    if full and traces is not None:
        raise InputError("--full has its own number of logs", where="--traces", todo="leave out one of the two")

    from msgspec import structs

    from headway.cli.study_progress import study_progress
    from headway_papers.asa.document import document
    from headway_papers.asa.experiment import FULL, QUICK, run_experiment
    from headway_papers.asa.ledger import Ledger
    from headway_papers.cli.study_results import make_folder, present

    size = FULL if full else QUICK if traces is None else structs.replace(QUICK, traces=traces)
    make_folder(out)
    with study_progress(kept=out is not None) as tell:
        results = run_experiment(size, seed, Ledger(None if out is None else out / "units.jsonl"), processes, tell)
    from headway_papers.asa.page import page
    from headway_papers.asa.tables import lines_of

    present(results, document, lines_of, as_json=as_json, out=out, name="asa", page=page)
    return 0
