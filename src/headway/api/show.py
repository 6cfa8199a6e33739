"""`show`: a workflow's graph in figures, as text, as a picture or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field, structs, to_builtins

from headway.api.keywords import settled
from headway.api.reading import config_values, read_instance_file
from headway.api.whole_files import check_target, write_whole
from headway.model.errors import InputError
from headway.model.instance import Instance, Recorded
from headway.report.graph.graphviz import dot_lines
from headway.report.graph.picture import picture_of
from headway.report.graph.shape import GraphShape, shape_of
from headway.report.graph.svg import svg_lines
from headway.report.graph.terminal import subtitle, tree_text

Form = Literal["tree", "dot", "svg", "json"]
_SUFFIXES: dict[str, Form] = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".json": "json", ".txt": "tree"}


class ShowSettings(Struct, frozen=True, kw_only=True):
    """Whether tasks or categories are shown, and the file to write."""

    by: Literal["task", "category"] | None = None  # None: categories; in pictures tasks, up to 300
    format: Form | None = None  # of the file; None: as its suffix says
    output: str | None = None
    force: bool = False  # overwrite the file
    set: dict[str, Any] = field(default_factory=dict)  # replaces values of `config` in the workflow file


class ShowResult(Struct, frozen=True):
    """A workflow's graph and its figures."""

    settings: ShowSettings
    instance: Instance
    shape: GraphShape
    files: list[str]  # that were written

    def lines(self, form: Form) -> Iterable[str]:
        """The graph in a format, line by line."""
        instance, shape, by = self.instance, self.shape, self.settings.by
        if form == "json":
            return [json.dumps(self.document(), indent=2, ensure_ascii=False)]
        if form == "tree":
            return tree_text(instance, shape, by)
        picture = picture_of(instance, shape, by)
        if form == "dot":
            return dot_lines(instance.workflow.name, picture)
        return svg_lines(instance.workflow.name, subtitle(shape), picture)

    def document(self) -> dict[str, Any]:
        """The answer of `headway show --json`; single tasks only with `by="task"`."""
        shape = self.shape
        figures = {"levels": len(shape.widths), "widest_level": shape.widest, "parallelism": shape.parallelism}
        answer: dict[str, Any] = to_builtins(shape) | figures
        for each in answer["categories"]:
            each["feeds"] = [{"category": name, "dependencies": number} for name, number in each["feeds"].items()]
        return answer | {"graph": self._tasks()} if self.settings.by == "task" else answer

    def _tasks(self) -> list[dict[str, Any]]:
        on_path = set(self.shape.critical_path)
        unknown = Recorded()
        return [
            {
                "task": task.id,
                "category": task.category,
                "level": self.shape.levels[task.id],
                "on_critical_path": task.id in on_path,
                "needs": list(task.parents),
                "run_s": self.instance.recorded.get(task.id, unknown).run_s,
                "memory_bytes": self.instance.recorded.get(task.id, unknown).memory_bytes,
            }
            for task in self.instance.workflow
        ]


def show(workflow: str | Path = "workflow.yaml", settings: ShowSettings | None = None, **named: Any) -> ShowResult:
    """Read a workflow file (or the workflow.yaml of a directory) and compute the shape of its graph.

    Keywords are the fields of `ShowSettings`: `show("montage.dax", output="graph.svg")`.
    """
    asked, _ = settled(ShowSettings, settings, named)
    target = None if asked.output is None else Path(asked.output)
    form = asked.format or ("tree" if target is None else _form_of(target))
    if target is not None:
        check_target(target, force=asked.force, folder=False)
    inside = Path(workflow) / "workflow.yaml"
    instance = read_instance_file(inside if inside.is_file() else Path(workflow), config_values(asked.set))
    instance = structs.replace(instance, workflow=instance.workflow.with_stand_ins())
    result = ShowResult(asked, instance, shape_of(instance), [] if asked.output is None else [asked.output])
    if target is not None:
        write_whole(target, (f"{line}\n" for line in result.lines(form)))
    return result


def _form_of(path: Path) -> Form:
    try:
        return _SUFFIXES[path.suffix.lower()]
    except KeyError:
        todo = "add --format svg, dot or json"
        raise InputError("the suffix does not say which format", where=str(path), todo=todo) from None
