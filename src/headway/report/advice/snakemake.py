"""Advice as a Snakemake profile: `snakemake --profile DIR`, with the file as DIR/config.yaml."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from headway.model.advice import Advice, CategoryAdvice
from headway.report.advice.words import comment, preface, remark
from headway.report.advice.yaml_text import yaml_name


def config(advice: Advice, logs: Sequence[str]) -> str:
    """The profile: `set-resources` and `set-threads` for each rule."""
    return "\n".join(_lines(advice, logs)) + "\n"


def _lines(advice: Advice, logs: Sequence[str]) -> Iterator[str]:
    rules = [each for each in advice.categories if each.category.isidentifier()]
    others = [each for each in advice.categories if not each.category.isidentifier()]
    yield from comment("#", *preface(advice, logs))
    yield from comment("#", "Use it as config.yaml in a folder: snakemake --profile FOLDER. Units: MB and minutes.")
    if others:
        names = ", ".join(repr(each.category) for each in others)
        yield from comment("#", f"Left out, since no rule can have such a name: {names}.")
    if advice.attempts > 1 and rules:
        yield f"restart-times: {advice.attempts - 1}"
    threads = [each for each in rules if each.cpus is not None]
    if threads:
        yield "set-threads:"
        yield from (f"  {yaml_name(each.category)}: {each.cpus}" for each in threads)
    if rules:
        yield "set-resources:"
    for each in rules:
        yield from comment("#", remark(each, advice), indent="  ")
        yield f"  {yaml_name(each.category)}:"
        yield from _resources(each)


def _resources(each: CategoryAdvice) -> Iterator[str]:
    if each.memory_bytes:
        yield f"    mem_mb: {_by_attempt([math.ceil(amount / 1e6) for amount in each.memory_bytes])}"
    if each.time_s:
        yield f"    runtime: {_by_attempt([math.ceil(seconds / 60) for seconds in each.time_s])}"


def _by_attempt(amounts: Sequence[int]) -> str:
    if len(amounts) == 1:
        return str(amounts[0])
    return f'"{list(amounts)}[min(attempt, {len(amounts)}) - 1]"'
