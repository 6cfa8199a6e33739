"""The starts that Slurm plans: its rule on invented readings of the queue, and compared with a real Slurm's."""

from __future__ import annotations

import random

import pytest
from msgspec import structs

from headway.clusters.slurm.agreement import agreement, planned_against_real
from headway.clusters.slurm.backfill import Backfill, backfill_of, slurm_starts
from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.job_details import JobDetails, read_details
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.queue_reading import Reading
from headway.clusters.slurm.site import SlurmSite
from headway.clusters.slurm.site_reading import Node, Partition, Reservation, partition_of, read_reservations
from headway.clusters.slurm.squeue import SeenJob
from headway.model.records import SeenWait
from tests.slurm import configuration
from tests.slurm.conftest import require_slurm
from tests.slurm.fast import FastSlurmLab
from tests.slurm.processes import wait_until

NOW = 1_000_020.0  # a whole minute
MINUTE = 60.0


def partition(name: str, *numbers: int, tier: int = 1, **changes: object) -> Partition:
    nodes = [Node(f"n{number}", True, 8, 16 * 10**9, 0, ()) for number in numbers]
    line = f"PartitionName={name} Default=YES MaxTime=1-00:00:00 State=UP PriorityTier={tier}"
    return structs.replace(partition_of(line, {name: nodes}), **changes)


def waiting(job_id: int, cpus: int, minutes: float, nodes: int = 1, **more: object) -> SeenJob:
    made = SeenJob(
        job_id=job_id, state="PENDING", reason="Priority", submitted_at=NOW - 100 + job_id, limit_s=minutes * MINUTE,
        nodes=nodes, cpus=cpus, priority=10, partition="main", memory_bytes=nodes * 10**9,
    )  # fmt: skip
    return structs.replace(made, **more)


def running(job_id: int, cpus: int, ends_min: float, on: str, **more: object) -> SeenJob:
    names = tuple(on.split())
    made = waiting(job_id, cpus, ends_min + 60, len(names), state="RUNNING", started_at=NOW - 3600, node_names=names)
    return structs.replace(made, **more)


def asking(nodes: int, most_nodes: int, **more: object) -> JobDetails:
    made = JobDetails(nodes, most_nodes, 1, 1, 1, False, 0, "", "", (), (), {})
    return structs.replace(made, **more)


def starts(
    jobs: list[SeenJob],
    *partitions: Partition,
    reserved: tuple[Reservation, ...] = (),
    details: dict[int, JobDetails] | None = None,
    **settings: int,
) -> dict[int, float]:
    """The planned starts in minutes from now."""
    found = slurm_starts(Reading(NOW, jobs, list(partitions)), Backfill(**settings), reserved, details or {})
    return {job_id: (start - NOW) / 60 for job_id, start in found.items()}


def test_a_planned_job_keeps_whole_nodes() -> None:
    """Two jobs of one core each could share the node; Slurm plans the second after the first."""
    jobs = [running(1, 8, 10, "n1"), waiting(2, 1, 30), waiting(3, 1, 30)]
    assert starts(jobs, partition("main", 1)) == {2: 10, 3: 40}


def test_ends_that_are_far_away_count_in_groups() -> None:
    """Groups reach 0.5, 1, 2, 4 and 8 minutes beyond 1.5 minutes, where the first running job has ended.

    So a job that could start at 5.6 minutes is planned for the last end until 9.5 minutes.
    """
    jobs = [running(number, 1, end, "n1") for number, end in enumerate((1, 5.6, 7, 8, 9.4, 12, 14, 16), 1)]
    jobs.append(waiting(10, 2, 30))
    assert starts(jobs, partition("main", 1)) == {10: 9.4}
    assert starts(jobs, partition("main", 1), group_step_s=30) == {10: 5.6}


def test_a_short_job_is_planned_before_a_long_one_that_it_does_not_delay() -> None:
    jobs = [
        running(1, 8, 10, "n1"),
        running(2, 8, 60, "n2"),
        waiting(3, 16, 30, 2),
        waiting(4, 8, 20),
        waiting(5, 8, 90),
    ]
    assert starts(jobs, partition("main", 1, 2)) == {3: 60, 4: 10, 5: 90}


def test_of_neighbouring_nodes_the_fullest_that_suffices_is_taken() -> None:
    """Both nodes could take job 3 at 10 min; it gets n2, so that n1 is left for the whole job 4."""
    jobs = [running(1, 8, 10, "n1"), running(2, 4, 300, "n2"), running(5, 4, 10, "n2"), waiting(3, 4, 30)]
    jobs.append(waiting(4, 8, 30))
    assert starts(jobs, partition("main", 1, 2)) == {3: 10, 4: 10}


def test_tasks_are_spread_over_nodes_unless_the_job_names_their_number() -> None:
    jobs = [running(1, 4, 10, "n1"), running(2, 4, 10, "n2"), running(3, 4, 60, "n1"), running(4, 4, 60, "n2")]
    jobs.append(waiting(5, 8, 30))
    here = partition("main", 1, 2)
    assert starts(jobs, here) == {5: 60}
    assert starts(jobs, here, details={5: asking(1, 1, tasks=8)}) == {5: 60}
    assert starts(jobs, here, details={5: asking(1, 0, tasks=8)}) == {5: 10}
    assert starts(jobs, here, details={5: asking(1, 0, tasks=8, excluded=("n1",))}) == {5: 60}


def test_what_a_running_job_has_on_each_node_counts() -> None:
    jobs = [running(1, 8, 60, "n1 n2"), waiting(2, 6, 30)]
    here = partition("main", 1, 2)
    assert starts(jobs, here) == {2: 60}
    assert starts(jobs, here, details={1: asking(2, 2, parts={"n1": (7, 10**9), "n2": (1, 10**9)})}) == {2: 0}


def test_features_and_node_lists_limit_the_nodes() -> None:
    here = partition("main", 1, 2)
    here = structs.replace(here, nodes=(here.nodes[0], structs.replace(here.nodes[1], features=("big", "new"))))
    jobs = [running(1, 8, 10, "n1"), running(2, 8, 60, "n2"), waiting(3, 8, 30)]
    for found in (asking(1, 1, features="big&new"), asking(1, 1, wanted=("n2",)), asking(1, 1, excluded=("n1",))):
        assert starts(jobs, here, details={3: found}) == {3: 60}
    assert starts(jobs, here, details={3: asking(1, 1, features="large")}) == {}


def test_tiers_reservations_and_priority_decide_about_the_order() -> None:
    jobs = [
        running(1, 8, 10, "n1"),
        waiting(2, 8, 10, priority=99),
        waiting(3, 8, 10, priority=7, reason="Nodes required for job are DOWN, DRAINED or reserved for jobs"),
        waiting(4, 8, 10, partition="soon"),
        waiting(5, 8, 10, reason="Dependency"),
        waiting(6, 8, 10, priority=0),
    ]
    assert starts(jobs, partition("main", 1), partition("soon", 1, tier=2)) == {4: 10, 2: 20, 3: 30}


def test_a_job_for_two_partitions_has_the_earlier_start() -> None:
    jobs = [running(1, 8, 10, "n1"), running(2, 8, 30, "n2"), waiting(3, 8, 10, partition="main,other")]
    assert starts(jobs, partition("main", 2), partition("other", 1)) == {3: 10}


def test_no_job_runs_into_a_reservation_that_is_not_its_own() -> None:
    reserved = (
        Reservation("course", NOW - 60, NOW + 60 * MINUTE, ("n1",)),
        Reservation("repair", NOW + 120 * MINUTE, NOW + 180 * MINUTE, ("n1", "n2"), closes=True),
    )
    jobs = [waiting(1, 8, 30), running(2, 8, 20, "n1"), running(3, 8, 20, "n2")]
    jobs += [waiting(4, 8, 90), waiting(5, 8, 120), waiting(6, 8, 30)]
    details = {1: asking(1, 1, reservation="course")}
    found = starts(jobs, partition("main", 1, 2), reserved=reserved, details=details)
    assert found == {1: 20, 4: 20, 5: 180, 6: pytest.approx(61, abs=1)}


def test_the_settings_limit_how_many_jobs_have_a_start_and_how_far_it_is() -> None:
    jobs = [running(1, 8, 10, "n1"), *(waiting(number, 8, 60) for number in range(2, 6))]
    here = partition("main", 1)
    assert starts(jobs, here, most_jobs=2) == {2: 10, 3: 70}
    assert starts(jobs, here, most_of_user=3) == {2: 10, 3: 70, 4: 130}
    assert starts(jobs, here, most_steps=3) == {2: 10, 3: 70}
    assert starts(jobs, here, resolution_s=1800)[3] <= 70
    assert starts(jobs, here, window_s=7200) == {2: 10, 3: 70}


def test_settings_are_read_and_defaults_are_slurms() -> None:
    assert backfill_of("(null)") == Backfill()
    text = "bf_interval=60,bf_resolution=300,bf_window=2880,bf_max_job_test=100,bf_max_job_user=5,bf_continue"
    assert backfill_of(text) == Backfill(60, 300, 172_800, 100, 100, 5)


def test_planned_waits_are_compared_with_the_actual_ones() -> None:
    assert "no run has kept" in planned_against_real([SeenWait(1, 60.0, None, 5.0)])
    waits = [SeenWait(1, 60.0, 100.0, 100.0 + error) for error in (0, 10, 20, 30, 600)]
    assert "last 5 jobs" in planned_against_real(waits)
    assert "off by 20 s (median), by 10m 00s or less" in planned_against_real(waits)


def test_the_rule_gives_the_starts_of_a_real_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shared nodes, partitions that overlap, and a reservation; every look may come while Slurm makes a new plan."""
    require_slurm(with_fast_clock=True)
    draw = random.Random(4)
    partitions = (
        configuration.Partition("main", max_time_min=1440),
        configuration.Partition("soon", 2, 1440, priority_tier=10),
    )
    with FastSlurmLab(20, configuration.Configuration(nodes=4, partitions=partitions)) as lab:
        for name, value in lab.environment().items():
            monkeypatch.setenv(name, value)
        times = ("StartTime=now+60minutes", "Duration=60", "Flags=MAINT", f"Users={configuration.our_name()}")
        lab.run("scontrol", "create", "reservation", "ReservationName=repair", "Nodes=n3", *times)
        for _ in range(30):
            shape = draw.choice((("-n1", "-c2"), ("-n6",), ("-N2", "-n2", "-c4"), ("-N1", "--exclusive")))
            where = draw.choice(("main", "main", "soon"))
            lab.submit("sleep 1000", *shape, f"--time={draw.choice((10, 30, 60))}", f"--partition={where}")
        commands = Commands(30.0)

        def agrees() -> bool:
            site = SlurmSite(commands, SlurmOptions(), lab.now)
            site.wait_for_answer()
            settings = backfill_of(found.scheduling if (found := site.configuration()) else "")
            more = read_reservations(commands) or (), read_details(commands)
            seen = agreement(site.reading(), "main", settings, *more, in_cores=True)
            return seen.jobs >= 15 and seen.same >= 0.9 * seen.jobs

        wait_until(agrees, "Slurm's rule to give nine tenths of Slurm's starts")
