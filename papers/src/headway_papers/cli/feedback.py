"""`headway reproduce feedback`: Witt et al. 2019."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headway.model.errors import InputError
from headway_papers.cli.shared import make_folder, present, study_options


@click.command("feedback")
@click.option("--full", is_flag=True, help="100 workflows of each family, as in the paper; by default eight.")
@click.option("--workflows", type=click.IntRange(min=2), metavar="N", help="N workflows of each family instead.")
@study_options
def command(
    full: bool, workflows: int | None, seed: int, processes: int | None, out: Path | None, **_shown: Any
) -> int:
    """Run the experiments of "Feedback-Based Resource Allocation for Batch Scheduling of Scientific Workflows" (Witt,
    Wagner, Leser, HPCS 2019) again: which task first and how much memory, in a pool of 128 cores and 1,952 GB.

    Nine orders with ten predictors and users' estimates at three times to failure, on workflows of 1,000 tasks of five
    families: Figures 3 to 7, what the paper says beside what is found here, and whether any combination is better than
    our default on both memory allocation quality and makespan.

    \b
    Examples:
      headway reproduce feedback
      headway reproduce feedback --json | jq '.verdicts[] | [.passed, .about, .value]'
      headway reproduce feedback --full --out feedback      # after Ctrl-C the same command continues
    """
    if full and workflows is not None:
        raise InputError("--full has its own number of workflows", where="--workflows", todo="leave out one of the two")

    from headway.cli.study_progress import study_progress
    from headway_papers.feedback.report import document, report
    from headway_papers.feedback.study import FULL, QUICK, run_study

    count = FULL if full else QUICK if workflows is None else workflows
    make_folder(out)
    with study_progress(kept=out is not None) as tell:
        results = run_study(count, seed, None if out is None else out / "workflows.jsonl", processes, tell)
    return present(results, report, document, "feedback")
