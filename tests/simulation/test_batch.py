"""A queue that works through the jobs of a log."""

from __future__ import annotations

import numpy as np
import pytest

from headway.kernels.batch.queue import QueueFullError, Scheduling
from headway.model.batch_log import BatchJobs
from headway.simulation.batch import queue_of, schedule
from headway.simulation.lublin import lublin


def jobs(*rows: tuple[float, int, float, float], machine: int = 4) -> BatchJobs:
    submit_s, nodes, req_s, run_s = (np.array(column) for column in zip(*rows, strict=True))
    return BatchJobs("made up", machine, submit_s.astype(float), nodes, req_s.astype(float), run_s.astype(float))


@pytest.mark.parametrize(
    ("backfill", "starts"),
    [
        ("fcfs", [0, 10, 20, 20]),
        ("easy", [0, 10, 20, 3]),  # the last one is over before the second could start
        ("conservative", [0, 10, 20, 3]),
    ],
)
def test_which_jobs_may_overtake(backfill: str, starts: list[float]) -> None:
    log = jobs((0, 3, 10, 10), (1, 4, 10, 10), (2, 3, 4, 4), (3, 1, 7, 7))
    assert schedule(log, Scheduling(backfill)).tolist() == starts  # type: ignore[arg-type]


def test_easy_delays_the_second_in_line_and_conservative_does_not() -> None:
    """The last job has no need of the nodes of the first in line, but of those of the second."""
    log = jobs((0, 5, 10, 10), (1, 6, 10, 10), (2, 8, 10, 10), (3, 3, 40, 40), machine=10)
    assert schedule(log, Scheduling("easy")).tolist() == [0, 10, 43, 3]
    assert schedule(log, Scheduling("easy", depth=2)).tolist() == [0, 10, 20, 30]
    assert schedule(log, Scheduling("conservative")).tolist() == [0, 10, 20, 30]


@pytest.mark.parametrize("nodes", ["counts", "ids", "contiguous"])
@pytest.mark.parametrize("rules", ["pyss", "batsched"])
def test_what_the_first_in_line_can_spare_is_given_away_once(nodes: str, rules: str) -> None:
    """From 10 on 3 nodes are not needed by the second job. One of those who want 2 of them for long gets them."""
    log = jobs((0, 6, 10, 10), (1, 7, 10, 10), (2, 2, 100, 100), (3, 2, 100, 100), machine=10)
    assert schedule(log, Scheduling("easy", nodes, rules)).tolist() == [0, 10, 2, 20]  # type: ignore[arg-type]


def test_neighbours_are_harder_to_find_than_nodes() -> None:
    """The second of three ends first: its node is no neighbour of the one that was free all the time."""
    log = jobs((0, 1, 50, 50), (0, 1, 5, 5), (0, 1, 50, 50), (1, 2, 5, 5))
    assert schedule(log, Scheduling("easy")).tolist() == [0, 0, 0, 5]
    assert schedule(log, Scheduling("easy", "ids")).tolist() == [0, 0, 0, 5]
    assert schedule(log, Scheduling("easy", "contiguous")).tolist() == [0, 0, 0, 50]


@pytest.mark.parametrize("backfill", ["easy", "conservative"])
def test_a_job_ends_early_as_another_comes(backfill: str) -> None:
    """One by one, who comes is looked at before the other has ended, and overtakes; together, it does not."""
    log = jobs((0, 3, 7, 4), (0, 4, 5, 5), (4, 1, 3, 3))
    assert schedule(log, Scheduling(backfill, rules="pyss")).tolist() == [0, 7, 4]  # type: ignore[arg-type]
    assert schedule(log, Scheduling(backfill, rules="batsched")).tolist() == [0, 4, 9]  # type: ignore[arg-type]


def test_progress_and_starts() -> None:
    log = lublin(64, 2_000, 1.5, seed=2)
    heard: list[int] = []
    start_s = schedule(log, Scheduling("easy"), heard.append)
    assert heard == sorted(heard)
    assert (start_s >= log.submit_s).all()
    np.testing.assert_array_equal(start_s, schedule(log, Scheduling("easy")))


def test_each_outside_user_has_a_limit_of_jobs() -> None:
    queue = queue_of(jobs((0, 4, 5, 5)), Scheduling("easy"), most_jobs=1)
    queue.submit(1, 1, owner=7)
    queue.submit(1, 1, owner=8)
    with pytest.raises(QueueFullError):
        queue.submit(1, 1, owner=7)
