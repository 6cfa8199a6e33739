"""The study's tables and pictures: Figures 5.1 to 5.4, and the thesis's statements beside what is found here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headway.report.page_style import legend
from headway.report.words import NOTHING
from headway.studies.paired import Interval
from headway_papers.frame.bar_chart import Bar, Group, bar_chart
from headway_papers.frame.page import picture
from headway_papers.frame.report import Section
from headway_papers.rl.courses import APPROACHES, RunFigures
from headway_papers.rl.figures import by_pipeline, totals
from headway_papers.rl.pipelines import NAMES
from headway_papers.rl.statements import (
    CLAIMS,
    CPU,
    EFFECTIVE,
    GOALS,
    MEMORY,
    NOISE,
    NOT_WORSE,
    TIME,
    Claim,
    Statement,
    statements,
)
from headway_papers.rl.study import Results
from headway_papers.rl.units import AS_THESIS, REQUESTS
from headway_papers.rl.worlds import AMDAHL, BEYOND_AMDAHL, LAWS

_SHORT = {CPU: "CPU h", EFFECTIVE: "effective CPU h", MEMORY: "memory", TIME: "run time"}
_COLOURS = (
    "#8c959f", "#2f6fb5", "#e8762d", "#9b7fd1", "#57a773", "#2f7d4f", "#d1434b", "#6cb0e8", "#b8bcc2", "#59636e"
)  # fmt: skip
# A chart's title, what is given, and what of it is used, where that is known.
_CHARTS = (
    ("Figure 5.1, left: CPU hours, and effective ones", "cpu_hours", "effective_cpu_hours"),
    ("Figure 5.1, right: run time", "run_s", None),
    ("Figure 5.2: memory GB·h, and used ones", "memory_gb_hours", "used_gb_hours"),
)
Figures = Mapping[str, Mapping[str, RunFigures]]  # by group of bars, then by approach


def sections(results: Results) -> Iterator[Section]:
    """In the thesis's order, then ours."""
    for requests in REQUESTS:
        yield Section(f"Memory requests {requests}", pictures=_totals_pictures(results, requests))
        for law in AMDAHL:
            yield _totals(f"Figures 5.1 and 5.2: work {law}, memory requests {requests}", results, requests, law)
    for law in BEYOND_AMDAHL:
        yield _totals(f"Not by Amdahl's law: {law}, memory requests {AS_THESIS}", results, AS_THESIS, law)
    for law in AMDAHL:
        for title, metric in (("5.3: CPU hours", CPU), ("5.3: run time, hours", TIME), ("5.4: memory, GB·h", MEMORY)):
            full = f"Figure {title}, by pipeline; work {law}, requests {AS_THESIS}"
            yield _by_pipeline(full, results, law, metric)
    for claims, whose in ((CLAIMS, "The thesis's statements"), (GOALS, "Ours")):
        for requests in REQUESTS:
            found = statements(results.done, requests, claims)
            yield statements_section(f"{whose}; requests {requests}", found, AMDAHL)
    title = f"Under every law, within {100 * (NOISE - 1):.0f}%; requests {AS_THESIS}"
    yield statements_section(title, statements(results.done, AS_THESIS, NOT_WORSE, LAWS), LAWS, allowed=NOISE)


def _totals(title: str, results: Results, requests: str, law: str) -> Section:
    found = totals(results.done, requests, law)
    names = [name for name in results.approaches if name in found]
    groups = {name: {it: by_pipeline(found[it])[name] for it in names} for name in NAMES}
    pictures = pictures_of(groups, names, "by pipeline, ")
    shown = [f"{name} ({APPROACHES[name].runs} runs)" for name in names]
    return total_section(title, shown, [found[name].figures for name in names], pictures=pictures)


def total_section(
    title: str, names: Sequence[str], rows: Sequence[RunFigures], *, seconds: bool = False, pictures: Sequence[str] = ()
) -> Section:
    """A row an approach, in hours or in seconds."""
    scale, unit = (3600.0, "s") if seconds else (1.0, "h")
    cpu, memory = f"CPU {'seconds' if seconds else 'hours'}", f"memory, GB·{unit}"
    cells = [
        [
            name,
            f"{scale * row.cpu_hours:,.1f}",
            f"{scale * row.effective_cpu_hours:,.1f}",
            f"{scale * row.memory_gb_hours:,.0f}",
            f"{scale * row.used_gb_hours:,.0f}",
            f"{100 * row.memory_use:.0f}%",
            f"{row.run_s / 3600 * scale:,.1f} {unit}",
            f"{row.killed:,}",
            f"{row.tasks:,}",
        ]
        for name, row in zip(names, rows, strict=True)
    ]
    heads = [("", "approach"), (cpu, "given"), (cpu, "effective"), (memory, "given"), (memory, "used")]
    heads += [("", title) for title in ("use", "run time", "killed", "tasks")]
    return Section(title, heads, cells, pictures=pictures, keep=(90, 80, 89, 60, 50, 88, 70, 40))


def _by_pipeline(title: str, results: Results, law: str, metric: str) -> Section:
    """A row an approach, a column a pipeline."""
    found = totals(results.done, AS_THESIS, law)
    rows = []
    for name in (name for name in results.approaches if name in found):
        figures = by_pipeline(found[name])
        scale = 3600 if metric == TIME else 1
        rows.append(
            [name, *(f"{getattr(figures[it], metric) / scale:,.1f}" if it in figures else NOTHING for it in NAMES)]
        )
    return Section(title, [("", "approach"), *(("", name) for name in NAMES)], rows)


def statements_section(title: str, found: Sequence[Statement], laws: Iterable[str], allowed: float = 1.0) -> Section:
    """A row a statement: what the thesis says, what was found for each law, and whether it holds.

    Statements of ours are all that our approach takes less than another: the heading says so once.
    """
    laws = list(laws)
    in_thesis = any(each.claim.published is not None for each in found)
    rows = []
    for each in found:
        published = NOTHING if each.claim.published is None else f"{100 * (each.claim.published - 1):+.0f}%"
        ours = (_percent(each.found[name]) if name in each.found else NOTHING for name in laws)
        holds = each.holds_within(allowed)
        held = "yes" if holds and all(holds) else f"{sum(holds)} of {len(holds)}"
        said = _short(each.claim)
        rows.append([*([said, published] if in_thesis else [said.partition("< ")[2]]), *ours, held])
    said_by = [("", ""), ("", "thesis")] if in_thesis else [("", f"{found[0].claim.one} <")]
    heads = [*said_by, *(("ours, %", name) for name in laws), ("", "holds")]
    return Section(title, heads, rows, keep=[90] * (len(heads) - 1))


def _percent(found: Interval) -> str:
    """A ratio as a difference in percent, with its interval."""
    mean = f"{100 * (found.mean - 1):+.0f}"
    if found.low is None or found.high is None:
        return mean
    return f"{mean} [{100 * (found.low - 1):+.0f},{100 * (found.high - 1):+.0f}]"


def _short(claim: Claim) -> str:
    one, other = (
        name.replace("gradient-bandit", "bandit").replace("feedback-loop", "loop") for name in (claim.one, claim.other)
    )
    return f"{one} {'<' if claim.less else '>'} {other}, {_SHORT[claim.metric]}"


# --- pictures ---


def _totals_pictures(results: Results, requests: str) -> list[str]:
    found = {law: totals(results.done, requests, law) for law in (LAWS if requests == AS_THESIS else AMDAHL)}
    names = [name for name in results.approaches if name in next(iter(found.values()))]
    groups = {law: {name: own[name].figures for name in names} for law, own in found.items()}
    return pictures_of(groups, names)


def pictures_of(groups: Figures, names: Sequence[str], about: str = "") -> list[str]:
    """Figures 5.1 and 5.2 as bars: a group a law or a pipeline, a bar an approach."""
    keys = legend(zip(names, _COLOURS, strict=False))
    return [picture(_chart(title, groups, names, given, used), about + title, keys) for title, given, used in _CHARTS]


def _chart(title: str, groups: Figures, names: Sequence[str], given: str, used: str | None) -> str:
    drawn = []
    for group, found in groups.items():
        most = max((getattr(each, given) for each in found.values()), default=1.0) or 1.0
        bars = []
        for name, colour in zip(names, _COLOURS, strict=False):
            if name in found:
                whole = getattr(found[name], given)
                part = getattr(found[name], used) if used else whole
                words = f"{group}, {name}: {whole:,.1f}" + (f", {part:,.1f} used" if used else "")
                bars.append(Bar([(colour, part / most), (f"{colour}66", (whole - part) / most)], None, words))
        drawn.append(Group(group, bars))
    return bar_chart(f"{title}, against the most of each group", drawn)
