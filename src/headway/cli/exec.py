"""`headway exec`: run one command in a service. What is typed correctly never comes here: see `headway.__main__`."""

from __future__ import annotations

from typing import Any

import click

from headway.cli.options import COUNT, json_option, option
from headway.cli.output import print_json

_HINTS = {"cores": "cores", "memory": "memory_bytes", "disk": "disk_bytes", "time": "walltime_s", "gpus": "gpus"}
_WISHES = ("partition", "constraint", "account", "qos", "gpu-type")


@click.command(
    "exec",
    short_help="Run one command in a service, as srun would.",
    context_settings={"allow_interspersed_args": False},
)
@click.argument("argv", nargs=-1, required=True, metavar="COMMAND...")
@option("--category NAME", "Commands of one category learn from each other; by default the program's name.")
@option("--name NAME", "Its name within the category; by default a number.")
@option("--cores NUMBER", "It uses this many cores.")
@option("--memory SIZE", "It needs about this much memory, such as 2GB.")
@option("--disk SIZE", "It needs about this much disk.")
@option("--time TIME", "It takes about this long at most, such as 30m.")
@option("--gpus NUMBER", "It uses this many GPUs.")
@option("--partition NAMES", "Run it in jobs of these partitions only, in a service on Slurm.")
@option("--constraint FEATURES", "Run it on nodes with these features only.")
@option("--account NAME", "Run it in jobs of this account only.")
@option("--qos NAME", "Run it in jobs of this QOS only.")
@option("--gpu-type NAME", "Run it on GPUs of this type only; with --gpus.")
@option("--retries NUMBER", "Run it again this often if it fails.", type=int, default=0)
@option("--on-exhausted", "When it runs out of memory or time.", type=click.Choice(["retry", "return"]))
@option(
    "--in --service place",
    "The service's directory; by default the nearest one above, or $HEADWAY_SERVICE.",
    metavar="DIR",
)
@option("--stdin", "Give it all of standard input, also from a pipe; a file is passed on without.", is_flag=True)
@option("--keep", "Let it go on if this client dies; otherwise it is cancelled.", is_flag=True)
@option(
    "--wait wait_s",
    "Wait this long for a service that was killed to be started again.",
    type=COUNT,
    default=60,
    metavar="SECONDS",
)
@json_option
def command(argv: tuple[str, ...], place: str | None, as_json: bool, **given: Any) -> int:
    """Run COMMAND in the service that `headway service` started here, and exit as it does.

    It runs in this directory with this environment. Its output appears as it comes, signals are passed on, and the
    exit code is the command's: 128 and the signal's number if a signal ended it, 137 if it ran out of memory, 124 out
    of time, 125 if Headway could not run it. HEADWAY_CORES and HEADWAY_MEMORY_BYTES tell it what it may use;
    {cores} and {memory_mb} in its words are replaced.

    \b
    Examples:
      headway exec -- sort big.txt -o sorted.txt
      headway exec --memory 2GB --cores 4 -- ./align --threads {cores} sample1
      ls *.fa | xargs -P 50 -I{} headway exec --category align -- ./align {}
    """
    from headway.api.exec import execute

    amounts = {field: value for option_name, field in _HINTS.items() if (value := given.pop(option_name)) is not None}
    wish = {key: value for key in _WISHES if (value := given.pop(key.replace("-", "_"))) is not None}
    rest = {key: it for key, it in given.items() if it is not None}
    done = execute(argv, place or "", hints=amounts, wish=wish, **rest)
    if as_json:
        print_json(done.document())
    else:
        click.echo(done.stdout, nl=False)
        click.echo(done.stderr, nl=False, err=True)
    return done.exit_code
