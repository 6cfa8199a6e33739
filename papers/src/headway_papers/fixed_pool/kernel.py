"""A workflow through a fixed pool, in machine code, for studies of tens of thousands of runs.

Re-implements the engine, the placer, the orders and the sizers for one node, tasks of one core each, and memory. A test
compares it with the engine on random scenarios.
"""

from __future__ import annotations

import math

from headway.kernels.compiled import compiled, inner
from headway_papers.fixed_pool.predictors import amount_for, learn, learn_failure, learned
from headway_papers.fixed_pool.state import (
    ARRIVAL,
    ARRIVALS,
    ATTEMPTS,
    DONE,
    FAILED,
    FAILURES,
    FAILURES_ALL,
    FINISHED,
    FIRST,
    FRESH,
    FRESH_RANKS,
    GIVEN,
    GUESSED,
    KNOWING,
    KNOWN_THEN,
    LAST,
    LATER,
    LEFT,
    LOST,
    MAKESPAN,
    MET,
    OVERTAKEN,
    PROBE,
    RUNNING,
    UNREAD,
    UNUSED,
    USED,
    Ints,
    Rules,
    Run,
    Tasks,
)


@compiled
def through_pool(tasks: Tasks, rules: Rules, run: Run) -> None:
    """Simulate the whole workflow; the results are in `run`, which is empty before."""
    now = 0.0
    for task in range(len(tasks.category)):
        run.task[task, LEFT] = tasks.parents[task]
        if not tasks.parents[task]:
            _arrive(tasks, rules, run, task)
            _insert(rules, run, run.unread, tasks.category[task], UNREAD, task)
    free_cores, free_bytes = rules.cores, rules.memory_bytes
    while True:
        while True:
            _read(rules, run)
            before = run.counts[RUNNING]
            free_cores, free_bytes = _place(tasks, rules, run, now, free_cores, free_bytes)
            if before == run.counts[RUNNING]:
                break
        if not run.counts[RUNNING]:
            break
        now = math.inf
        for index in range(run.counts[RUNNING]):
            now = min(now, run.ends[index])
        kept = 0
        for index in range(run.counts[RUNNING]):
            task = run.running[index]
            if run.ends[index] == now:
                free_cores += 1
                free_bytes += run.task[task, GIVEN]
                _end(tasks, rules, run, task)
            else:
                run.running[kept] = task
                run.ends[kept] = run.ends[index]
                kept += 1
        run.counts[RUNNING] = kept
    run.totals[MAKESPAN] = now


# --- the order of ready tasks ---


@inner
def _arrive(tasks: Tasks, rules: Rules, run: Run, task: int) -> None:
    """Give a task that became ready its key."""
    run.counts[ARRIVALS] += 1
    run.task[task, ARRIVAL] = run.counts[ARRIVALS]
    run.task[task, FIRST] = rules.first[task]
    if not rules.learning:
        return
    if not run.counts[FRESH_RANKS]:
        _rank(tasks, run)
    run.task[task, LAST] = -round(rules.steps_a_doubling * math.log2(max(1.0, run.rank[task])))
    category = tasks.category[task]
    run.task[task, LATER] = 1
    if not run.category[category, FINISHED]:
        if not run.category[category, PROBE]:
            run.category[category, PROBE] = task + 1
        run.task[task, LATER] = run.category[category, PROBE] != task + 1


@inner
def _rank(tasks: Tasks, run: Run) -> None:
    """Compute the longest path to an exit for each task, from the known mean run times of categories."""
    run.counts[FRESH_RANKS] = 1
    run.counts[KNOWN_THEN] = run.counts[MET]
    every_s = run.seconds[len(run.category)]
    mean_s = every_s / run.counts[DONE] if every_s > 0.0 else 0.0
    for place in range(len(tasks.topological) - 1, -1, -1):
        task = tasks.topological[place]
        below = 0.0
        for index in range(tasks.first_child[task], tasks.first_child[task + 1]):
            below = max(below, run.rank[tasks.children[index]])
        category = tasks.category[task]
        successes = run.category[category, FINISHED]
        known = successes > 0 and every_s > 0.0
        run.rank[task] = (run.seconds[category] / successes / mean_s if known else 1.0) + below


@inner
def _know_times(tasks: Tasks, rules: Rules, run: Run, task: int) -> None:
    """Record the run time of a success; from time to time the ranks must be computed again."""
    run.seconds[tasks.category[task]] += tasks.run_s[task]
    run.seconds[len(run.category)] += tasks.run_s[task]
    done = run.counts[DONE]
    if done & (done - 1) == 0 or run.counts[MET] > rules.growth * run.counts[KNOWN_THEN]:
        run.counts[FRESH_RANKS] = 0


@inner
def _before(rules: Rules, run: Run, one: int, other: int) -> bool:
    """Whether one task goes before the other, apart from the keys of their categories."""
    if run.task[one, LATER] != run.task[other, LATER]:
        return bool(run.task[one, LATER] < run.task[other, LATER])
    if run.task[one, FIRST] != run.task[other, FIRST]:
        return bool(run.task[one, FIRST] < run.task[other, FIRST])
    mine, theirs = rules.handling * run.task[one, FAILURES], rules.handling * run.task[other, FAILURES]
    if mine != theirs:
        return bool(mine < theirs)
    if run.task[one, LAST] != run.task[other, LAST]:
        return bool(run.task[one, LAST] < run.task[other, LAST])
    return bool(run.task[one, ARRIVAL] < run.task[other, ARRIVAL])


@inner
def _insert(rules: Rules, run: Run, rows: Ints, category: int, size: int, task: int) -> None:
    """Insert a task by its key, searching from the end, where most new tasks belong."""
    place = run.category[category, size]
    run.category[category, size] += 1
    while place > 0 and _before(rules, run, task, rows[category, place - 1]):
        rows[category, place] = rows[category, place - 1]
        place -= 1
    rows[category, place] = task


@inner
def _remove(run: Run, rows: Ints, category: int, size: int, place: int) -> None:
    run.category[category, size] -= 1
    for index in range(place, run.category[category, size]):
        rows[category, index] = rows[category, index + 1]


@inner
def _read(rules: Rules, run: Run) -> None:
    """Make the first unread tasks of each category placeable, up to `read_ahead` of them."""
    for category in range(len(run.category)):
        room = rules.read_ahead - run.category[category, FRESH] - run.category[category, FAILED]
        count = max(0, min(room, run.category[category, UNREAD]))
        for index in range(count):
            _insert(rules, run, run.fresh, category, FRESH, run.unread[category, index])
        for index in range(count, run.category[category, UNREAD]):
            run.unread[category, index - count] = run.unread[category, index]
        run.category[category, UNREAD] -= count


# --- the placer ---


@inner
def _place(tasks: Tasks, rules: Rules, run: Run, now: float, free_cores: int, free_bytes: int) -> tuple[int, int]:
    """Place tasks by first fit, in order. A lane is a category, or the failed tasks of one. Returns what is left."""
    blocked = -1
    for lane in range(2 * len(run.category)):
        for column in range(3):
            run.cursors[lane, column] = 0
    while free_cores > 0 and free_bytes > 0:
        if blocked >= 0 and run.task[blocked, OVERTAKEN] >= rules.most_overtakings:
            break
        lane = _first_lane(rules, run)
        if lane < 0:
            break
        category, failed_before = lane // 2, lane % 2
        place = run.cursors[lane, 0]
        task = run.failed[category, place] if failed_before else run.fresh[category, place]
        amount = amount_for(tasks, rules, run, task)
        if amount > free_bytes:
            if blocked < 0:
                blocked = task
            run.cursors[lane, 0] += 1
            known = False
            for index in range(run.cursors[lane, 1]):
                known = known or run.tried[lane, index] == amount
            if known or run.cursors[lane, 1] + 1 >= rules.most_tried:
                run.cursors[lane, 2] = 1
            else:
                run.tried[lane, run.cursors[lane, 1]] = amount
                run.cursors[lane, 1] += 1
            continue
        free_cores -= 1
        free_bytes -= amount
        if failed_before:
            _remove(run, run.failed, category, FAILED, place)
        else:
            _remove(run, run.fresh, category, FRESH, place)
        _launch(tasks, rules, run, task, amount, now)
        run.task[task, OVERTAKEN] = 0
        if blocked >= 0:
            run.task[blocked, OVERTAKEN] += 1
    return free_cores, free_bytes


@inner
def _first_lane(rules: Rules, run: Run) -> int:
    """The lane whose next task goes first; -1: there is none."""
    best = -1
    best_task = -1
    for lane in range(2 * len(run.category)):
        if run.cursors[lane, 2]:
            continue
        category, place = lane // 2, run.cursors[lane, 0]
        if place >= run.category[category, FAILED if lane % 2 else FRESH]:
            continue
        task = run.failed[category, place] if lane % 2 else run.fresh[category, place]
        if best >= 0:
            mine, theirs = run.category[category, FINISHED], run.category[best // 2, FINISHED]
            if rules.by_finished and mine != theirs:
                if mine > theirs:
                    continue
            elif not _before(rules, run, task, best_task):
                continue
        best, best_task = lane, task
    return best


@inner
def _launch(tasks: Tasks, rules: Rules, run: Run, task: int, amount: int, now: float) -> None:
    fails = tasks.peak[task] > amount
    lasts_s = tasks.run_s[task] * rules.ttf if fails else tasks.run_s[task]
    known = learned(tasks, rules, run, task)
    if not run.task[task, FAILURES]:
        run.task[task, GUESSED] = known == 0
    elif known > run.task[task, GIVEN]:
        run.task[task, GUESSED] = 0
    run.task[task, GIVEN] = amount
    run.running[run.counts[RUNNING]] = task
    run.ends[run.counts[RUNNING]] = now + lasts_s
    run.counts[RUNNING] += 1
    run.counts[ATTEMPTS] += 1
    if fails:
        run.totals[LOST] += amount * lasts_s
    else:
        run.totals[USED] += tasks.peak[task] * lasts_s
        run.totals[UNUSED] += (amount - tasks.peak[task]) * lasts_s


@inner
def _end(tasks: Tasks, rules: Rules, run: Run, task: int) -> None:
    category = tasks.category[task]
    if tasks.peak[task] > run.task[task, GIVEN]:
        run.counts[FAILURES_ALL] += 1
        run.task[task, FAILURES] += 1
        run.task[task, KNOWING] = 0
        learn_failure(tasks, rules, run, task)
        _arrive(tasks, rules, run, task)
        _insert(rules, run, run.failed, category, FAILED, task)
        return
    run.counts[DONE] += 1
    learn(tasks, rules, run, task)
    run.category[category, FINISHED] += 1
    if rules.learning:
        _know_times(tasks, rules, run, task)
    for index in range(tasks.first_child[task], tasks.first_child[task + 1]):
        child = tasks.children[index]
        run.task[child, LEFT] -= 1
        if not run.task[child, LEFT]:
            _arrive(tasks, rules, run, child)
            _insert(rules, run, run.unread, tasks.category[child], UNREAD, child)
