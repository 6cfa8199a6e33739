"""Schedules of a real log equal those of other simulators to the second."""

from __future__ import annotations

import csv
import gzip
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from headway.formats.read_batch_log import read_batch_log
from headway.kernels.batch.queue import Scheduling
from headway.model.batch_log import BatchJobs
from headway.simulation.batch import schedule
from headway.simulation.batch_jobs import Choices, jobs_of

DATA = os.environ.get("HEADWAY_DATA")
LOG = "KTH-SP2-1996-2.1-cln.swf.gz"
REFERENCES = {
    "pyss_fcfs": Scheduling("fcfs"),
    "pyss_easy": Scheduling("easy"),
    "pyss_cons": Scheduling("conservative"),
    "batsched_easy_bf_basic": Scheduling("easy", "ids", "batsched"),
    "batsched_conservative_bf_basic": Scheduling("conservative", "ids", "batsched"),
    "batsched_conservative_bf_contiguous": Scheduling("conservative", "contiguous", "batsched"),
}


@cache
def kth(requests: str) -> BatchJobs:
    choices = Choices(requests=requests, cancelled="one-second")  # type: ignore[arg-type]
    return jobs_of(read_batch_log(Path(DATA or "", "pwa-swf", LOG)), choices)


@pytest.mark.skipif(not DATA, reason="HEADWAY_DATA does not say where the reference schedules are")
@pytest.mark.parametrize("requests", ["real", "acc"])
@pytest.mark.parametrize("made_by", REFERENCES)
def test_starts_equal_the_reference(made_by: str, requests: str) -> None:
    with gzip.open(Path(DATA or "", "reference-schedules", f"kth_{requests}_{made_by}.csv.gz"), "rt") as file:
        rows = list(csv.DictReader(file))
    jobs = kth("accurate" if requests == "acc" else "real")
    for column, ours in (("submit", jobs.submit_s), ("nodes", jobs.nodes), ("req", jobs.req_s), ("run", jobs.run_s)):
        np.testing.assert_array_equal(ours, [float(row[column]) for row in rows])
    starts = schedule(jobs, REFERENCES[made_by])
    np.testing.assert_array_equal(starts, [float(row["start"]) for row in rows])
