"""`headway reproduce feedback`: Figures 3 to 7 of 004 run again, in a simulated pool."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.options import json_option
from headway.model.errors import InputError


@click.command("feedback")
@click.option("--full", is_flag=True, help="100 workflows of each family, as in the paper; by default eight.")
@click.option("--workflows", type=click.IntRange(min=2), metavar="N", help="So many of each family, instead.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="For workflows: others."
)
@click.option("--processes", type=click.IntRange(min=1), metavar="N", help="That work; by default one a core.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep results there, go on with what is there; JSON and a page too.",
)
@json_option
def command(
    full: bool, workflows: int | None, seed: int, processes: int | None, out: Path | None, as_json: bool
) -> int:
    """Run the experiments of "Feedback-Based Resource Allocation for Batch Scheduling of Scientific Workflows" (Witt,
    Wagner, Leser, HPCS 2019) again: which task first and how much memory, in a pool of 128 cores and 1,952 GB.

    Nine orders with ten predictors and users' estimates at three times to failure, on workflows of 1,000 tasks of five
    families; Figures 3 to 7, what the paper says beside what is found here, and whether any combination is better than
    our default on both memory allocation quality and makespan.

    \b
    Examples:
      headway reproduce feedback
      headway reproduce feedback --json | jq '.verdicts[] | [.passed, .about, .value]'
      headway reproduce feedback --full --out feedback      # Ctrl-C, and again, goes on
    """
    if full and workflows is not None:
        raise InputError("--full has its own number of workflows", where="--workflows", todo="leave out one of the two")

    from headway.cli.study_progress import study_progress
    from headway_papers.cli.study_results import make_folder, present
    from headway_papers.feedback.document import document
    from headway_papers.feedback.experiment import FULL, QUICK, run_experiment
    from headway_papers.feedback.ledger import Ledger

    count = FULL if full else QUICK if workflows is None else workflows
    make_folder(out)
    ledger = Ledger(None if out is None else out / "workflows.jsonl")
    with study_progress(kept=out is not None) as tell:
        results = run_experiment(count, seed, ledger, processes, tell)
    from headway_papers.feedback.page import page
    from headway_papers.feedback.tables import lines_of

    present(results, document, lines_of, as_json=as_json, out=out, name="feedback", page=page)
    return 0
