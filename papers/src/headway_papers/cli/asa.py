"""`headway reproduce asa`: Souza et al. 2020."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headway.model.errors import InputError
from headway_papers.cli.shared import make_folder, present, study_options


@click.command("asa")
@click.option("--full", is_flag=True, help="25 generated logs for each machine and kind of queue; by default two.")
@click.option("--traces", type=click.IntRange(min=1), metavar="N", help="N logs instead.")
@study_options
def command(full: bool, traces: int | None, seed: int, processes: int | None, out: Path | None, **_shown: Any) -> int:
    """Run the experiments of ASA, the Adaptive Scheduling Algorithm (Souza et al. 2020), again.

    Figure 5: how soon the learner knows a wait that changes, and its regret beside the appendix's bound. Tables 1 and
    2: three workflows with six numbers of cores, through simulated queues of two machines, as one big job, as a job a
    stage, as a job a stage submitted ahead (asa), and by the plan `headway`: makespans, waits, core-hours.

    \b
    Examples:
      headway reproduce asa
      headway reproduce asa --json | jq '.verdicts[] | [.passed, .about, .value]'
      headway reproduce asa --full --out asa      # after Ctrl-C the same command continues
    """
    if full and traces is not None:
        raise InputError("--full has its own number of logs", where="--traces", todo="leave out one of the two")

    from msgspec import structs

    from headway.cli.study_progress import study_progress
    from headway_papers.asa.report import document, report
    from headway_papers.asa.study import FULL, QUICK, run_study

    size = FULL if full else QUICK if traces is None else structs.replace(QUICK, traces=traces)
    make_folder(out)
    with study_progress(kept=out is not None) as tell:
        results = run_study(size, seed, None if out is None else out / "units.jsonl", processes, tell)
    return present(results, report, document, "asa")
