"""`headway show`: a workflow's graph, in the terminal or as a picture."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli.options import json_option
from headway.model.errors import InputError, SiteError

if TYPE_CHECKING:
    from rich.console import Console

    from headway.model.instance import Instance
    from headway.report.graph.picture import By
    from headway.report.graph.shape import GraphShape, Spread

_FORMATS = ("tree", "dot", "svg", "json")
_SUFFIXES = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".json": "json", ".txt": "tree"}


@click.command("show", short_help="Show a workflow's graph: levels, widths, critical path.")
@click.argument("workflow", type=click.Path(path_type=Path), default=Path("workflow.yaml"))
@click.option("--format", "form", type=click.Choice(_FORMATS), help="tree (default), dot, svg or json.")
@click.option("--by", type=click.Choice(["task", "category"]), help="What is shown: single tasks, or categories.")
@click.option("--tasks", is_flag=True, help="Short for --by task.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write it there.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@json_option
def command(
    workflow: Path, form: str | None, by: By | None, tasks: bool, output: Path | None, force: bool, as_json: bool
) -> int:
    """Show the graph of WORKFLOW (by default workflow.yaml): a file, or a directory with a workflow.yaml in it.

    Levels, widths and the critical path, by run times where an execution was recorded; then the categories along the
    flow, or every task. Pictures show tasks up to 300 of them, and categories beyond.

    \b
    Examples:
      headway show
      headway show examples/mosaic --tasks
      headway show -o graph.svg            a picture; nothing else is needed for it
      headway show --format dot | dot -Tpdf -o graph.pdf
      headway show --json | jq .parallelism
    """
    from headway.report.graph.shape import shape_of

    if tasks and by == "category":
        raise InputError("--tasks and --by category contradict each other", todo="leave one out")
    by = "task" if tasks else by
    form = _form(form, output, as_json=as_json)
    if output is not None and output.exists() and not force:
        raise InputError("this file exists", where=str(output), todo="--force overwrites it")
    instance = _read(workflow)
    shape = shape_of(instance)
    if form == "tree" and output is None:
        from headway.cli.output import console_for

        _print_tree(console_for(), instance, shape, by)
        return 0
    _write(_lines(form, instance, shape, by), output)
    return 0


def _form(form: str | None, output: Path | None, *, as_json: bool) -> str:
    """The format that is meant, by an option or by the file's suffix."""
    if as_json:
        if form not in (None, "json"):
            raise InputError(f"--json and --format {form} contradict each other", todo="leave one out")
        return "json"
    if form is not None or output is None:
        return form or "tree"
    if output.suffix.lower() not in _SUFFIXES:
        raise InputError(
            "the suffix does not say which format", where=str(output), todo="add --format svg, dot or json"
        )
    return _SUFFIXES[output.suffix.lower()]


def _read(path: Path) -> Instance:
    from headway.cli.reading import read_instance_file

    inside = path / "workflow.yaml"
    return read_instance_file(inside if inside.is_file() else path)


def _lines(form: str, instance: Instance, shape: GraphShape, by: By | None) -> Iterable[str]:
    if form == "json":
        import json

        return [json.dumps(document(instance, shape, by), indent=2, ensure_ascii=False)]
    if form == "tree":
        return _tree_text(instance, shape, by)
    from headway.report.graph.picture import picture_of

    picture = picture_of(instance, shape, by)
    if form == "dot":
        from headway.report.graph.graphviz import dot_lines

        return dot_lines(instance.workflow.name, picture)
    from headway.report.graph.svg import svg_lines
    from headway.report.graph.terminal import subtitle

    return svg_lines(instance.workflow.name, subtitle(shape), picture)


def _write(lines: Iterable[str], output: Path | None) -> None:
    if output is None:
        sys.stdout.writelines(f"{line}\n" for line in lines)
        sys.stdout.flush()
        return
    text = "".join(f"{line}\n" for line in lines)  # all of it before the file is touched
    try:
        output.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise SiteError(f"cannot write this: {error.strerror}", where=str(output)) from error
    click.echo(f"wrote {output}", err=True)


def _tree_text(instance: Instance, shape: GraphShape, by: By | None) -> list[str]:
    import io

    from rich.console import Console

    page = io.StringIO()
    _print_tree(Console(file=page, width=100, highlight=False, markup=False, emoji=False), instance, shape, by)
    return page.getvalue().splitlines()


def _print_tree(console: Console, instance: Instance, shape: GraphShape, by: By | None) -> None:
    from headway.report.graph.terminal import category_lines, headline, path_line, task_lines
    from headway.report.saying import say, show

    for line in [*headline(shape), path_line(instance, shape)]:
        say(console, line)
    console.print()
    lines = task_lines(instance, shape, console.width) if by == "task" else category_lines(shape, console.width)
    for line in lines:
        show(console, line)


def document(instance: Instance, shape: GraphShape, by: By | None) -> dict[str, Any]:
    """The graph as JSON; single tasks only if they are asked for."""
    answer = {
        "name": shape.name,
        "tasks": shape.tasks,
        "dependencies": shape.dependencies,
        "levels": len(shape.widths),
        "widths": shape.widths,
        "widest_level": shape.widest,
        "tasks_with_run_time": shape.timed,
        "work_s": shape.work_s,
        "critical_path_s": shape.longest_s,
        "critical_path": shape.critical_path,
        "parallelism": shape.parallelism,
        "categories": [
            {
                "category": each.name,
                "tasks": each.tasks,
                "first_level": each.first_level,
                "last_level": each.last_level,
                "on_critical_path": each.on_critical_path,
                "run_s": _spread(each.run_s),
                "memory_bytes": _spread(each.memory_bytes),
                "feeds": [{"category": name, "dependencies": number} for name, number in each.feeds.items()],
            }
            for each in shape.categories
        ],
    }
    if by != "task":
        return answer
    on_path = set(shape.critical_path)
    graph = []
    for task in instance.workflow:
        took = instance.recorded.get(task.id)
        graph.append(
            {
                "task": task.id,
                "category": task.category,
                "level": shape.levels[task.id],
                "on_critical_path": task.id in on_path,
                "needs": list(task.parents),
                "run_s": took.run_s if took else None,
                "memory_bytes": took.memory_bytes if took else None,
            }
        )
    return answer | {"graph": graph}


def _spread(spread: Spread | None) -> dict[str, float] | None:
    if spread is None:
        return None
    return {"least": spread.least, "median": spread.median, "most": spread.most, "measured": spread.tasks}
