"""Advice as overrides for CWL: `cwltool --overrides advice.yml workflow.cwl`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from headway.model.advice import Advice
from headway.report.advice.words import comment, preface, remark
from headway.report.advice.yaml_text import yaml_name

_MIB = 2**20


def config(advice: Advice, logs: Sequence[str], workflow: str = "") -> str:
    """The overrides: a `ResourceRequirement` for each tool, or for each step of `workflow` if one is named."""
    return "\n".join(_lines(advice, logs, workflow)) + "\n"


def _lines(advice: Advice, logs: Sequence[str], workflow: str) -> Iterator[str]:
    yield from comment("#", *preface(advice, logs))
    yield from comment("#", "Use it with: cwltool --overrides FILE …; FILE lies beside the files that it names.")
    if workflow:
        yield from comment("#", "Steps: a tool that has its own ResourceRequirement under requirements keeps it.")
    yield "cwltool:overrides:" if advice.categories else "cwltool:overrides: {}"
    for each in advice.categories:
        yield from comment("#", remark(each, advice), indent="  ")
        yield f"  {yaml_name(reference(each.category, workflow))}:"
        yield "    requirements:"
        yield "      ResourceRequirement:"
        if each.memory_bytes:
            yield f"        ramMin: {-(-int(each.memory_bytes[0]) // _MIB)}"
        if each.cpus is not None:
            yield f"        coresMin: {each.cpus}"


def reference(category: str, workflow: str = "") -> str:
    """What an override applies to, as a reference relative to the file.

    >>> reference("align"), reference("sort it", "main.cwl"), reference("tools/sort it.cwl")
    ('align.cwl', 'main.cwl#sort it', 'tools/sort%20it.cwl')
    """
    file, mark, step = category.partition("#")
    if not file.endswith(".cwl"):
        file, mark, step = (workflow, "#", category) if workflow else (f"{category}.cwl", "", "")
    return f"{quote(file)}{mark}{step}"  # cwltool compares files as URLs, and names of steps as they are
