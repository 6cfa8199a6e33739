"""Advice as `resources` of a Headway workflow file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from headway.model.advice import Advice, CategoryAdvice
from headway.report.advice.words import comment, memory, preface, remark
from headway.report.advice.yaml_text import yaml_name


def config(advice: Advice, logs: Sequence[str]) -> str:
    """A snippet with the `resources` of each category, to be copied into the tasks of a workflow file."""
    return "\n".join(_lines(advice, logs)) + "\n"


def _lines(advice: Advice, logs: Sequence[str]) -> Iterator[str]:
    yield from comment("#", *preface(advice, logs))
    yield from comment(
        "#", "Copy each `resources` to the task of that name. Headway learns more as it runs, and retries by itself."
    )
    yield "tasks:" if advice.categories else "tasks: {}"
    for each in advice.categories:
        yield from comment("#", remark(each, advice), indent="  ")
        yield f"  {yaml_name(each.category)}:"
        yield f"    resources: {{{', '.join(_amounts(each))}}}"


def _amounts(each: CategoryAdvice) -> Iterator[str]:
    if each.cpus is not None:
        yield f"cores: {each.cpus}"
    if each.memory_bytes:
        yield f"memory: {memory(each.memory_bytes[0])}"
    if each.time_s:
        hours, minutes = each.time_s[0] / 3600, math.ceil(each.time_s[0] / 60)
        yield f"time: {hours:.0f}h" if hours == int(hours) else f"time: {minutes}m"
