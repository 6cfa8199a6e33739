"""The sizer `ladder` for the compiled simulator; see `headway.sizing.estimators.ladder` for what it does."""

from __future__ import annotations

import math

import numpy as np

from headway.kernels.compiled import inner
from headway.kernels.ladder import MOST_RUNGS, price, rungs_of
from headway_papers.fixed_pool.state import (
    CHARGED,
    FAILED_SHARE,
    FAILURES,
    FINISHED,
    GIVEN,
    HELD,
    INPUTS_KNOWN,
    OF_HINT,
    PUT_DOWN,
    PUT_DOWN_ALL,
    PUT_DOWNS,
    SEEN,
    Rules,
    Run,
    Tasks,
)

_price = inner(price)
_rungs_of = rungs_of.compile_now()
# `_rungs_of` allocates memory, so it must be compiled before the functions that call it: hence this call.
_ONE = np.ones(1)
_rungs_of(_ONE, _ONE, _ONE, 0.0, 0.0, 0.0, 1.0, 0.0, 0.1, 0.0, np.zeros(MOST_RUNGS))


@inner
def ladder_amount(tasks: Tasks, rules: Rules, run: Run, task: int) -> int:
    """`Ladder.predict` for memory."""
    category = tasks.category[task]
    records = min(run.category[category, FINISHED], rules.remembered)
    above = run.task[task, GIVEN] if run.task[task, FAILURES] else 0
    if not records:
        return _from_hint(tasks, rules, run, task, above)
    best = 0
    for expert in range(1, len(rules.forget)):
        if run.ladder[category, CHARGED + expert] < run.ladder[category, CHARGED + best]:
            best = expert
    lost = (_at_stake(tasks, rules, task) + run.ladder[category, HELD]) * rules.memory_bytes
    count = _climb(tasks, rules, run, task, records, best, lost)
    for index in range(count):
        amount = math.ceil(run.rungs[index])
        if amount > above:
            return min(int(amount), rules.memory_bytes)
    return min(2 * above, rules.memory_bytes)


@inner
def _at_stake(tasks: Tasks, rules: Rules, task: int) -> float:
    """`Order.at_stake`."""
    return float(rules.caution * tasks.below[task])


@inner
def _climb(tasks: Tasks, rules: Rules, run: Run, task: int, records: int, expert: int, lost: float) -> int:
    """`Ladder._climb`."""
    category = tasks.category[task]
    log_input = math.nan
    if rules.bandwidth[expert] > 0.0 and run.ladder[category, INPUTS_KNOWN] > 0.0:
        log_input = _log_input(tasks, task)
    count: int = _rungs_of(
        run.peaks[category, :records],
        run.run_s[category, :records],
        run.inputs[category, :records],
        rules.forget[expert],
        log_input,
        rules.bandwidth[expert],
        run.ladder[category, FAILED_SHARE],
        lost,
        rules.spread,
        0.0,  # any number of attempts may fail
        run.rungs,
    )
    return count


@inner
def _log_input(tasks: Tasks, task: int) -> float:
    return math.log(tasks.input_bytes[task]) if tasks.input_bytes[task] > 0.0 else math.nan


@inner
def _from_hint(tasks: Tasks, rules: Rules, run: Run, task: int, above: int) -> int:
    """`Ladder._from_hint`: what other categories' first tasks used of their hints, with this hint on top."""
    hint = int(tasks.guess[task])
    others = 0
    for category in range(len(run.ladder)):
        if run.category[category, FINISHED]:
            share = min(1.0, run.ladder[category, OF_HINT])
            run.scratch[0, others] = math.log(max(1.0, share * hint))
            run.scratch[1, others] = 1.0
            others += 1
    if others >= rules.fewest_hints:
        category = tasks.category[task]
        same = run.scratch[1, :others]
        share = run.ladder[category, FAILED_SHARE]
        lost = _at_stake(tasks, rules, task) * rules.memory_bytes
        count = _rungs_of(
            run.scratch[0, :others], same, same, 0.0, math.nan, 0.0, share, lost, rules.spread, 0.0, run.rungs
        )
        for index in range(count):
            if run.rungs[index] >= hint:
                break
            amount = math.ceil(run.rungs[index])
            if amount > above:
                return int(amount)
        if hint > above:
            return hint
    elif not above:
        return hint
    return min(2 * above, rules.memory_bytes)


@inner
def ladder_learn_failure(tasks: Tasks, rules: Rules, run: Run, task: int) -> None:
    """Keep how long the failed attempt lasted until the task succeeds; if there are too many, drop the oldest."""
    category = tasks.category[task]
    run.lasted_s[task] = tasks.run_s[task] * rules.ttf
    if run.task[task, PUT_DOWN]:
        return
    run.counts[PUT_DOWN_ALL] += 1
    run.task[task, PUT_DOWN] = run.counts[PUT_DOWN_ALL]
    run.ladder[category, PUT_DOWNS] += 1.0
    if run.ladder[category, PUT_DOWNS] > rules.remembered:
        oldest = task
        for other in range(len(tasks.category)):
            put_down = run.task[other, PUT_DOWN]
            if tasks.category[other] == category and 0 < put_down < run.task[oldest, PUT_DOWN]:
                oldest = other
        run.task[oldest, PUT_DOWN] = 0
        run.ladder[category, PUT_DOWNS] -= 1.0


@inner
def ladder_learn(tasks: Tasks, rules: Rules, run: Run, task: int) -> None:
    """`Ladder.observe` for a success."""
    category = tasks.category[task]
    finished = run.category[category, FINISHED]
    records = min(finished, rules.remembered)
    row = run.ladder[category]
    seconds = tasks.run_s[task]
    peak = float(tasks.peak[task])
    if not finished:
        row[OF_HINT] = peak / tasks.guess[task]
    if run.task[task, PUT_DOWN]:
        run.task[task, PUT_DOWN] = 0
        row[PUT_DOWNS] -= 1.0
        if seconds > 0.0:
            row[SEEN] += 1.0
            weight = 1.0 / min(row[SEEN] + 2.0, rules.longest_mean)
            row[FAILED_SHARE] += weight * (min(1.0, run.lasted_s[task] / seconds) - row[FAILED_SHARE])
    units = max(1.0, peak)
    charged = max(rules.shortest_s, seconds)
    if records:
        for expert in range(len(rules.forget)):
            count = _climb(tasks, rules, run, task, records, expert, 0.0)
            cost = charged * _price(run.rungs, count, units, row[FAILED_SHARE], 0.0)
            row[CHARGED + expert] = rules.forgiving * row[CHARGED + expert] + cost
    if records == rules.remembered:
        records -= 1
        for index in range(records):
            run.peaks[category, index] = run.peaks[category, index + 1]
            run.run_s[category, index] = run.run_s[category, index + 1]
            run.inputs[category, index] = run.inputs[category, index + 1]
    run.peaks[category, records] = math.log(units)
    run.run_s[category, records] = charged
    run.inputs[category, records] = _log_input(tasks, task)
    if tasks.input_bytes[task] > 0.0:
        row[INPUTS_KNOWN] = 1.0
    core, memory = 1.0 / rules.cores, peak / rules.memory_bytes
    row[HELD] = (core + memory) - memory
