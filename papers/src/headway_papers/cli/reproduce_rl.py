"""`headway reproduce rl`: 003's agents on made-up runs of measured pipelines, or on real runs of the examples."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.options import json_option
from headway.model.errors import InputError

_WORLDS, _FULL_WORLDS = 2, 10


@click.command("rl")
@click.option("--real", is_flag=True, help="Repeat examples/match and examples/power on this machine, instead.")
@click.option(
    "--full", is_flag=True, help=f"{_FULL_WORLDS} worlds, and variants of the agents: hours. By default {_WORLDS}."
)
@click.option("--worlds", type=click.IntRange(min=1), metavar="N", help="So many of each pipeline, instead.")
@click.option("--variants", is_flag=True, help="Also other readings of the agents, and ours with stated cores.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="For all draws.")
@click.option("--processes", type=click.IntRange(min=1), metavar="N", help="That work; by default one a core.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep results there, go on with what is there; JSON and a page too.",
)
@click.option(
    "--examples",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("examples"),
    metavar="DIR",
    help="With --real: where match and power lie; by default ./examples.",
)
@click.option(
    "--runs", type=click.IntRange(min=2), metavar="N", help="With --real: at most so many of each; default 20."
)
@click.option("--small", is_flag=True, help="With --real: less data, so that a run takes seconds.")
@json_option
def command(
    real: bool,
    full: bool,
    worlds: int | None,
    variants: bool,
    seed: int,
    processes: int | None,
    out: Path | None,
    examples: Path,
    runs: int | None,
    small: bool,
    as_json: bool,
) -> int:
    """Run chapter 5 of "Using Reinforcement Learning to Size Tasks for Scientific Workflows" (2021) again.

    Gradient bandits, Q-learning, the feedback loop, the pipelines' own configuration, and ours: 32 cores and 125 GB,
    five pipelines whose tasks are drawn from Nextflow traces, run time against cores by Amdahl's law. Figures 5.1 to
    5.4 as tables, and each statement of the thesis beside ours, with intervals.

    Traces are looked for in the folder that the environment variable HEADWAY_DATA names; without them pipelines are
    made up.

    \b
    Examples:
      headway reproduce rl
      headway reproduce rl --full --out rl       # hours; Ctrl-C, and again, goes on
      headway reproduce rl --real --examples examples
    """
    if full and worlds is not None:
        raise InputError("--full has its own number of worlds", where="--worlds", todo="leave out one of the two")
    if not real and (runs is not None or small):
        raise InputError("--runs and --small are for --real", todo="add --real, or leave them out")
    from headway_papers.cli.study_results import make_folder, present

    make_folder(out)
    if real:
        return _real(examples, runs, small, seed, out, as_json)
    from headway.cli.output import warn
    from headway.cli.study_progress import study_progress
    from headway_papers.rl.document import document
    from headway_papers.rl.experiment import Asked, run_experiment
    from headway_papers.rl.ledger import Ledger
    from headway_papers.rl.pipelines import find_pipelines

    for sentence in find_pipelines().missing:
        warn(sentence)
    asked = Asked(worlds or (_FULL_WORLDS if full else _WORLDS), seed, variants or full)
    ledger = Ledger(None if out is None else out / "courses.jsonl")
    with study_progress(kept=out is not None) as tell:
        results = run_experiment(asked, ledger, processes, tell)
    from headway_papers.rl.page import page
    from headway_papers.rl.tables import lines_of

    present(results, document, lines_of, as_json=as_json, out=out, name="rl", page=page)
    return 0


def _real(examples: Path, runs: int | None, small: bool, seed: int, out: Path | None, as_json: bool) -> int:
    from headway_papers.cli.study_results import present
    from headway_papers.rl.real import MOST_RUNS, real_document, real_lines, real_runs

    found = real_runs(
        examples, runs or MOST_RUNS, small=small, seed=seed, tell=lambda words: click.echo(words, err=True)
    )
    present(found, real_document, real_lines, as_json=as_json, out=out, name="rl-real")
    return 0
