"""The page of all settings: key of the file, option, environment variable."""

from __future__ import annotations

import inspect
import re

import click

from headway.api.settings import SETTINGS, Setting, variable_of
from headway.cli.main import cli
from headway.clusters.slurm.options import SlurmOptions

_BATCH = "batch."


def page() -> str:
    """Return the page, in the order of the settings table in the code."""
    run = cli.get_command(click.Context(cli), "run")
    options = {each.name: each for each in run.params if isinstance(each, click.Option)} if run else {}
    comments = dict(re.findall(r"^    (\w+): .*?#\s+(.*)$", inspect.getsource(SlurmOptions), re.MULTILINE))
    lines = [
        "# Settings",
        "",
        "A setting can stand in `headway.toml`, in an environment variable, or be an option of the command line.",
        "[Settings](../command-line.md#settings) says which of them outranks the others, and shows a whole file.",
        "",
        "| key of `headway.toml` | option | variable | meaning |",
        "|---|---|---|---|",
    ]
    for key, setting in SETTINGS.items():
        name = setting.field.removeprefix(_BATCH)
        option = options.get(name)
        about = (option.help or "") if option else comments.get(name, "")
        shown = f"`{max(option.opts, key=len)}`" if option else "none"
        lines.append(f"| {_of_file(key, setting)} | {shown} | `{variable_of(key)}` | {_cell(about)} |")
    return "\n".join([*lines, ""])


def _of_file(key: str, setting: Setting) -> str:
    return f"`{key}`" if setting.from_file else "none"


def _cell(text: str) -> str:
    text = " ".join(text.replace("|", "\\|").split())
    return text[:1].upper() + text[1:].rstrip(".") + "."
