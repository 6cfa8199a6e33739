"""How often Slurm is asked, and what is said while jobs wait; no Slurm is needed."""

from __future__ import annotations

import pytest

from headway.clusters.slurm.looking import Jobs, Looking
from headway.clusters.slurm.probes import Probe, corrected
from headway.clusters.slurm.reasons import is_held, words_of
from headway.model.job import JobPhase
from headway.model.records import QueueRead

HOUR_S = 3600.0


def jobs(phase: JobPhase = JobPhase.PENDING, words: str = "", *, decides: bool = False) -> Jobs:
    return Jobs(frozenset([("tag", phase, words)]), runs=phase is JobPhase.RUNNING, decides=decides)


def looks(looking: Looking, seen: Jobs, seconds: float) -> int:
    """Count the looks in this time, if nothing changes."""
    at, count = 0.0, 0
    while (at := at + looking.interval_s()) <= seconds:
        count += 1
        looking.note(at, seen)
    return count


def test_an_hour_of_waiting_takes_few_looks() -> None:
    looking = Looking(60.0, 10.0)
    looking.note(0.0, jobs())
    assert looks(looking, jobs(), HOUR_S) <= 16
    assert looking.interval_s() == 300.0


def test_a_look_comes_soon_after_a_change_and_while_it_decides_something() -> None:
    looking = Looking(60.0, 10.0)
    looking.note(0.0, jobs())
    looks(looking, jobs(), HOUR_S)
    looking.note(HOUR_S, jobs(words="Priority"))
    assert looking.interval_s() == 10.0
    looking.note(HOUR_S + 10, jobs(words="Priority"))
    assert looking.interval_s() == 60.0
    looking.note(HOUR_S + 10, jobs(words="Priority", decides=True))
    assert looking.interval_s() == 10.0


def test_while_a_job_runs_the_queue_is_looked_at_every_minute() -> None:
    looking = Looking(60.0, 10.0)
    looking.note(0.0, jobs(JobPhase.RUNNING))
    assert looks(looking, jobs(JobPhase.RUNNING), HOUR_S) == 60
    assert looking.interval_s() == 60.0


def test_a_start_that_its_mark_told_brings_no_look_and_a_new_job_that_waits_one() -> None:
    looking = Looking(60.0, 10.0)
    looking.note(0.0, jobs())
    looking.note(0.0, jobs(JobPhase.RUNNING))
    assert looking.interval_s() == 60.0
    waits = Jobs(jobs(JobPhase.RUNNING).states, runs=True, decides=False, unseen_since=30.0)
    looking.note(0.0, waits)
    assert looking.interval_s() == 40.0


def test_old_probes_count_only_where_they_are_later_than_the_plan() -> None:
    taken = QueueRead(100.0, [100.0, 5_000.0], [0.0, 8.0])  # by our own job, which started after the probe
    assert corrected(taken, [Probe(8, 600.0, 90.0)], only_later=True) == taken
    assert corrected(taken, [Probe(8, 600.0, 9_000.0)], only_later=True) != taken


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("None", ""),
        ("", ""),
        ("Resources", "it is next when enough is free (Resources)"),
        ("JobHeldAdmin", "it is held by an administrator; ask them why (JobHeldAdmin)"),
        ("AssocGrpCpuLimit", "your account allows the jobs of all its users no more cores (AssocGrpCpuLimit)"),
        ("QOSMaxCpuPerJob", "it asks for more cores than your QOS allows one job (QOSMaxCpuPerJob)"),
        (
            "ReqNodeNotAvail, UnavailableNodes:n1",
            "a node that it needs is not available; a maintenance may be near (ReqNodeNotAvail, UnavailableNodes:n1)",
        ),
        ("FedJobLock", "Slurm's reason is FedJobLock"),
    ],
)
def test_reasons_are_said_in_words(reason: str, words: str) -> None:
    assert words_of(reason) == words
    assert is_held(reason) == ("Held" in reason)
