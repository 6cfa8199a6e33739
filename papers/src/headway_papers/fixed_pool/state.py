"""The arrays of the compiled simulator: a workflow, the rules of a run, and the state of a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Predictors.
USER, PERCENTILE, LINE, LINE_MEAN, LINE_MEAN_MINUS, LINE_MAX, LADDER = range(7)
# Columns of `Run.task`: unfinished parents; failures; number of its arrival; memory given; whether that was the user's
# guess; how often it was overtaken; the amount computed last, and from how many records; when it was recorded as
# failed; its key by topology, and by learned run times; 0 if a new category is to be learned by this task, else 1.
LEFT, FAILURES, ARRIVAL, GIVEN, GUESSED, OVERTAKEN, AMOUNT, KNOWING, PUT_DOWN, FIRST, LAST, LATER = range(12)
# Columns of `Run.category`: successes; tasks that are unread, placeable, placeable after a failure; the task by
# which it is to be learned, counted from 1.
FINISHED, UNREAD, FRESH, FAILED, PROBE = range(5)
# Columns of `Run.line`: means of inputs and peaks, sums of squares and products about them, the least peak, the offset.
MEAN_X, MEAN_Y, XX, XY, YY, SMALLEST, OFFSET = range(7)
# `Run.totals`: byte-seconds used, not used, failed; and the makespan.
USED, UNUSED, LOST, MAKESPAN = range(4)
# `Run.counts`: attempts, failures, arrivals, tasks running, tasks done, categories with a success, tasks recorded as
# failed; for `learning-rank`: categories with a success when ranks were computed, whether the ranks are still valid.
ATTEMPTS, FAILURES_ALL, ARRIVALS, RUNNING, DONE, MET, PUT_DOWN_ALL, KNOWN_THEN, FRESH_RANKS = range(9)
# Columns of `Run.ladder`: the cost of each expert; the share of a run time after which attempts fail, and how often
# that was observed; the share of its hint that the first task used; whether input sizes are known; tasks recorded
# as failed; the share of a node that its tasks hold besides memory.
CHARGED, FAILED_SHARE, SEEN, OF_HINT, INPUTS_KNOWN, PUT_DOWNS, HELD = 0, 4, 5, 6, 7, 8, 9


class Tasks(NamedTuple):
    """A workflow. Categories and tasks are numbered."""

    category: Ints
    run_s: Floats
    peak: Ints
    input_bytes: Floats
    guess: Ints
    parents: Ints
    first_child: Ints
    children: Ints
    topological: Ints  # parents first
    below: Floats  # the share of all tasks that depend on it


class Rules(NamedTuple):
    """The rules of a run: `first` is each task's key by topology, `by_finished` whether categories have one, `learning`
    whether the order is `learning-rank`, `handling` the sign of failures in a key (0: they do not count)."""

    first: Ints
    by_finished: int
    learning: int
    steps_a_doubling: int
    growth: float
    handling: int
    predictor: int
    percent: int
    ttf: float
    cores: int
    memory_bytes: int
    read_ahead: int
    most_tried: int
    most_overtakings: int
    forget: Floats  # of `ladder`: an entry an expert
    bandwidth: Floats
    remembered: int
    spread: float
    forgiving: float
    longest_mean: float
    fewest_hints: int
    shortest_s: float
    caution: float


class Run(NamedTuple):
    """The state of a run."""

    task: Ints  # a row a task
    category: Ints  # a row a category
    unread: Ints  # a row a category: tasks in order of their keys
    fresh: Ints
    failed: Ints
    peaks: Floats  # a row a category: in order of size for percentiles, else as they came
    inputs: Floats
    line: Floats  # a row a category
    ladder: Floats  # a row a category
    run_s: Floats  # a row a category: with `peaks` and `inputs`, as logarithms, the records of `ladder`
    rungs: Floats
    scratch: Floats
    rank: Floats  # of each task, as `learning-rank` has it
    seconds: Floats  # of each category's successes together, at last of all
    lasted_s: Floats  # of a task's last failed attempt
    running: Ints  # tasks, in the order of their launches
    ends: Floats
    tried: Ints  # a row a lane: amounts that did not fit
    cursors: Ints  # a row a lane: position, number of amounts tried, whether the lane is skipped
    totals: Floats
    counts: Ints
