"""`headway reproduce rl`: Zunker 2021."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headway.model.errors import InputError
from headway_papers.cli.shared import make_folder, present, study_options

_WORLDS, _FULL_WORLDS = 2, 10


@click.command("rl")
@click.option("--real", is_flag=True, help="Repeat examples/match and examples/power on this machine instead.")
@click.option("--nextflow", is_flag=True, help="With --real: a small pipeline in the Nextflow on the PATH instead.")
@click.option(
    "--full", is_flag=True, help=f"{_FULL_WORLDS} worlds, and variants of the agents: hours. By default {_WORLDS}."
)
@click.option("--worlds", type=click.IntRange(min=1), metavar="N", help="N worlds of each pipeline instead.")
@click.option("--variants", is_flag=True, help="Also other readings of the agents, and ours with stated cores.")
@click.option(
    "--examples",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("examples"),
    metavar="DIR",
    help="With --real: the folder of match and power; by default ./examples.",
)
@click.option("--runs", type=click.IntRange(min=2), metavar="N", help="With --real: at most N runs each (20).")
@click.option("--small", is_flag=True, help="With --real: less data, so that a run takes seconds.")
@study_options
def command(
    real: bool,
    nextflow: bool,
    full: bool,
    worlds: int | None,
    variants: bool,
    examples: Path,
    runs: int | None,
    small: bool,
    seed: int,
    processes: int | None,
    out: Path | None,
    **_shown: Any,
) -> int:
    """Run chapter 5 of "Using Reinforcement Learning to Size Tasks for Scientific Workflows" (Zunker 2021) again.

    Gradient bandits, Q-learning, the feedback loop, the pipelines' own configuration, and ours: 32 cores and 125 GB,
    five pipelines whose tasks are drawn from Nextflow traces, run time against cores by Amdahl's law. Figures 5.1 to
    5.4 as tables, and each statement of the thesis beside ours, with intervals.

    Traces are looked for in the folder that the environment variable HEADWAY_DATA names; without them the pipelines are
    generated.

    \b
    Examples:
      headway reproduce rl
      headway reproduce rl --full --out rl       # hours; after Ctrl-C the same command continues
      headway reproduce rl --real --examples examples
      headway reproduce rl --real --nextflow --out rl
    """
    if full and worlds is not None:
        raise InputError("--full has its own number of worlds", where="--worlds", todo="leave out one of the two")
    if not real and (nextflow or runs is not None or small):
        raise InputError("--nextflow, --runs and --small are for --real", todo="add --real, or leave them out")
    make_folder(out)
    if nextflow:
        return _in_nextflow(runs, small, seed, out)
    if real:
        from headway_papers.rl.real import MOST_RUNS, real_document, real_report, real_runs

        def tell(words: str) -> None:
            click.echo(words, err=True)

        courses = real_runs(examples, runs or MOST_RUNS, small=small, seed=seed, tell=tell)
        return present(courses, lambda found: real_report(found, seed), real_document, "rl-real")

    from headway.cli.output import warn
    from headway.cli.study_progress import study_progress
    from headway_papers.rl.pipelines import find_pipelines
    from headway_papers.rl.report import document, report
    from headway_papers.rl.study import Asked, run_study

    for sentence in find_pipelines().missing:
        warn(sentence)
    asked = Asked(worlds or (_FULL_WORLDS if full else _WORLDS), seed, variants or full)
    with study_progress(kept=out is not None) as show:
        results = run_study(asked, None if out is None else out / "courses.jsonl", processes, show)
    return present(results, report, document, "rl")


def _in_nextflow(runs: int | None, small: bool, seed: int, out: Path | None) -> int:
    from headway.cli.study_progress import study_progress
    from headway_papers.rl.nextflow import nextflow_runs
    from headway_papers.rl.nextflow_report import nextflow_document, nextflow_report
    from headway_papers.rl.real import MOST_RUNS

    with study_progress(kept=out is not None, doing="running") as show:
        courses = nextflow_runs(runs or MOST_RUNS, small=small, seed=seed, out=out, tell=show)
    return present(courses, nextflow_report, nextflow_document, "rl-nextflow")
