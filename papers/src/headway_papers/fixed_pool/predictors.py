"""The predictors of Witt et al. 2019 (sections III-B and IV): how much memory a task gets, and what is learned."""

from __future__ import annotations

import math

from headway.kernels.compiled import inner
from headway_papers.fixed_pool.ladder import ladder_amount, ladder_learn, ladder_learn_failure
from headway_papers.fixed_pool.state import (
    AMOUNT,
    FAILURES,
    FINISHED,
    GIVEN,
    GUESSED,
    KNOWING,
    LADDER,
    LINE,
    LINE_MAX,
    LINE_MEAN,
    MEAN_X,
    MEAN_Y,
    MET,
    OFFSET,
    PERCENTILE,
    SMALLEST,
    USER,
    XX,
    XY,
    YY,
    Rules,
    Run,
    Tasks,
)

FEWEST_FOR_A_LINE = 2


@inner
def amount_for(tasks: Tasks, rules: Rules, run: Run, task: int) -> int:
    """The memory of the next attempt; computed once for each state of knowledge."""
    known = 1 + run.category[tasks.category[task], FINISHED]
    if known == 1:  # then the records of other categories matter
        known = -1 - run.counts[MET]
    if run.task[task, KNOWING] != known:
        run.task[task, KNOWING] = known
        if rules.predictor == LADDER:
            run.task[task, AMOUNT] = ladder_amount(tasks, rules, run, task)
        else:
            run.task[task, AMOUNT] = _amount(tasks, rules, run, task)
    return int(run.task[task, AMOUNT])


@inner
def learn_failure(tasks: Tasks, rules: Rules, run: Run, task: int) -> None:
    """An attempt ran out of memory."""
    if rules.predictor == LADDER:
        ladder_learn_failure(tasks, rules, run, task)


@inner
def _amount(tasks: Tasks, rules: Rules, run: Run, task: int) -> int:
    """The prediction, or the user's guess before there is one. After a failure, twice the amount that failed, unless
    that was a guess and there is a greater prediction now."""
    limit = rules.memory_bytes
    given = int(run.task[task, GIVEN])
    known = learned(tasks, rules, run, task)
    if not run.task[task, FAILURES]:
        return min(known, limit) if known else int(tasks.guess[task])
    if run.task[task, GUESSED] and known > given:
        return min(known, limit)
    return min(max(2 * given, known), limit)


@inner
def learned(tasks: Tasks, rules: Rules, run: Run, task: int) -> int:
    """The prediction from the records; 0 if there are too few."""
    category = tasks.category[task]
    records = run.category[category, FINISHED]
    if (
        rules.predictor in (USER, LADDER)
        or not records
        or (rules.predictor != PERCENTILE and records < FEWEST_FOR_A_LINE)
    ):
        return 0
    if rules.predictor == PERCENTILE:
        place = (records - 1) * rules.percent // 100
        part = (records - 1) * rules.percent % 100 / 100
        below = run.peaks[category, place]
        above = run.peaks[category, place + 1] if place + 1 < records else below
        value = below + part * (above - below)
    else:
        from_mean = tasks.input_bytes[task] - run.line[category, MEAN_X]
        value = run.line[category, MEAN_Y] + _slope(run, category) * from_mean + run.line[category, OFFSET]
        value = max(run.line[category, SMALLEST], value)
    return int(max(1.0, math.ceil(value)))


@inner
def _slope(run: Run, category: int) -> float:
    square = run.line[category, XX]
    return run.line[category, XY] / square if square > 0.0 else 0.0


@inner
def learn(tasks: Tasks, rules: Rules, run: Run, task: int) -> None:
    """Add the record of a success to its category."""
    category = tasks.category[task]
    records = run.category[category, FINISHED]
    run.counts[MET] += records == 0
    if rules.predictor == LADDER:
        ladder_learn(tasks, rules, run, task)
        return
    x, y = tasks.input_bytes[task], float(tasks.peak[task])
    if rules.predictor == PERCENTILE:
        place = records
        while place > 0 and run.peaks[category, place - 1] > y:
            run.peaks[category, place] = run.peaks[category, place - 1]
            place -= 1
        run.peaks[category, place] = y
        return
    if rules.predictor == USER:
        return
    run.peaks[category, records] = y
    run.inputs[category, records] = x
    records += 1
    line = run.line
    from_x, from_y = x - line[category, MEAN_X], y - line[category, MEAN_Y]
    line[category, MEAN_X] += from_x / records
    line[category, MEAN_Y] += from_y / records
    line[category, XX] += from_x * (x - line[category, MEAN_X])
    line[category, XY] += from_x * (y - line[category, MEAN_Y])
    line[category, YY] += from_y * (y - line[category, MEAN_Y])
    line[category, SMALLEST] = y if records == 1 else min(y, line[category, SMALLEST])
    line[category, OFFSET] = _offset(rules, run, category, records)


@inner
def _offset(rules: Rules, run: Run, category: int, records: int) -> float:
    """Section IV-B: equation 1, 2 or 3, over the errors of all records against the current line."""
    if rules.predictor == LINE or records < FEWEST_FOR_A_LINE:
        return 0.0
    line = run.line
    slope = _slope(run, category)
    if rules.predictor == LINE_MEAN:
        return math.sqrt(max(0.0, line[category, YY] - slope * line[category, XY]) / (records - 1))
    greatest = squares = 0.0
    under = 0
    for index in range(records):
        on_line = slope * (run.inputs[category, index] - line[category, MEAN_X])
        error = run.peaks[category, index] - line[category, MEAN_Y] - on_line
        if error > 0.0:
            greatest = max(greatest, error)
            squares += error * error
            under += 1
    if rules.predictor == LINE_MAX:
        return greatest
    return math.sqrt(squares / (under - 1)) if under > 1 else 0.0
