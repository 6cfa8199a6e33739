"""Plans for a workflow compared over several simulated futures: makespan, jobs and node-hours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from msgspec import Struct, structs
from rich.text import Text

from headway.model.units import format_duration
from headway.report.columns import Field, table_lines
from headway.report.queue.through_queue import Passage
from headway.report.queue.words import waited
from headway.report.words import count, share


class Alternative(Struct, frozen=True):
    """A plan's results over several futures."""

    plan: str
    makespan_s: float  # mean
    shortest_s: float
    longest_s: float
    first_wait_s: float
    jobs: float
    node_hours: float
    on_the_front: bool = False  # the Pareto front: no other plan is both faster and cheaper


def alternatives_of(passages: dict[str, list[Passage]]) -> list[Alternative]:
    """The plans that finished the workflow in every future, fastest first."""
    found = []
    for plan, its in passages.items():
        if any(passage.status != "succeeded" for passage in its):
            continue
        spans = [passage.makespan_s for passage in its]
        found.append(
            Alternative(
                plan,
                fmean(spans),
                min(spans),
                max(spans),
                fmean(passage.first_wait_s for passage in its),
                fmean(passage.jobs for passage in its),
                fmean(passage.node_hours for passage in its),
            )
        )
    found.sort(key=lambda it: it.makespan_s)
    cheapest = math.inf
    for place, alternative in enumerate(found):
        found[place] = structs.replace(alternative, on_the_front=alternative.node_hours < cheapest)
        cheapest = min(cheapest, alternative.node_hours)
    return found


def recommended(alternatives: Sequence[Alternative], thrift: float) -> Alternative:
    """The plan with the best trade-off between makespan and node-hours.

    `thrift` (0 to 1) is the weight of node-hours: the cost is a weighted sum of logarithms, so that equal relative
    savings count equally. Among plans within 0.01 of the least cost, the one with the fewest node-hours.
    """

    def cost(it: Alternative) -> float:
        return (1 - thrift) * math.log(max(1.0, it.makespan_s)) + thrift * math.log(max(1e-3, it.node_hours))

    least = min(map(cost, alternatives))
    return min((it for it in alternatives if cost(it) <= least + 0.01), key=lambda it: it.node_hours)


def plan_table(alternatives: Sequence[Alternative], chosen: Alternative, width: int) -> list[Text]:
    """One line per plan; an asterisk marks plans on the Pareto front of makespan and node-hours."""
    fields = [
        Field("makespan", "expected", lambda row: format_duration(row.makespan_s), 90),
        Field("makespan", "from", lambda row: format_duration(row.shortest_s), 60),
        Field("makespan", "to", lambda row: format_duration(row.longest_s), 61),
        Field("", "first wait", lambda row: waited(row.first_wait_s), 40),
        Field("", "jobs", lambda row: f"{row.jobs:,.0f}", 55),
        Field("", "node-hours", lambda row: f"{row.node_hours:,.1f}", 80),
        Field("", "front", lambda row: "*" if row.on_the_front else "", 50),
    ]
    names = [f"{row.plan} <-" if row is chosen else row.plan for row in alternatives]
    return table_lines("plan", names, alternatives, fields, width, total=False)


def advice(alternatives: Sequence[Alternative], chosen: Alternative, futures: int) -> str:
    """One sentence: which plan to choose and how it compares with the fastest and the cheapest other plan."""
    words = f"{chosen.plan}: expected to finish after {format_duration(chosen.makespan_s)}"
    others = [it for it in alternatives if it is not chosen]
    soonest = min(others, key=lambda it: it.makespan_s, default=None)
    cheapest = min(others, key=lambda it: it.node_hours, default=None)
    if soonest is not None and soonest.makespan_s >= chosen.makespan_s:
        words += f", {share(1 - chosen.makespan_s / soonest.makespan_s)} sooner than {soonest.plan}"
    elif soonest is not None:
        words += f"; {soonest.plan} takes {share(1 - soonest.makespan_s / chosen.makespan_s)} less time"
    if cheapest is not None and cheapest.node_hours < chosen.node_hours:
        words += f"; {cheapest.plan} needs {share(1 - cheapest.node_hours / chosen.node_hours)} fewer node-hours"
    return f"{words} ({count(futures, 'imagined future')})"
