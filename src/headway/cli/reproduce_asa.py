"""`headway reproduce asa`: Figure 5 and Tables 1 and 2 of 000 run again, in simulated queues."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.options import json_option
from headway.model.errors import InputError, SiteError


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

    from headway.cli.output import console_for, print_json
    from headway.cli.study_progress import study_progress
    from headway.experiments.asa.document import document
    from headway.experiments.asa.experiment import FULL, QUICK, run_experiment
    from headway.experiments.asa.ledger import Ledger

    size = FULL if full else QUICK if traces is None else structs.replace(QUICK, traces=traces)
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SiteError(f"cannot make this folder: {error.strerror}", where=str(out)) from error
    with study_progress(kept=out is not None) as tell:
        results = run_experiment(size, seed, Ledger(None if out is None else out / "units.jsonl"), processes, tell)
    if out is not None:
        import json

        from headway.experiments.asa.page import page

        _write(out / "asa.json", json.dumps(document(results), indent=2, ensure_ascii=False) + "\n")
        _write(out / "asa.html", page(results))
    if as_json:
        print_json(document(results))
        return 0
    from headway.experiments.asa.tables import lines_of
    from headway.report.saying import say, show

    console = console_for()
    for line, laid_out in lines_of(results, console.width):
        (show if laid_out else say)(console, line)
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SiteError(f"cannot write this: {error.strerror}", where=str(path)) from error
    click.echo(f"wrote {path}", err=True)
