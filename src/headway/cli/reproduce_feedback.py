"""`headway reproduce feedback`: Figures 3 to 7 of 004 run again, in a simulated pool."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.options import json_option
from headway.model.errors import InputError, SiteError


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

    from headway.cli.output import console_for, print_json
    from headway.cli.study_progress import study_progress
    from headway.experiments.feedback.document import document
    from headway.experiments.feedback.experiment import FULL, QUICK, run_experiment
    from headway.experiments.feedback.ledger import Ledger

    count = FULL if full else QUICK if workflows is None else workflows
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SiteError(f"cannot make this folder: {error.strerror}", where=str(out)) from error
    ledger = Ledger(None if out is None else out / "workflows.jsonl")
    with study_progress(kept=out is not None) as tell:
        results = run_experiment(count, seed, ledger, processes, tell)
    if out is not None:
        import json

        from headway.experiments.feedback.page import page

        _write(out / "feedback.json", json.dumps(document(results), indent=2, ensure_ascii=False) + "\n")
        _write(out / "feedback.html", page(results))
    if as_json:
        print_json(document(results))
        return 0
    from headway.experiments.feedback.tables import lines_of
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
