"""A workflow through a fixed pool by the compiled simulator: the results of `recorded_in_pool`, hundreds of times as
fast."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from headway.engine.engine import READ_AHEAD
from headway.engine.placer import MOST_OVERTAKINGS, MOST_TRIED
from headway.kernels.ladder import MOST_RUNGS
from headway.model.instance import Instance
from headway.model.resources import Resources
from headway.ordering.learning_rank import (
    CAUTION,
    GROWTH,
    STEPS_A_DOUBLING,
    LearningRank,
    LearningRankCautious,
    waiting_below,
)
from headway.simulation.replay import Cost
from headway.sizing.estimators import first_tasks, ladder
from headway_papers.fixed_pool import state
from headway_papers.fixed_pool.kernel import through_pool
from headway_papers.fixed_pool.pool import POOL, PoolResult

# The sizers that the compiled simulator has, and the percentile where there is one.
PREDICTORS: dict[str, tuple[int, int]] = {
    "user": (state.USER, 0),
    "percentile-50": (state.PERCENTILE, 50),
    "percentile-95": (state.PERCENTILE, 95),
    "linear-regression-none": (state.LINE, 0),
    "linear-regression-mean": (state.LINE_MEAN, 0),
    "linear-regression-mean-minus": (state.LINE_MEAN_MINUS, 0),
    "linear-regression-max": (state.LINE_MAX, 0),
    "ladder": (state.LADDER, 0),
}
# The orders that it has: the key by the graph, and the sign of failures in a key.
ORDERS: dict[str, tuple[str, int]] = {
    "fifo": ("", 0),
    LearningRank.name: ("rank", -1),
    LearningRankCautious.name: ("rank", -1),
    **{
        f"{name}{suffix}": (name, sign)
        for name in ("bfs", "dfs", "rank", "least-finished-first")
        for suffix, sign in (("", -1), ("-postpone", 1))
    },
}


class Prepared(Struct, frozen=True):
    """A workflow as arrays, which many runs share."""

    tasks: state.Tasks
    first: dict[str, state.Ints]  # keys of the tasks, by kind of order
    categories: int


def prepared(instance: Instance) -> Prepared:
    """Turn a workflow into arrays. All tasks must have a memory hint and a peak."""
    workflow = instance.workflow
    ids = {task_id: number for number, task_id in enumerate(workflow.tasks)}
    categories = {name: number for number, name in enumerate(dict.fromkeys(task.category for task in workflow))}
    recorded = [instance.recorded[task_id] for task_id in ids]
    children = [ids[child] for task_id in ids for child in workflow.children[task_id]]
    lengths = [0, *(len(workflow.children[task_id]) for task_id in ids)]
    levels, ranks = workflow.levels(), workflow.ranks()
    depth = np.array([levels[task_id] for task_id in ids], np.int64)
    rank = np.array([ranks[task_id] for task_id in ids], np.int64)
    none = np.zeros(len(ids), np.int64)
    below = waiting_below(workflow)
    tasks = state.Tasks(
        category=np.array([categories[task.category] for task in workflow], np.int64),
        run_s=np.array([seen.run_s for seen in recorded], np.float64),
        peak=np.array([seen.memory_bytes for seen in recorded], np.int64),
        input_bytes=np.array(
            [sum(instance.file_bytes.get(path, 0) for path in task.inputs) for task in workflow], np.float64
        ),
        guess=np.array([task.hints["memory_bytes"] for task in workflow], np.int64),
        parents=np.array([len(task.parents) for task in workflow], np.int64),
        first_child=np.cumsum(np.array(lengths, np.int64)),
        children=np.array(children, np.int64),
        topological=np.array([ids[task_id] for task_id in workflow.topological()], np.int64),
        below=np.array([below[task_id] / len(ids) for task_id in ids], np.float64),
    )
    first = {"": none, "least-finished-first": none, "bfs": depth, "dfs": -depth, "rank": -rank}
    return Prepared(tasks, first, len(categories))


def compiled_in_pool(workflow: Prepared, order: str, sizer: str, ttf: float, pool: Resources = POOL) -> PoolResult:
    """Simulate one run."""
    tasks = workflow.tasks
    if tasks.peak.max() > pool.memory_bytes or tasks.guess.max() > pool.memory_bytes:
        raise ValueError("the compiled simulator cannot run a task that is larger than the pool")
    by, handling = ORDERS[order]
    predictor, percent = PREDICTORS[sizer]
    rules = state.Rules(
        first=workflow.first[by],
        by_finished=int(by == "least-finished-first"),
        learning=int(order in (LearningRank.name, LearningRankCautious.name)),
        steps_a_doubling=STEPS_A_DOUBLING,
        growth=GROWTH,
        handling=handling,
        predictor=predictor,
        percent=percent,
        ttf=ttf,
        cores=int(pool.cores),
        memory_bytes=pool.memory_bytes,
        read_ahead=READ_AHEAD,
        most_tried=MOST_TRIED,
        most_overtakings=MOST_OVERTAKINGS,
        forget=np.array([expert.forget for expert in ladder.EXPERTS]),
        bandwidth=np.array([expert.bandwidth for expert in ladder.EXPERTS]),
        remembered=ladder.REMEMBERED,
        spread=ladder.SPREAD,
        forgiving=ladder.FORGIVING,
        longest_mean=ladder._LONGEST_MEAN,
        fewest_hints=first_tasks.FEWEST,
        shortest_s=ladder.SHORTEST_S,
        caution=CAUTION if order == LearningRankCautious.name else 0.0,
    )
    run = _empty_run(len(tasks.category), workflow.categories, int(pool.cores))
    through_pool(tasks, rules, run)
    used, unused, lost, makespan_s = (float(total) for total in run.totals)
    cost = Cost(used, unused, lost, int(run.counts[state.FAILURES_ALL]))
    done = run.counts[state.DONE] == len(tasks.category)
    status = "succeeded" if done else "unfinished"
    return PoolResult(status, makespan_s, int(run.counts[state.ATTEMPTS]), cost)


def _empty_run(tasks: int, categories: int, cores: int) -> state.Run:
    whole, numbers = np.int64, np.float64
    return state.Run(
        task=np.zeros((tasks, 12), whole),
        category=np.zeros((categories, 5), whole),
        unread=np.zeros((categories, tasks), whole),
        fresh=np.zeros((categories, tasks), whole),
        failed=np.zeros((categories, tasks), whole),
        peaks=np.zeros((categories, tasks), numbers),
        inputs=np.zeros((categories, tasks), numbers),
        line=np.zeros((categories, 7), numbers),
        ladder=_empty_ladders(categories),
        run_s=np.zeros((categories, tasks), numbers),
        rungs=np.zeros(MOST_RUNGS, numbers),
        scratch=np.zeros((2, categories), numbers),
        rank=np.zeros(tasks, numbers),
        seconds=np.zeros(categories + 1, numbers),
        lasted_s=np.zeros(tasks, numbers),
        running=np.zeros(cores, whole),
        ends=np.zeros(cores, numbers),
        tried=np.zeros((2 * categories, MOST_TRIED), whole),
        cursors=np.zeros((2 * categories, 3), whole),
        totals=np.zeros(4, numbers),
        counts=np.zeros(9, whole),
    )


def _empty_ladders(categories: int) -> state.Floats:
    rows = np.zeros((categories, 10))
    rows[:, state.FAILED_SHARE] = 1.0
    return rows
