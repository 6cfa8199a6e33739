"""Sentences about advice, which the writers for all tools share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import wrap

from headway.model.advice import Advice, CategoryAdvice, Trial
from headway.model.units import format_duration
from headway.report.columns import one_line
from headway.report.replay_table import number
from headway.report.words import NOTHING, count, share

_WIDTH = 110
_MOST_NAMED = 50  # categories without advice


def source(advice: Advice, logs: Sequence[str]) -> str:
    """Where the advice comes from."""
    categories = len(advice.categories) + len(advice.left_alone)
    tasks = advice.total().records + sum(each.records for each in advice.left_alone)
    kinds = f"{categories:,} categories" if categories != 1 else "one category"
    return f"Advice of `headway advise` from {', '.join(map(one_line, logs))}: {count(tasks, 'task')} of {kinds}."


def preface(advice: Advice, logs: Sequence[str]) -> list[str]:
    """What a configuration begins with: where it comes from, what it would have done, and what it leaves out."""
    return [source(advice, logs), *sentences(advice)]


def sentences(advice: Advice) -> Iterator[str]:
    """What the advice would have done on its log, and the categories that it leaves as they are."""
    total = advice.total().trial
    if advice.categories:
        yield f"Each task of the log sized from the tasks before it: {outcome(total)}."
    if total.unfinished:
        yield f"{count(total.unfinished, 'task')} would have failed for good."
    if advice.left_alone:
        named = ", ".join(f"{one_line(each.category)} ({each.records})" for each in advice.left_alone[:_MOST_NAMED])
        more = len(advice.left_alone) - _MOST_NAMED
        named += f" and {more:,} more" if more > 0 else ""
        yield f"Left as they are, with fewer than {count(advice.fewest, 'record')}: {named}."


def outcome(each: Trial) -> str:
    """Failures to expect, and the saving, as observed on the log.

    >>> outcome(Trial())
    'no task came after the first ones, so the advice is untried'
    """
    if not each.attempts:
        return "no task came after the first ones, so the advice is untried"
    reasons = [f"{each.out_of_memory:,} out of memory"] if each.out_of_memory else []
    reasons += [f"{each.out_of_time:,} out of time"] if each.out_of_time else []
    why = f" ({', '.join(reasons)})" if reasons else ""
    words = f"{each.failed:,} of {count(each.attempts, 'attempt')} would have failed{why}"
    return f"{words}; {saving(each)}"


def saving(each: Trial) -> str:
    """What would have been saved, in GB·h of requested memory."""
    if each.saved_gb_h is None:
        return "the log does not say what was asked for"
    verb = "saved" if each.saved_gb_h >= 0 else "lost"
    part = share(abs(each.saved_gb_h) / each.asked_gb_h)
    return f"{number(abs(each.saved_gb_h))} of {number(each.asked_gb_h)} GB·h of memory ({part}) {verb}"


def memory(amount: float | None, megabyte: float = 1e6) -> str:
    """An amount of memory in the units of the tool that gets the advice.

    >>> memory(2.5e9), memory(100 * 2**20, 2**20), memory(60 * 2**30, 2**20), memory(None)
    ('2.5 GB', '100 MB', '60 GB', '-')
    """
    if amount is None:
        return NOTHING
    thousand = 1000 if megabyte == 1e6 else 1024
    amount, unit = amount / megabyte, "MB"
    if amount >= 0.9995 * thousand:
        amount, unit = amount / thousand, "GB"
    return f"{amount:.3g} {unit}" if amount < 999.5 else f"{amount:.0f} {unit}"


def remark(each: CategoryAdvice, advice: Advice) -> str:
    """One line about a category: how many records, what it asked and used, failures and saving."""
    most = memory(each.used_memory_bytes[-1], advice.megabyte)
    used = f"used up to {most} and {format_duration(each.used_time_s[-1])}"
    asked = "" if each.asked_memory_bytes is None else f"asked for {memory(each.asked_memory_bytes, advice.megabyte)}, "
    keep = "" if each.memory_bytes else "; to ask for less would have cost more, so keep the memory as it is"
    return f"{count(each.records, 'record')}: {asked}{used}; {outcome(each.trial)}{keep}"


def short_names(names: Sequence[str], letters: int) -> list[str]:
    """As many of each name's last parts as tell it from the others; of a long part the end.

    >>> short_names(["RNASEQ:FASTQC", "RNASEQ:RAW:STATS", "RNASEQ:TRIMMED:STATS"], 40)
    ['FASTQC', 'RAW:STATS', 'TRIMMED:STATS']
    """
    lines = [one_line(name) for name in names]
    ends = Counter(end for line in set(lines) for end in _ends(line))
    found = [next((end for end in _ends(line) if ends[end] == 1), line) for line in lines]
    return [line if len(line) <= letters else f"…{line[1 - letters :]}" for line in found]


def _ends(name: str) -> Iterator[str]:
    """The last part of a name, its last two, and so on."""
    parts = name.split(":")
    return (":".join(parts[place:]) for place in range(len(parts) - 1, -1, -1))


def comment(mark: str, *lines: str, indent: str = "") -> list[str]:
    """Lines of comment, wrapped; control characters in them cannot end the comment."""
    begin = f"{indent}{mark} "
    return [begin + part for line in lines for part in wrap(one_line(line), _WIDTH - len(begin)) or [""]]


def risks(advice: Advice, most: int = 8) -> list[tuple[CategoryAdvice, str]]:
    """The categories whose advice is most likely to fail, the riskiest first, and why."""
    found = [(each, why) for each in advice.categories if (why := _risk(each, advice))]
    found.sort(key=lambda pair: (-pair[0].trial.unfinished, -(pair[0].trial.failed_share or 0.0), pair[0].records))
    return found[:most]


def _risk(each: CategoryAdvice, advice: Advice) -> str:
    trial = each.trial
    middle, most = each.used_memory_bytes[2], each.used_memory_bytes[-1]
    reasons = []
    if trial.unfinished:
        reasons.append(f"{count(trial.unfinished, 'task')} would have failed for good")
    if trial.failed:
        reasons.append(f"{trial.failed:,} of {count(trial.attempts, 'attempt')} would have failed")
    if each.records < 4 * advice.fewest:
        reasons.append(f"only {count(each.records, 'record')}")
    if middle and most > 3 * middle and each.memory_bytes and 2 * most > each.memory_bytes[0]:
        reasons.append(f"the greatest peak is {most / middle:.1f} times the median")
    if each.asked_memory_bytes is not None and most > each.asked_memory_bytes:
        reasons.append(f"tasks used up to {memory(most, advice.megabyte)}, more than they asked for")
    return "; ".join(reasons)
