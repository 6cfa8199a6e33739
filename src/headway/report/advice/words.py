"""Sentences about advice, which the writers of all targets share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from headway.model.advice import Advice, CategoryAdvice, Trial
from headway.model.units import format_bytes, format_duration
from headway.report.columns import one_line
from headway.report.replay_table import number
from headway.report.words import count, share

_WIDTH = 110
_MOST_NAMED = 50  # categories without advice


def preface(advice: Advice, logs: Sequence[str]) -> list[str]:
    """What a configuration begins with: where it comes from, what it would have done, and what it leaves out."""
    categories = len(advice.categories) + len(advice.left_alone)
    tasks = advice.total().records + sum(each.records for each in advice.left_alone)
    source = ", ".join(map(one_line, logs))
    kinds = f"{categories:,} categories" if categories != 1 else "one category"
    begins = f"Advice of `headway advise` from {source}: {count(tasks, 'task')} of {kinds}."
    return [begins, *sentences(advice)]


def sentences(advice: Advice) -> Iterator[str]:
    """What the advice would have done on its log, and the categories that it leaves as they are."""
    total = advice.total().trial
    if advice.categories:
        yield f"Each task of the log sized from the tasks before it: {outcome(total)}."
    if total.unfinished:
        yield f"{count(total.unfinished, 'task')} would have failed for good: allow more attempts, or ask for more."
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


def remark(each: CategoryAdvice) -> str:
    """One line about a category: how many records, what it asked and used, failures and saving."""
    used = f"used up to {format_bytes(each.used_memory_bytes[-1])} and {format_duration(each.used_time_s[-1])}"
    asked = "" if each.asked_memory_bytes is None else f"asked for {format_bytes(each.asked_memory_bytes)}, "
    keep = "" if each.memory_bytes else "; to ask for less would have cost more, so keep the memory as it is"
    return f"{count(each.records, 'record')}: {asked}{used}; {outcome(each.trial)}{keep}"


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
    if middle and most > 3 * middle:
        reasons.append(f"the greatest peak is {most / middle:.1f} times the median")
    if each.asked_memory_bytes is not None and most > each.asked_memory_bytes:
        reasons.append(f"tasks used up to {format_bytes(most)}, more than they asked for")
    return "; ".join(reasons)
