"""A comparison as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from headway.report.columns import Field, table_lines
from headway.report.queue.through_queue import hours_fields
from headway.report.words import NOTHING, amount, share
from headway.studies.paired import BEATS, Interval
from headway.studies.summary import Standing, Summary

Line = tuple[Text | str, bool]  # True: the line belongs to a table and must not be wrapped


def lines_of(summary: Summary, width: int) -> Iterator[Line]:
    """The table of all runs, those by log and by workflow, and a sentence."""
    for line in overall_table(summary, width):
        yield line, True
    for title, parts in (("by log", summary.by_trace), ("by workflow", summary.by_workflow)):
        if len(parts) > 1:
            yield "", False
            yield Text(f"makespans against {summary.reference}'s, {title}", style="bold"), False
            plans = [standing.plan for standing in summary.overall if standing.plan != summary.reference]
            names, rows, fields = parts_columns(parts, plans)
            for line in table_lines("", names, rows, fields, width, total=False):
                yield line, True
    yield "", False
    yield Text(verdict(summary), style="bold"), False


def standing_fields(against: str, means: str, *, in_cores: bool) -> list[Field]:
    """The columns of a plan's figures; `against` and `means` are titles above some of them, for pages."""
    return [
        Field("makespan", "median", lambda row: amount("makespan_s", row.makespan_s), 70),
        Field("makespan", "ratio", lambda row: _ratio_words(row.ratio), 90),
        Field("makespan", "95%", lambda row: _range_words(row.ratio), 60),
        Field(against, "won", lambda row: f"{row.wins:,}", 80),
        Field(against, "tied", lambda row: f"{row.ties:,}", 79),
        Field(against, "lost", lambda row: f"{row.losses:,}", 78),
        Field(means, "jobs", lambda row: f"{row.jobs:,.1f}", 40),
        *hours_fields(in_cores, means),
        Field(means, "busy", lambda row: share(row.busy_share), 30),
    ]


def overall_table(summary: Summary, width: int) -> list[Text]:
    """A row for each plan, the shortest makespans first."""
    standings, fields = summary.overall, standing_fields("", "", in_cores=summary.in_cores)
    if any(row.through < row.runs for row in standings):
        fields.append(Field("", "not through", lambda row: f"{row.runs - row.through:,}", 85))
    return table_lines("plan", [row.plan for row in standings], standings, fields, width, total=False)


def parts_columns(
    parts: Mapping[str, Sequence[Standing]], plans: Sequence[str]
) -> tuple[list[str], list[dict[str, Interval | None]], list[Field]]:
    """Names and rows of logs or workflows, with ratios by plan, and a column for each plan."""

    def column(plan: str, dear: int) -> Field:
        return Field("", plan, lambda row: _ratio_words(row.get(plan)), dear)

    rows = [{standing.plan: standing.ratio for standing in each} for each in parts.values()]
    return list(parts), rows, [column(plan, 80 - number) for number, plan in enumerate(plans)]


def verdict(summary: Summary) -> str:
    """A sentence that names the best plan and compares it with the reference."""
    judged = [standing for standing in summary.overall if standing.ratio is not None]
    if not judged or judged[0].ratio is None:
        return "there is nothing to compare: no two plans got the same workflow through"
    best = judged[0]
    if best.plan == summary.reference:
        return f"no plan is better than {summary.reference} on average"
    pairs = best.wins + best.ties + best.losses
    return (
        f"{best.plan} takes {share(1 - judged[0].ratio.mean)} less time than {summary.reference} on average: "
        f"{share(BEATS)} or more in {best.wins:,} of {pairs:,} runs, the other way round in {best.losses:,}"
    )


def _ratio_words(found: Interval | None) -> str:
    return NOTHING if found is None else f"{found.mean:.3f}"


def _range_words(found: Interval | None) -> str:
    if found is None or found.low is None or found.high is None:
        return NOTHING
    return f"{found.low:.2f}-{found.high:.2f}"
