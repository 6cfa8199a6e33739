"""The experiment on a screen: the thesis's statements beside ours, and its figures as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from rich.text import Text

from headway.model.units import format_duration
from headway.report.columns import Field, table_lines
from headway.report.words import NOTHING, count
from headway.studies.paired import Interval
from headway_papers.rl.courses import APPROACHES, COUNTED, RunFigures
from headway_papers.rl.experiment import Results
from headway_papers.rl.figures import by_pipeline, totals
from headway_papers.rl.findings import findings
from headway_papers.rl.pipelines import NAMES
from headway_papers.rl.statements import BAR, CLAIMS, CPU, EFFECTIVE, MEMORY, TIME, Claim, Statement, statements
from headway_papers.rl.units import AS_THESIS, AS_TRACED
from headway_papers.rl.worlds import FRACTIONS

_SHORT = {CPU: "CPU h", EFFECTIVE: "effective CPU h", MEMORY: "memory", TIME: "run time"}

Line = tuple[Text | str, bool]  # and whether it is laid out, and must not be wrapped


def lines_of(results: Results, width: int) -> Iterator[Line]:
    """Everything, section by section."""
    asked = results.asked
    yield Text("Zunker, 2021 (003): reinforcement learning sizes tasks, and ours", style="bold"), False
    yield (
        Text(
            f"32 cores, 125 GB, five pipelines, {count(asked.worlds, 'world')} each, seed {asked.seed}; the last "
            f"{COUNTED} runs of each approach are counted. Took {format_duration(results.took_s)}.",
            style="dim",
        ),
        False,
    )
    for requests in (AS_THESIS, AS_TRACED):
        for fractions in FRACTIONS:
            yield from _section(f"Figures 5.1 and 5.2: work {fractions}, memory requests {requests}")
            found = totals(results.done, requests, fractions)
            names = [name for name in results.approaches if name in found]
            yield from _laid_out(total_table(names, [found[name].figures for name in names], width))
    for fractions in FRACTIONS:
        for title, metric in (("5.3: CPU hours", CPU), ("5.3: run time, hours", TIME), ("5.4: memory, GB·h", MEMORY)):
            yield from _section(f"Figure {title}, by pipeline; work {fractions}, requests {AS_THESIS}")
            yield from _laid_out(pipeline_table(results, fractions, metric, width))
    for requests in (AS_THESIS, AS_TRACED):
        yield from _section(f"The thesis's statements; requests {requests}")
        yield from _laid_out(statement_table(statements(results.done, requests, CLAIMS), width))
    for requests in (AS_THESIS, AS_TRACED):
        yield from _section(f"Ours; requests {requests}")
        yield from _laid_out(statement_table(statements(results.done, requests, BAR), width))
    yield from _section("What this says")
    for sentence in findings(results):
        yield f"- {sentence}", False


def total_table(names: Sequence[str], rows: Sequence[RunFigures], width: int, *, seconds: bool = False) -> list[Text]:
    """A line an approach, in hours or in seconds."""
    scale, unit = (3600.0, "s") if seconds else (1.0, "h")
    cpu, memory = f"CPU {'seconds' if seconds else 'hours'}", f"memory, GB·{unit}"
    fields = [
        Field(cpu, "given", lambda row: f"{scale * row.cpu_hours:,.1f}", 90),
        Field(cpu, "effective", lambda row: f"{scale * row.effective_cpu_hours:,.1f}", 80),
        Field(memory, "given", lambda row: f"{scale * row.memory_gb_hours:,.0f}", 89),
        Field(memory, "used", lambda row: f"{scale * row.used_gb_hours:,.0f}", 60),
        Field("", "use", lambda row: f"{100 * row.memory_use:.0f}%", 50),
        Field("", "run time", lambda row: f"{row.run_s / 3600 * scale:,.1f} {unit}", 88),
        Field("", "killed", lambda row: f"{row.killed:,}", 70),
        Field("", "tasks", lambda row: f"{row.tasks:,}", 40),
    ]
    shown = [f"{name} ({APPROACHES[name].runs} runs)" if name in APPROACHES else name for name in names]
    return table_lines("approach", shown, rows, fields, width, total=False)


def pipeline_table(results: Results, fractions: str, metric: str, width: int) -> list[Text]:
    """A line an approach, a column a pipeline."""
    found = totals(results.done, AS_THESIS, fractions)
    names = [name for name in results.approaches if name in found]
    rows = [by_pipeline(found[name]) for name in names]

    def value(pipeline: str, row: dict[str, RunFigures]) -> str:
        amount = getattr(row[pipeline], metric) if pipeline in row else None
        return NOTHING if amount is None else f"{amount / (3600 if metric == TIME else 1):,.1f}"

    fields = [Field("", pipeline, partial(value, pipeline), 80) for pipeline in NAMES]
    return table_lines("approach", names, rows, fields, width, total=False)


def statement_table(found: Sequence[Statement], width: int) -> list[Text]:
    """A line a statement: what the thesis says, what was found under each distribution, and whether it holds."""

    def value(fractions: str, row: Statement) -> str:
        return _bare(row.found[fractions]) if fractions in row.found else NOTHING

    fields = [
        Field("", "003", lambda row: _published(row.claim), 90),
        *(Field("ours, %", name, partial(value, name), 90) for name in FRACTIONS),
        Field("", "holds", lambda row: "yes" if row.held else f"{sum(row.holds)} of {len(row.holds)}", 90),
    ]
    return table_lines("", [_short(each.claim) for each in found], found, fields, width, total=False)


def percent(found: Interval) -> str:
    """By how much, and between what."""
    mean = f"{100 * (found.mean - 1):+.0f}%"
    if found.low is None or found.high is None:
        return mean
    return f"{mean} ({100 * (found.low - 1):+.0f} to {100 * (found.high - 1):+.0f})"


def _bare(found: Interval) -> str:
    """The same in a narrow column."""
    mean = f"{100 * (found.mean - 1):+.0f}"
    if found.low is None or found.high is None:
        return mean
    return f"{mean} [{100 * (found.low - 1):+.0f},{100 * (found.high - 1):+.0f}]"


def _short(claim: Claim) -> str:
    one, other = (
        name.replace("gradient-bandit", "bandit").replace("feedback-loop", "loop") for name in (claim.one, claim.other)
    )
    return f"{one} {'<' if claim.less else '>'} {other}, {_SHORT[claim.metric]}"


def _published(claim: Claim) -> str:
    return NOTHING if claim.published is None else f"{100 * (claim.published - 1):+.0f}%"


def _section(title: str) -> Iterator[Line]:
    yield "", False
    yield Text(title, style="bold"), False
    yield "", False


def _laid_out(lines: Sequence[Text]) -> Iterator[Line]:
    for line in lines:
        yield line, True
