"""What the compiled twin of a pool knows: a workflow as numbers, the rules of a run, and all that changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Predictors.
USER, PERCENTILE, LINE, LINE_MEAN, LINE_MEAN_MINUS, LINE_MAX, LADDER = range(7)
# Columns of `Run.task`: how many parents it waits for; failures; arrival; given; whether that was the user's guess;
# how often it was overtaken; the amount that was worked out for it last, and from how much knowledge; when it was put
# down as failed; its key by topology, and by learned run times; whether it is not the one of its kind that is to
# teach.
LEFT, FAILURES, ARRIVAL, GIVEN, GUESSED, OVERTAKEN, AMOUNT, KNOWING, PUT_DOWN, FIRST, LAST, LATER = range(12)
# Columns of `Run.category`: successes; how many tasks are unread, placeable, placeable again; the
# task that is to teach, counted from 1.
FINISHED, UNREAD, FRESH, FAILED, PROBE = range(5)
# Columns of `Run.line`: means of inputs and peaks, sums of squares and products about them, the least peak, the offset.
MEAN_X, MEAN_Y, XX, XY, YY, SMALLEST, OFFSET = range(7)
# `Run.totals`: byte-seconds used, not used, failed; and the makespan.
USED, UNUSED, LOST, MAKESPAN = range(4)
# `Run.counts`: attempts, failures, arrivals so far, tasks running, tasks done, categories with a success, tasks that
# were put down as failed; of `learning-rank`: categories with a success when ranks were computed, whether they stand.
ATTEMPTS, FAILURES_ALL, ARRIVALS, RUNNING, DONE, MET, PUT_DOWN_ALL, KNOWN_THEN, FRESH_RANKS = range(9)
# Columns of `Run.ladder`: what each expert is charged; the share of a run time after which attempts fail, and how often
# that was seen; what the first task used of its hint; whether inputs are known; tasks put down as failed; the others'
# share of a node.
CHARGED, FAILED_SHARE, SEEN, OF_HINT, INPUTS_KNOWN, PUT_DOWNS, HELD = 0, 4, 5, 6, 7, 8, 9


class Tasks(NamedTuple):
    """What does not change: a workflow with its memory. Categories and tasks are numbers."""

    category: Ints
    run_s: Floats
    peak: Ints
    input_bytes: Floats
    guess: Ints
    parents: Ints
    first_child: Ints
    children: Ints
    topological: Ints  # parents first
    below: Floats  # the share of all tasks that wait for it


class Rules(NamedTuple):
    """How it is run: `first` is each task's key by topology, `by_finished` whether categories have one, `learning`
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
    """All that changes, with room for it."""

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
    lasted_s: Floats  # of a task's last failed attempt; nothing: there is none to compare with
    running: Ints  # tasks, as they were launched
    ends: Floats
    tried: Ints  # a row a lane: amounts that found no room
    cursors: Ints  # a row a lane: how far a walk is, how many were tried, whether it is skipped
    totals: Floats
    counts: Ints
