"""Charts of advice as SVG: what was asked, used and advised, and the memory that it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from math import log10

from headway.model.advice import CategoryAdvice
from headway.report.advice.words import memory, short_names
from headway.report.charts import Mark, label, number_marks, svg
from headway.report.columns import one_line
from headway.report.replay_table import number
from headway.report.words import share

USED, ASKED, ADVISED = "#4c78a8", "#d1434b", "#2f9455"
_WIDTH, _LINE, _TOP, _BOTTOM = 980.0, 30.0, 8.0, 30.0
_LEFT, _RIGHT = 300.0, 150.0  # for names, and for figures
_LETTERS = 36
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)


def memory_chart(categories: Sequence[CategoryAdvice], megabyte: float) -> str:
    """Draw a line per category on a logarithmic axis: the peaks as a box, the request, and the advised amounts."""
    names = short_names([each.category for each in categories], _LETTERS)
    amounts = [amount for each in categories for amount in (*each.used_memory_bytes, *each.memory_bytes) if amount > 0]
    amounts += [each.asked_memory_bytes for each in categories if each.asked_memory_bytes]
    low, high = log10(max(1e5, min(amounts)) / 1.2), log10(max(amounts) * 1.2)

    def x(amount: float) -> float:
        place = (log10(max(amount, 1.0)) - low) / (high - low)
        return _LEFT + max(0.0, place) * (_WIDTH - _LEFT - _RIGHT)

    rows = [
        part
        for place, each in enumerate(categories)
        for part in _memory_row(each, x, _middle(place), megabyte, names[place])
    ]
    return _chart("Memory asked for, used and advised", len(categories), _decades(low, high, megabyte), x, rows)


def savings_chart(categories: Sequence[CategoryAdvice]) -> str:
    """Draw two bars per category: GB·h of the requests, and of the advice with its failed attempts."""
    names = short_names([each.category for each in categories], _LETTERS)
    most = max(max(each.trial.asked_gb_h, each.trial.held_gb_h) for each in categories)

    def x(value: float) -> float:
        return _LEFT + value / marks[-1][0] * (_WIDTH - _LEFT - _RIGHT)

    marks = number_marks(most)
    rows = [
        part for place, each in enumerate(categories) for part in _saving_row(each, x, _middle(place), names[place])
    ]
    return _chart("Memory held by the requests and by the advice, in GB·h", len(categories), marks, x, rows)


def _middle(place: int) -> float:
    return _TOP + _LINE * (place + 0.5)


def _chart(title: str, lines: int, marks: Sequence[Mark], x: Callable[[float], float], rows: Sequence[str]) -> str:
    bottom = _TOP + _LINE * lines
    grid = [f'<path class="grid" d="M{x(at):.1f} {_TOP:g}V{bottom:g}"/>' for at, _ in marks]
    words = [label(x(at), bottom + 18, said, size=12) for at, said in marks]
    return f'<div class="wide">{svg(title, _WIDTH, bottom + _BOTTOM, "".join([*grid, *words, *rows]))}</div>'


def _memory_row(
    each: CategoryAdvice, x: Callable[[float], float], y: float, megabyte: float, name: str
) -> Iterator[str]:
    yield _name(each, y, name)
    least, lower, middle, upper, _, most = map(x, each.used_memory_bytes)
    _, _, median, *_, greatest = (memory(amount, megabyte) for amount in each.used_memory_bytes)
    said = f"used: median {median}, at most {greatest}"
    yield f'<g fill="{USED}"><title>{escape(said)}</title>'
    yield f'<rect x="{least:.1f}" y="{y - 1.5:g}" width="{max(1.0, most - least):.1f}" height="3" fill-opacity=".6"/>'
    yield f'<rect x="{lower - 1:.1f}" y="{y - 6:g}" width="{max(2.0, upper - lower + 2):.1f}" height="12" rx="2"/>'
    yield f'<rect x="{middle - 1:.1f}" y="{y - 8:g}" width="2" height="16" fill="currentColor"/></g>'
    if each.asked_memory_bytes:
        at = x(each.asked_memory_bytes)
        tick = f'<path d="M{at:.1f} {y - 10:g}V{y + 10:g}" stroke="{ASKED}" stroke-width="3">'
        yield f"{tick}<title>asked: {escape(memory(each.asked_memory_bytes, megabyte))}</title></path>"
    for attempt, amount in reversed(list(enumerate(each.memory_bytes, start=1))):
        faint = "" if attempt == 1 else ' fill-opacity=".35"'
        point = f'<path d="M{x(amount):.1f} {y - 2:g}l-6 -10h12z" fill="{ADVISED}"{faint}>'
        yield f"{point}<title>attempt {attempt}: {escape(memory(amount, megabyte))}</title></path>"
    first = memory(each.memory_bytes[0], megabyte) if each.memory_bytes else "as asked"
    asked = memory(each.asked_memory_bytes, megabyte) + " → " if each.asked_memory_bytes else ""
    yield label(_WIDTH - _RIGHT + 12, y + 4, f"{asked}{first}", anchor="start", size=12)


def _saving_row(each: CategoryAdvice, x: Callable[[float], float], y: float, name: str) -> Iterator[str]:
    trial = each.trial
    yield _name(each, y, name)
    for value, top, colour, words in (
        (trial.asked_gb_h, y - 9, ASKED, "asked"),
        (trial.held_gb_h, y + 1, ADVISED, "advised"),
    ):
        bar = f'<rect x="{_LEFT:g}" y="{top:g}" width="{max(1.0, x(value) - _LEFT):.1f}" height="8" fill="{colour}">'
        yield f"{bar}<title>{words}: {number(value)} GB·h</title></rect>"
    used = x(trial.used_gb_h)
    tick = f'<path d="M{used:.1f} {y - 11:g}V{y + 11:g}" stroke="currentColor" stroke-width="2">'
    yield f"{tick}<title>used: {number(trial.used_gb_h)} GB·h</title></path>"
    saved = trial.saved_gb_h or 0.0
    part = share(abs(saved) / trial.asked_gb_h)
    words = f"{number(abs(saved))} {'saved' if saved >= 0 else 'lost'} ({part})"
    yield label(_WIDTH - _RIGHT + 12, y + 4, words, anchor="start", size=12)


def _name(each: CategoryAdvice, y: float, short: str) -> str:
    name = escape(one_line(each.category))
    return f"<g><title>{name}</title>{label(_LEFT - 12, y + 4, short, anchor='end', size=12)}</g>"


def _decades(low: float, high: float, megabyte: float) -> list[Mark]:
    """Round amounts of memory between two logarithms."""
    thousand = 1000 if megabyte == 1e6 else 1024
    amounts = [step * megabyte * thousand**power for power in (0, 1, 2) for step in _STEPS]
    inside = [amount for amount in amounts if low <= log10(amount) <= high]
    inside = inside if high - low < 2 else [amount for amount in inside if memory(amount, megabyte)[0] == "1"]
    return [(amount, memory(amount, megabyte)) for amount in inside]
