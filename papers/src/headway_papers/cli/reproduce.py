"""`headway reproduce`: a paper's experiment run again, its figures beside ours."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import click

from headway.cli.options import json_option
from headway.model.errors import InputError, SiteError

_FULL_SEEDS = 3
# Each but the first has a file of its own, imported when it is used.
_EXPERIMENTS = {
    "bucketing": "001: seven allocators and ours on logs of tasks.",
    "asa": "000: stages asked for ahead of time, through simulated queues.",
    "glume": "002: grouping levels into jobs, through the queues of KTH and SDSC.",
    "feedback": "004: which task first and how much memory, in a simulated pool.",
    "rl": "003: agents that choose cores and memory, simulated and for real.",
}


class _Experiments(click.Group):
    """Knows the papers' experiments without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_EXPERIMENTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "bucketing":
            return bucketing
        if cmd_name not in _EXPERIMENTS:
            return None
        found: click.Command = import_module(f"headway_papers.cli.reproduce_{cmd_name}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Experiments"):
            formatter.write_dl(list(_EXPERIMENTS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _EXPERIMENTS and not args[0].startswith("-"):
            known = ", ".join(map(repr, _EXPERIMENTS))
            raise click.UsageError(f"there is no experiment {args[0]!r}; there are {known}", ctx)
        return super().resolve_command(ctx, args)


@click.group("reproduce", cls=_Experiments, short_help="Run a paper's tables again, beside ours.")
def command() -> None:
    """Run a paper's experiment again with what Headway has, and print its figures beside ours.

    Each has options of its own (headway reproduce glume --help), and all can answer in JSON (--json).
    docs/reproduce.md explains what differs from the papers, and why.

    \b
    Examples:
      headway reproduce bucketing
      headway reproduce glume --clean
      headway reproduce bucketing --json | jq '.verdicts[] | [.passed, .about]'
    """


@click.command("bucketing")
@click.option(
    "--full/--quick",
    default=False,
    help="All lags and times to failure, with three seeds (some minutes); by default some of them, with one seed.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="For draws; with --full the first of three.",
)
@click.option(
    "--tasks",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="In each generated workflow.",
)
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also as one page, with pictures."
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
@json_option
def bucketing(full: bool, seed: int, tasks: int, html: Path | None, force: bool, as_json: bool) -> int:
    """Figures 5 and 6 and Table I of Phung and Thain, "Adaptive Task-Oriented Resource Allocation for Large Dynamic
    Workflows on Opportunistic Resources", IPDPS 2024: seven allocators and ours, replayed on the logs of the paper's
    workflows and on generated ones.

    The logs are looked for in the folder that the environment variable HEADWAY_DATA names; without it only generated
    workflows are compared. docs/reproduce.md explains what differs from the paper, and why.

    \b
    Examples:
      headway reproduce bucketing
      headway reproduce bucketing --full --html bucketing.html
      headway reproduce bucketing --json | jq '.verdicts[] | [.passed, .about]'
    """
    if html is not None and html.exists() and not force:
        raise InputError("this file exists", where=str(html), todo="--force overwrites it")
    if html is not None and not html.parent.is_dir():
        raise InputError("there is no such folder", where=str(html.parent), todo="make it, or name another FILE")

    from headway.cli.output import print_json, warn
    from headway_papers.bucketing.experiment import run_experiment
    from headway_papers.bucketing.workflows import find_workflows

    seeds = list(range(seed, seed + (_FULL_SEEDS if full else 1)))
    found = find_workflows(seeds, tasks)
    for sentence in found.missing:
        warn(sentence)
    with _progress() as told:
        results = run_experiment(found, seeds, full=full, told=told)
    if html is not None:
        from headway_papers.bucketing.page import page

        try:
            html.write_text(page(results), encoding="utf-8")
        except OSError as error:
            raise SiteError(f"cannot write this: {error.strerror}", where=str(html)) from error
        click.echo(f"wrote {html}", err=True)
    if as_json:
        from headway_papers.bucketing.document import document

        print_json(document(results))
        return 0
    from headway.cli.output import console_for
    from headway.report.saying import say, show
    from headway_papers.bucketing.tables import lines_of

    console = console_for()
    for line, laid_out in lines_of(results, console.width):
        (show if laid_out else say)(console, line)
    return 0


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; in a log a line at every fifth of the work."""
    if not sys.stderr.isatty():
        said = 0

        def log(done: int, total: int) -> None:
            nonlocal said
            if done * 5 // total > said:
                said = done * 5 // total
                click.echo(f"{done:,} of {total:,} replays done", err=True)

        yield log
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("replaying", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
