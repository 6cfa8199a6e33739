"""Advice as a Nextflow configuration: `nextflow run … -c advice.config`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from headway.model.advice import Advice, CategoryAdvice
from headway.report.advice.words import comment, preface, remark

_MIB = 2**20
# Killed for memory or time: by a signal, by the batch system, or without leaving an exit code.
_KILLED = "((130..145) + [104, 175, 176, 177, 247, Integer.MAX_VALUE])"
_SPECIAL = re.compile(r"[^\w:/ -]", re.ASCII)


def config(advice: Advice, logs: Sequence[str]) -> str:
    """The configuration: a `process` block with a selector for each category."""
    return "\n".join(_lines(advice, logs)) + "\n"


def _lines(advice: Advice, logs: Sequence[str]) -> Iterator[str]:
    yield from comment("//", *preface(advice, logs))
    yield from comment("//", "Use it with: nextflow run … -c FILE. A process that sets its own errorStrategy keeps it.")
    yield "process {"
    if advice.attempts > 1 and advice.categories:
        yield f"    errorStrategy = {{ task.exitStatus in {_KILLED} ? 'retry' : 'finish' }}"
        yield f"    maxRetries = {advice.attempts - 1}"
    for each in advice.categories:
        yield ""
        yield from comment("//", remark(each, advice), indent="    ")
        yield f"    withName: {selector(each.category)} {{"
        yield from _directives(each)
        yield "    }"
    yield "}"


def _directives(each: CategoryAdvice) -> Iterator[str]:
    if each.cpus is not None:
        yield f"        cpus = {each.cpus}"
    if each.memory_bytes:
        yield f"        memory = {_by_attempt([_memory(amount) for amount in each.memory_bytes])}"
    if each.time_s:
        yield f"        time = {_by_attempt([_time(seconds) for seconds in each.time_s])}"


def _by_attempt(amounts: Sequence[str]) -> str:
    if len(amounts) == 1:
        return f"'{amounts[0]}'"
    listed = ", ".join(f"'{amount}'" for amount in amounts)
    return f"{{ [{listed}][Math.min(task.attempt, {len(amounts)}) - 1] }}"


def selector(name: str) -> str:
    r"""The name as a Groovy string that holds a regular expression, which matches this name only.

    >>> print(selector("NFCORE_RNASEQ:RNASEQ:FASTQC"), selector("a.b's"))
    'NFCORE_RNASEQ:RNASEQ:FASTQC' 'a\\.b\\x{27}s'
    """
    # Whatever is no letter, digit or `:` becomes a code point of Java's regular expressions: no quote, backslash or
    # line break is left, and the file is ASCII, whatever the locale that Nextflow reads it in.
    return "'" + _SPECIAL.sub(_regex, name) + "'"


def _regex(found: re.Match[str]) -> str:
    letter = found[0]
    return f"\\\\x{{{ord(letter):x}}}" if letter not in ".+" else f"\\\\{letter}"


def _memory(amount: float) -> str:
    """An amount as Nextflow writes it: its MB has 2**20 bytes."""
    megabytes = -(-int(amount) // _MIB)
    return f"{megabytes // 1024} GB" if megabytes % 1024 == 0 else f"{megabytes} MB"


def _time(seconds: float) -> str:
    return f"{seconds / 3600:.0f} h" if seconds % 3600 == 0 else f"{seconds / 60:.0f} min"
