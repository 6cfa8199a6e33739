"""The two modes, as published and clean, and the runs that each of them needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, structs

from headway.studies.queues import Queue
from headway.studies.runs import Run
from headway_papers.glume.goal import OURS, REQUESTS, RIVALS
from headway_papers.glume.plans import GLUME_AS_CODED, VARIANTS, ZHANG_AS_CODED
from headway_papers.glume.starts import SLOTS, THESIS_WEEK, WEEKS, Week, seeded_weeks, starts_of
from headway_papers.glume.workflows import Found, Workflow

AS_PUBLISHED, CLEAN = "as-published", "clean"
MODES = (AS_PUBLISHED, CLEAN)
CAP = 16  # chapter 7: jobs that a user may have in the queue
CAPS = (8, 16, 32, 64, 128)
OTHER_CAP = 128
_SIMPLE = ("one-job", "one-job-per-task", "level-by-level")
THESIS_PLANS = (*_SIMPLE, ZHANG_AS_CODED, GLUME_AS_CODED, "zhang", "glume")
CHAPTER_5_PLANS = (*_SIMPLE, ZHANG_AS_CODED)
CLEAN_PLANS = (OURS, *RIVALS)
CHAPTER_5_TASKS = 250

_PUBLISHED_QUEUE = Queue("", cancelled="full-request", nodes="contiguous", rules="batsched")
_CLEAN_QUEUE = Queue("", cancelled="drop", nodes="counts")


class Size(Struct, frozen=True):
    """How much to run: starts of a workflow, and the caps on jobs under which Zhang's variants are compared."""

    as_published: int
    clean: int
    enhancements: int
    caps: tuple[int, ...] = (CAP, OTHER_CAP)


QUICK = Size(as_published=2, clean=2, enhancements=1)
FULL = Size(as_published=SLOTS, clean=WEEKS * -(-SLOTS // WEEKS), enhancements=SLOTS, caps=CAPS)


class Asked(Struct, frozen=True):
    """What to run."""

    found: Found
    size: Size
    seed: int = 0
    plans: tuple[str, ...] = ()  # only these; empty means all
    cap: int = CAP

    def of(self, plans: Iterable[str]) -> list[str]:
        """Those of `plans` that are to be run."""
        return [plan for plan in plans if not self.plans or plan in self.plans]


def clean_runs(asked: Asked) -> Iterator[Run]:
    """Four seeded weeks of each log after seven days of warm-up; nodes are only counted."""
    named = [plan for plan in asked.plans if plan not in CLEAN_PLANS]
    for log, trace in asked.found.logs.items():
        queue = structs.replace(_CLEAN_QUEUE, trace=trace, most_jobs=asked.cap)
        weeks = seeded_weeks(log, float(queue.jobs().submit_s[-1]), asked.seed)
        for requests in REQUESTS:
            here = structs.replace(queue, requests=requests)
            yield from _runs(
                here, weeks, log, asked.found.workflows, asked, asked.size.clean, [*asked.of(CLEAN_PLANS), *named]
            )


def published_runs(asked: Asked) -> Iterator[Run]:
    """Chapter 7: the log's first week from an empty machine, after a day."""
    for requests in REQUESTS:
        plans = asked.of(THESIS_PLANS)
        yield from _thesis_runs(asked, requests, asked.cap, plans, asked.found.workflows, asked.size.as_published)


def chapter_5_runs(asked: Asked) -> Iterator[Run]:
    """Figures 5.2, 5.3 and A.1: accurate requests, workflows of 250 tasks, two caps."""
    chosen = [it for it in asked.found.workflows if it.tasks == CHAPTER_5_TASKS]
    for cap in (OTHER_CAP, CAP):
        yield from _thesis_runs(asked, "accurate", cap, asked.of(CHAPTER_5_PLANS), chosen, asked.size.as_published)


def enhancement_runs(asked: Asked) -> Iterator[Run]:
    """§5.3: Zhang's algorithm in eight variants under several caps, all five with --full."""
    chosen = [it for it in asked.found.workflows if it.tasks == CHAPTER_5_TASKS]
    plans = [plan.name for plan in VARIANTS if not asked.plans or plan.name in asked.plans]
    for cap in asked.size.caps:
        yield from _thesis_runs(asked, "accurate", cap, plans, chosen, asked.size.enhancements)


def _thesis_runs(
    asked: Asked, requests: str, cap: int, plans: Sequence[str], workflows: Sequence[Workflow], count: int
) -> Iterator[Run]:
    for log, trace in asked.found.logs.items():
        minutes = requests == "accurate"
        queue = structs.replace(_PUBLISHED_QUEUE, trace=trace, requests=requests, whole_minutes=minutes, most_jobs=cap)
        yield from _runs(queue, [THESIS_WEEK], log, workflows, asked, count, plans)


def _runs(
    queue: Queue,
    weeks: list[Week],
    log: str,
    workflows: Sequence[Workflow],
    asked: Asked,
    count: int,
    plans: Sequence[str],
) -> Iterator[Run]:
    for workflow in workflows:
        for week, start_s in starts_of(weeks, log, workflow.name, count, asked.seed):
            here = structs.replace(queue, begins_s=week.begins_s)
            for plan in plans:
                yield Run(here, workflow.file, start_s, plan)
