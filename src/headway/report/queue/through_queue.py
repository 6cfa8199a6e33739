"""A workflow simulated through a batch queue under each plan, in one future or several: makespan, jobs, node-hours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from statistics import fmean

from msgspec import Struct, structs
from rich.text import Text

from headway.journal.story.jobs import Jobs
from headway.model import records
from headway.model.outcome import Ending
from headway.model.records import Decision, Event
from headway.model.units import format_duration
from headway.report.columns import Field, table_lines
from headway.report.queue.words import node_hours, waited
from headway.report.words import count, share

LIKELY = 0.9  # of the futures in which a plan must end in time
_SAME_S = 1.0  # makespans within a second count as equal


class Passage(Struct, frozen=True):
    """The figures of one run under one plan."""

    plan: str
    status: str
    makespan_s: float  # from the start of the run to the end of its last task
    jobs: int
    expired: int  # jobs that ended before their tasks did
    first_wait_s: float  # of the job that started first
    mean_wait_s: float  # over all jobs that started, each from when it could start
    node_hours: float  # held by all jobs; a share of a node counts as the part of its cores
    busy_share: float  # share of the node-hours in which tasks ran
    core_hours: float  # held by all jobs
    used_core_hours: float  # in which tasks ran


def passage_of(plan: str, journal: Iterable[Event | Decision]) -> Passage:
    """Compute the figures from a simulated run's records."""
    began = ended = 0.0
    status = "unfinished"
    jobs = Jobs()
    cores_of_node = 1.0
    busy_core_s = 0.0
    holding: dict[tuple[str, int], float] = {}  # cores of running attempts
    for record in journal:
        jobs.apply(record)
        match record:
            case records.RunStarted():
                began = record.at
            case records.LimitsRead(wish=None):
                cores_of_node = record.limits.cores
            case records.Launch():
                holding[record.task, record.attempt] = record.resources.cores * record.resources.nodes
            case records.TaskEnded():
                outcome = record.outcome
                cores = holding.pop((outcome.task, outcome.attempt))
                if outcome.ending is Ending.SUCCESS:
                    ended = record.at
                    busy_core_s += cores * (outcome.ended_at - outcome.started_at)
            case records.Finish():
                status = record.status
    waits_s, over = jobs.waits_s(), [job for job in jobs.known.values() if job.ended_at is not None]
    core_s = sum(job.held_core_s(job.ended_at or 0.0) for job in over)
    held_s = core_s / cores_of_node
    return Passage(
        plan=plan,
        status=status,
        makespan_s=max(0.0, ended - began),
        jobs=len(jobs.known),
        expired=sum(not job.is_given_back for job in over),
        first_wait_s=waits_s[0] if waits_s else 0.0,
        mean_wait_s=sum(waits_s) / len(waits_s) if waits_s else 0.0,
        node_hours=held_s / 3600,
        busy_share=busy_core_s / (held_s * cores_of_node) if held_s else 0.0,
        core_hours=core_s / 3600,
        used_core_hours=busy_core_s / 3600,
    )


def hours_fields(in_cores: bool, title: str = "") -> list[Field]:
    """The columns of what jobs held: node-hours, or where the queue counts cores core-hours held and used."""
    if not in_cores:
        return [Field(title, "node-hours", lambda row: node_hours(row.node_hours), 80)]
    return [
        Field("core-hours", "held", lambda row: node_hours(row.core_hours), 80),
        Field("core-hours", "used", lambda row: node_hours(row.used_core_hours), 75),
    ]


def passage_table(passages: Sequence[Passage], width: int, *, in_cores: bool = False) -> list[Text]:
    """One line per plan, fastest first."""
    rows = sorted(passages, key=lambda passage: (passage.status != "succeeded", passage.makespan_s))
    fields = [
        Field("", "makespan", lambda row: waited(row.makespan_s), 90),
        Field("", "jobs", lambda row: f"{row.jobs:,}", 70),
        Field("wait", "first", lambda row: waited(row.first_wait_s), 60),
        Field("wait", "mean", lambda row: waited(row.mean_wait_s), 50),
        *hours_fields(in_cores),
        Field("", "busy", lambda row: share(row.busy_share), 40),
    ]
    if any(row.expired for row in rows):
        fields.append(Field("", "expired", lambda row: f"{row.expired:,}", 55))
    if any(row.status != "succeeded" for row in rows):
        fields.append(Field("", "status", lambda row: row.status, 95))
    return table_lines("plan", [row.plan for row in rows], rows, fields, width, total=False)


def verdict(passages: Sequence[Passage]) -> str:
    """One sentence: which plan finished first, and how much longer the next one took."""
    finished = sorted((it for it in passages if it.status == "succeeded"), key=lambda passage: passage.makespan_s)
    if not finished:
        return "no plan finished the workflow"
    best = finished[0]
    equals = [it.plan for it in finished if it.makespan_s - best.makespan_s < _SAME_S]
    after = f"first, after {waited(best.makespan_s)}"
    if len(equals) == 1:
        words = f"{best.plan} finishes {after}, with {count(best.jobs, 'job')}"
    else:
        words = f"{', '.join(equals[:-1])} and {equals[-1]} finish {after}"
    if len(finished) > len(equals):
        other = finished[len(equals)]
        longer = other.makespan_s - best.makespan_s
        more = share(longer / best.makespan_s) if best.makespan_s else waited(longer)
        words += f"; {other.plan} takes {more} longer"
    return words


# --- several plans over several futures ---


class Alternative(Struct, frozen=True):
    """A plan's results over several futures."""

    plan: str
    makespan_s: float  # mean
    shortest_s: float
    longest_s: float
    first_wait_s: float
    jobs: float
    node_hours: float
    core_hours: float
    used_core_hours: float
    on_the_front: bool = False  # the Pareto front: no other plan is both faster and cheaper
    in_time: float | None = None  # the share of futures in which it ended by the deadline, if there is one


def alternatives_of(passages: dict[str, list[Passage]], deadline_s: float | None = None) -> list[Alternative]:
    """The plans that finished the workflow in every future, fastest first."""
    by_s = math.inf if deadline_s is None else deadline_s
    found = [
        Alternative(
            plan,
            makespan_s=fmean(passage.makespan_s for passage in its),
            shortest_s=min(passage.makespan_s for passage in its),
            longest_s=max(passage.makespan_s for passage in its),
            first_wait_s=fmean(passage.first_wait_s for passage in its),
            jobs=fmean(passage.jobs for passage in its),
            node_hours=fmean(passage.node_hours for passage in its),
            core_hours=fmean(passage.core_hours for passage in its),
            used_core_hours=fmean(passage.used_core_hours for passage in its),
            in_time=None if deadline_s is None else fmean(passage.makespan_s <= by_s for passage in its),
        )
        for plan, its in passages.items()
        if all(passage.status == "succeeded" for passage in its)
    ]
    found.sort(key=lambda it: it.makespan_s)
    cheapest = accumulate((it.node_hours for it in found), min, initial=math.inf)
    return [structs.replace(it, on_the_front=it.node_hours < least) for it, least in zip(found, cheapest, strict=False)]


def recommended(alternatives: Sequence[Alternative], thrift: float) -> Alternative:
    """The plan with the best trade-off between makespan and node-hours.

    `thrift` (0 to 1) is the weight of node-hours: the cost is a weighted sum of logarithms, so that equal relative
    savings count equally. Among plans within 0.01 of the least cost, the one with the fewest node-hours.
    """

    def cost(it: Alternative) -> float:
        return (1 - thrift) * math.log(max(1.0, it.makespan_s)) + thrift * math.log(max(1e-3, it.node_hours))

    least = min(map(cost, alternatives))
    return min((it for it in alternatives if cost(it) <= least + 0.01), key=lambda it: it.node_hours)


def cheapest_in_time(alternatives: Sequence[Alternative]) -> Alternative:
    """The plan with the fewest node-hours that is in time in 90% of the futures; if none is, the likeliest."""
    likely = [it for it in alternatives if (it.in_time or 0.0) >= LIKELY]
    if likely:
        return min(likely, key=lambda it: it.node_hours)
    return max(alternatives, key=lambda it: (it.in_time or 0.0, -it.makespan_s))


def plan_table(
    alternatives: Sequence[Alternative], chosen: Alternative, width: int, *, in_cores: bool = False
) -> list[Text]:
    """One line per plan; an asterisk marks plans on the Pareto front of makespan and node-hours."""
    fields = [
        Field("makespan", "expected", lambda row: format_duration(row.makespan_s), 90),
        Field("makespan", "from", lambda row: format_duration(row.shortest_s), 60),
        Field("makespan", "to", lambda row: format_duration(row.longest_s), 61),
        *([Field("", "in time", lambda row: share(row.in_time or 0.0), 85)] if chosen.in_time is not None else []),
        Field("", "first wait", lambda row: waited(row.first_wait_s), 40),
        Field("", "jobs", lambda row: f"{row.jobs:,.0f}", 55),
        *hours_fields(in_cores),
        Field("", "front", lambda row: "*" if row.on_the_front else "", 50),
    ]
    names = [f"{row.plan} <-" if row is chosen else row.plan for row in alternatives]
    return table_lines("plan", names, alternatives, fields, width, total=False)


def chance(chosen: Alternative, deadline_s: float, futures: int) -> str:
    """One sentence: with which chance the recommended plan is in time."""
    within, in_time = format_duration(deadline_s), round((chosen.in_time or 0.0) * futures)
    told = f"in {in_time} of {count(futures, 'imagined future')}"
    if (chosen.in_time or 0.0) >= LIKELY:
        return f"{chosen.plan} is the cheapest plan that is likely to end within {within}: {told}"
    if not in_time:
        soonest = f"{chosen.plan} is expected to finish after {format_duration(chosen.makespan_s)}"
        return f"no plan ends within {within} in any of {count(futures, 'imagined future')}; {soonest}"
    return f"no plan is likely to end within {within}; {chosen.plan} has the best chance: {told}"


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
