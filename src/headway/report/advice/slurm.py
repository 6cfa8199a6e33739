"""Advice for job scripts of Slurm: a table, and the `#SBATCH` lines of each category."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headway.model.advice import Advice, CategoryAdvice
from headway.report.advice.table import advice_table
from headway.report.advice.words import comment, preface, remark
from headway.report.columns import one_line

_MIB = 2**20


def config(advice: Advice, logs: Sequence[str]) -> str:
    """The table and the lines, as comments of a shell script."""
    return "\n".join(_lines(advice, logs)) + "\n"


def _lines(advice: Advice, logs: Sequence[str]) -> Iterator[str]:
    yield from comment("#", *preface(advice, logs))
    yield "#"
    if advice.categories:
        yield from (f"# {line.plain}".rstrip() for line in advice_table(advice, 150))
    for each in advice.categories:
        yield ""
        yield f"# --- {one_line(each.category)}"
        yield from comment("#", remark(each, advice))
        yield from _directives(each)


def _directives(each: CategoryAdvice) -> Iterator[str]:
    if each.memory_bytes:
        yield f"#SBATCH --mem={_memory(each.memory_bytes[0])}"
    if each.time_s:
        yield f"#SBATCH --time={_clock(each.time_s[0])}"
    if each.cpus is not None:
        yield f"#SBATCH --cpus-per-task={each.cpus}"
    further = [f"--mem={_memory(amount)}" for amount in each.memory_bytes[1:]]
    if further:
        yield f"# if that runs out of memory: {', then '.join(further)}"
    longer = [f"--time={_clock(seconds)}" for seconds in each.time_s[1:]]
    if longer:
        yield f"# if that runs out of time: {', then '.join(longer)}"


def _memory(amount: float) -> str:
    """An amount as Slurm reads it: its M has 2**20 bytes."""
    megabytes = -(-int(amount) // _MIB)
    return f"{megabytes // 1024}G" if megabytes % 1024 == 0 else f"{megabytes}M"


def _clock(seconds: float) -> str:
    minutes = -(-int(seconds) // 60)
    days, rest = divmod(minutes, 1440)
    return f"{f'{days}-' if days else ''}{rest // 60:02d}:{rest % 60:02d}:00"
