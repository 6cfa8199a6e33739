"""`headway show`: a workflow's graph, in the terminal or as a picture."""

from __future__ import annotations

import sys
from typing import get_args

import click

from headway.api.show import Form, show
from headway.cli.options import json_option, option, set_option
from headway.cli.output import console_for
from headway.model.errors import InputError
from headway.report.graph.terminal import print_tree


@click.command("show", short_help="Show a workflow's graph: levels, widths, critical path.")
@click.argument("workflow", type=click.Path(), default="workflow.yaml")
@option("--format form", "tree (default), dot, svg or json.", type=click.Choice(get_args(Form)))
@option("--by", "Show single tasks, or categories.", type=click.Choice(["task", "category"]))
@option("--tasks", "Short for --by task.", is_flag=True)
@option("-o --output FILE", "Write the graph there.", type=click.Path())
@option("--force", "Overwrite FILE.", is_flag=True)
@set_option()
@json_option
def command(
    workflow: str,
    form: Form | None,
    by: str | None,
    tasks: bool,
    output: str | None,
    force: bool,
    set: dict[str, str],
    as_json: bool,
) -> int:
    """Show the graph of WORKFLOW (by default workflow.yaml): a file, or a directory with a workflow.yaml in it.

    Levels, widths and the critical path, by run times where an execution was recorded; then the categories along the
    flow, or every task. Pictures show single tasks if there are at most 300, otherwise categories.

    \b
    Examples:
      headway show
      headway show examples/mosaic --tasks
      headway show -o graph.svg            a picture; nothing else is needed for it
      headway show --format dot | dot -Tpdf -o graph.pdf
      headway show --json | jq .parallelism
    """
    if tasks and by == "category":
        raise InputError("--tasks and --by category contradict each other", todo="leave one out")
    if as_json and form not in (None, "json"):
        raise InputError(f"--json and --format {form} contradict each other", todo="leave one out")
    form = "json" if as_json else form
    result = show(workflow, by="task" if tasks else by, format=form, output=output, force=force, set=set)
    for file in result.files:
        click.echo(f"wrote {file}", err=True)
    if output is None and form in (None, "tree"):
        print_tree(console_for(), result.instance, result.shape, result.settings.by)
    elif output is None and form is not None:
        sys.stdout.writelines(f"{line}\n" for line in result.lines(form))
        sys.stdout.flush()
    return 0
