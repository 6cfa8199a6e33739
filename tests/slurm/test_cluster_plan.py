"""The queue twin, limits and the choice of a partition, from invented readings of the queue; these need no Slurm."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from headway.clusters.slurm import probes
from headway.clusters.slurm.agreement import agreement
from headway.clusters.slurm.backfill import Backfill
from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.core_counts import cores_asked
from headway.clusters.slurm.costs import Prices, billing
from headway.clusters.slurm.options import SlurmOptions, options_of
from headway.clusters.slurm.partitions import choose, closed_to, room, rooms, usable, why_not
from headway.clusters.slurm.preemption import allowed
from headway.clusters.slurm.probes import Probe, Probing, corrected, default_shapes
from headway.clusters.slurm.queue_reading import Reading, twin_of
from headway.clusters.slurm.rights import Rights, UserLimits
from headway.clusters.slurm.site_reading import Node, Partition, partition_of
from headway.clusters.slurm.squeue import SeenJob
from headway.kernels.batch.twin import twin_of as kernel_twin
from headway.kernels.batch.twin import twin_waits
from headway.model.errors import InputError, SiteError
from headway.model.job import Wish
from headway.model.records import QueueRead
from headway.model.resources import Resources

NOW = 1_000_000.0
OPTIONS = SlurmOptions()


def nodes(first: int, last: int, cpus: int = 8, memory_bytes: int = 16 * 10**9) -> tuple[Node, ...]:
    return tuple(Node(f"n{number}", True, cpus, memory_bytes, 0, ()) for number in range(first, last + 1))


def partition(name: str, of: tuple[Node, ...], **changes: object) -> Partition:
    line = (
        f"PartitionName={name} Default={'YES' if name == 'main' else 'NO'} MaxTime=1-00:00:00 State=UP PriorityTier=1"
    )
    made = partition_of(line, {name: list(of)})
    return structs.replace(made, **changes)


def job(job_id: int, count: int, limit_s: float, started: float | None = None, on: str = "", **more: object) -> SeenJob:
    made = SeenJob(
        job_id=job_id, user=1, state="RUNNING" if started is not None else "PENDING", reason="Priority",
        submitted_at=NOW - 1000 + job_id, started_at=started, ended_at=None, limit_s=limit_s, nodes=count,
        cpus=8 * count, node_names=tuple(on.split()), priority=10, partition="main", alone=True,
    )  # fmt: skip
    return structs.replace(made, **more)


def test_with_an_empty_queue_all_nodes_are_free() -> None:
    twin = twin_of(Reading(NOW, [], [partition("main", nodes(1, 4))]), "main")
    assert twin is not None
    assert (twin.snapshot().times, twin.snapshot().free) == ([NOW], [4.0])


def small(
    job_id: int, cpus: int, limit_s: float, started: float | None = None, on: str = "", **more: object
) -> SeenJob:
    return job(job_id, 1, limit_s, started, on, cpus=cpus, alone=False, **more)


def test_where_nodes_are_shared_a_job_takes_its_cores_and_not_its_nodes() -> None:
    jobs = [small(1, 3, 60, NOW, "n1"), small(2, 4, 110, NOW, "n1"), job(3, 1, 180, NOW, "n2")]
    twin = twin_of(Reading(NOW, jobs, [partition("main", nodes(1, 4))]), "main", in_cores=True)
    assert twin is not None
    plan = twin.snapshot()
    assert plan.counts == "cores"
    assert (plan.times, plan.free) == ([NOW, NOW + 60, NOW + 120, NOW + 180], [17.0, 20.0, 24.0, 32.0])


def test_a_snapshot_counts_the_jobs_that_wait_and_the_work_ahead() -> None:
    jobs = [job(1, 4, 600, NOW, "n1,n2,n3,n4"), job(2, 2, 100), job(3, 1, 200)]
    twin = twin_of(Reading(NOW, jobs, [partition("main", nodes(1, 4))]), "main")
    assert twin is not None
    assert (twin.snapshot().waiting, twin.snapshot().ahead_s) == (2, (2 * 100 + 1 * 200) / 4)


def test_memory_takes_its_share_of_a_nodes_cores() -> None:
    """Half of the memory of a node leaves half of its cores, however few cores the job has."""
    jobs = [small(1, 1, 60, NOW, "n1", memory_bytes=8 * 10**9), small(2, 1, 120, NOW, "n1")]
    twin = twin_of(Reading(NOW, jobs, [partition("main", nodes(1, 1))]), "main", in_cores=True)
    assert twin is not None
    assert (twin.snapshot().times, twin.snapshot().free) == ([NOW, NOW + 60, NOW + 120], [4.0, 7.0, 8.0])


def test_gpus_take_their_share_of_a_nodes_cores() -> None:
    """Of two nodes with four GPUs, one has all of them taken by a job of one core: none of its cores counts as free."""
    here = [partition("gpu", with_gpus(nodes(1, 2), 4))]
    jobs = [small(1, 1, 600.0, NOW, "n1", gpus=4)]
    twin = twin_of(Reading(NOW, jobs, here), "gpu", in_cores=True)
    assert twin is not None
    assert (twin.snapshot().times, twin.snapshot().free) == ([NOW, NOW + 600], [8.0, 16.0])
    asked = Resources(cores=1, gpus=2, nodes=1, walltime_s=60)
    assert cores_asked(asked, here[0].nodes[0]) == 4
    waiting = [*jobs, *(small(number, 1, 600.0, gpus=2, partition="gpu") for number in (2, 3, 4))]
    assert starts_in_minutes(Reading(NOW, waiting, here), "gpu") == {2: 0.0, 3: 0.0, 4: 10.0}


def with_gpus(some: tuple[Node, ...], gpus: int) -> tuple[Node, ...]:
    return tuple(structs.replace(node, gpus=gpus) for node in some)


def starts_in_minutes(reading: Reading, name: str) -> dict[int, float]:
    twin = twin_of(reading, name, in_cores=True)
    assert twin is not None
    return {number: (start - NOW) / 60 for number, start in twin.starts().items()}


def test_jobs_that_may_run_elsewhere_take_a_part_of_the_nodes() -> None:
    """Eight jobs fill a node each and may run on four nodes: each takes a quarter of the other partition's only one."""
    partitions = [partition("main", nodes(1, 4)), partition("one", nodes(4, 4))]
    jobs = [small(number, 8, 600.0) for number in range(1, 9)] + [small(9, 8, 600.0, partition="one")]
    reading = Reading(NOW, jobs, partitions)
    assert starts_in_minutes(reading, "one")[9] == 20.0
    assert sorted(starts_in_minutes(reading, "main").values()) == [0.0] * 4 + [10.0] * 4 + [20.0]


def test_members_of_an_array_that_wait_have_one_id() -> None:
    jobs = [small(1, 8, 600.0), small(1, 8, 600.0), small(2, 8, 600.0)]
    assert starts_in_minutes(Reading(NOW, jobs, [partition("main", nodes(1, 1))]), "main") == {1: 10.0, 2: 20.0}


def test_memory_that_is_not_scarce_leaves_cores_to_others() -> None:
    """A job with half of the memory and one with most of the cores share a node; three such jobs do not."""
    much, wide = 8 * 10**9, 10**9
    jobs = [small(1, 1, 600.0, memory_bytes=much), small(2, 7, 600.0, memory_bytes=wide)]
    one = [partition("main", nodes(1, 1))]
    assert starts_in_minutes(Reading(NOW, jobs, one), "main") == {1: 0.0, 2: 0.0}
    many = [small(number, 1, 600.0, memory_bytes=much) for number in (1, 2, 3)]
    assert starts_in_minutes(Reading(NOW, many, one), "main") == {1: 0.0, 2: 0.0, 3: 10.0}


def test_waiting_jobs_are_planned_by_the_cores_that_they_ask_for() -> None:
    jobs = [job(1, 1, 120, NOW, "n1"), small(2, 6, 50), small(3, 2, 50), small(4, 3, 60), job(5, 1, 10)]
    twin = twin_of(Reading(NOW, jobs, [partition("main", nodes(1, 2))]), "main", in_cores=True)
    assert twin is not None
    assert twin.starts() == {2: NOW, 3: NOW, 4: NOW + 50, 5: NOW + 110}


def test_running_jobs_hold_their_nodes_and_waiting_jobs_are_planned_by_priority() -> None:
    jobs = [
        job(1, 2, 100, NOW - 40, "n1 n2"),
        job(2, 1, 300, NOW, "n3"),
        job(3, 4, 50, priority=5),
        job(4, 3, 60, priority=9),
        job(5, 1, 40, priority=1),
        job(6, 4, 10, reason="Dependency", priority=99),
        job(7, 4, 10, reason="JobHeldUser", priority=99),
    ]
    twin = twin_of(Reading(NOW, jobs, [partition("main", nodes(1, 4))]), "main")
    assert twin is not None
    assert twin.starts() == {4: NOW + 60, 3: NOW + 300, 5: NOW}


def test_a_down_node_is_left_out_and_a_shared_node_is_busy_until_both_its_jobs_end() -> None:
    some = (*nodes(1, 3), structs.replace(nodes(4, 4)[0], works=False))
    jobs = [job(1, 1, 100, NOW, "n1", alone=False, cpus=2), job(2, 1, 300, NOW, "n1", alone=False, cpus=2)]
    twin = twin_of(Reading(NOW, jobs, [partition("main", some)]), "main")
    assert twin is not None
    assert (twin.snapshot().times, twin.snapshot().free) == ([NOW, NOW + 300], [2.0, 3.0])


def test_small_jobs_share_one_node() -> None:
    small = [job(number, 1, 60, alone=False, cpus=3, priority=50 - number) for number in (1, 2, 3)]
    twin = twin_of(Reading(NOW, small, [partition("main", nodes(1, 1))]), "main")
    assert twin is not None
    assert twin.starts() == {1: NOW, 2: NOW, 3: NOW + 60}


def test_a_job_past_its_walltime_is_expected_to_end_soon() -> None:
    twin = twin_of(Reading(NOW, [job(1, 1, 60, NOW - 90, "n1")], [partition("main", nodes(1, 1))]), "main")
    assert twin is not None
    assert NOW < twin.snapshot().times[1] < NOW + 120


def test_agreement_is_measured_against_slurms_planned_starts() -> None:
    jobs = [
        job(1, 2, 100, NOW, "n1 n2"),
        job(2, 2, 60, state="PENDING", started=NOW + 100),
        job(3, 2, 60, state="PENDING", started=NOW + 400),
    ]
    jobs[1:] = [structs.replace(one, state="PENDING", node_names=()) for one in jobs[1:]]
    found = agreement(Reading(NOW, jobs, [partition("main", nodes(1, 2))]), "main", Backfill(), in_cores=False)
    assert (found.jobs, found.same, found.later_s) == (2, 1, -120.0)
    assert "for 1 of 2 waiting jobs" in str(found)
    assert str(found).endswith("the starts that runs plan with are 2m 00s earlier (median)")


def plan_wait(plan: QueueRead, count: int, length_s: float) -> float:
    twin = kernel_twin(plan.times, plan.free, (), contiguous=False)
    return float(twin_waits(twin, np.array([float(count)]), np.array([length_s]))[0])


@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=6),
    st.integers(1, 8),
    st.floats(60, 4000),
    st.floats(0, 5000),
)
def test_the_corrected_plan_agrees_with_the_probe(free: list[int], count: int, length_s: float, wait_s: float) -> None:
    steps = [free[0], *(now for before, now in pairwise(free) if now != before)]
    free_then = [float(value) for value in steps if value != 8]
    times = [NOW + 500 * index for index in range(len(free_then) + 1)]
    plan = QueueRead(NOW, times, [*free_then, 8.0])
    after = corrected(plan, [Probe(count, length_s, NOW + wait_s)])
    assert abs(plan_wait(after, count, length_s) - wait_s) <= 60.01
    assert after.free[-1] == 8.0
    assert after.times == sorted(set(after.times))


def test_at_most_five_shapes_within_the_limits_are_probed() -> None:
    shapes = default_shapes(64, Resources(cores=8, nodes=32, walltime_s=7200))
    assert len(shapes) <= 5
    assert all(count <= 32 and length_s <= 7200 for count, length_s in shapes)


def test_jobs_with_other_options_send_no_further_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(
        probes, "probe", lambda commands, shapes, *more, **others: [sent.append(str(each)) for each in shapes] and []
    )
    probing = Probing(Commands(1.0), OPTIONS)
    plan = QueueRead(NOW, [NOW], [64.0])
    for number in range(8):
        wished = probing.wishing(SlurmOptions(account=f"a{number}"))
        wished.corrected(plan, Resources(cores=8, nodes=64), partition("main", nodes(1, 64)))
    assert len(sent) == 5


# --- limits and partitions ---


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Resources(cores=8, memory_bytes=16 * 10**9, nodes=4, walltime_s=86400), ""),
        (Resources(cores=1, nodes=5), "5 nodes are more than the 4"),
        (Resources(cores=8.5), "9 cores"),
        (Resources(cores=1, memory_bytes=17 * 10**9), "17 GB memory"),
        (Resources(cores=1, gpus=1), "1 GPUs"),
        (Resources(cores=1, walltime_s=86401), "1d 00h is more than the 1d 00h"),
    ],
    ids=["all", "nodes", "cores", "memory", "gpus", "time"],
)
def test_a_refusal_names_the_exceeded_limit(asked: Resources, words: str) -> None:
    said = why_not(asked, partition("main", nodes(1, 4)), UserLimits(), OPTIONS)
    assert words in said
    assert bool(words) == bool(said)


@given(st.integers(1, 12), st.integers(1, 40), st.integers(1, 10**11), st.floats(1, 10**6))
def test_requests_within_the_room_are_accepted_and_accepted_ones_keep_all_limits(
    count: int, cores: int, memory_bytes: int, walltime_s: float
) -> None:
    here = partition("main", nodes(1, 9), max_nodes=7, max_cpus_per_node=6, max_time_s=5000.0)
    user = UserLimits(walltime_s=4000.0, nodes=6, cpus=40)
    most = room(here, user, OPTIONS, now=True)
    assert most is not None
    asked = Resources(cores=cores, memory_bytes=memory_bytes, nodes=count, walltime_s=walltime_s)
    if asked.fits_in(most):
        assert why_not(asked, here, user, OPTIONS) == ""
    if not why_not(asked, here, user, OPTIONS):
        assert count <= 6
        assert cores <= 6
        assert walltime_s <= 4000
        assert count * cores <= 40


def test_nodes_that_differ_are_kinds_and_the_usual_one_has_the_most_cores_in_all() -> None:
    gb = 10**9
    mixed = (*nodes(1, 1, 8), *nodes(2, 11, 64, 256 * gb), *nodes(12, 13, 64, 2000 * gb))
    found = rooms(partition("main", mixed), UserLimits(), OPTIONS, now=True)
    assert [(most.nodes, most.cores, most.memory_bytes // gb) for most in found] == [(12, 64, 256), (2, 64, 2000)]
    alike = (*nodes(1, 5, 8, 16 * gb), *nodes(6, 9, 8, 17 * gb))
    found = rooms(partition("main", alike), UserLimits(), OPTIONS, now=True)
    assert [(most.nodes, most.memory_bytes // gb) for most in found] == [(9, 16)]
    few = (*nodes(1, 3, 4), *nodes(4, 4, 8))
    found = rooms(partition("main", few), UserLimits(), OPTIONS, now=True)
    assert [(most.nodes, most.cores) for most in found] == [(4, 4), (1, 8)]


def test_the_partition_with_the_earliest_start_is_chosen() -> None:
    main, other = partition("main", nodes(1, 2)), partition("other", nodes(3, 4))
    busy = Reading(NOW, [job(1, 2, 500, NOW, "n1 n2")], [main, other])
    asked = Resources(cores=1, nodes=1, walltime_s=60)
    users: dict[str, UserLimits] = {}
    assert choose(asked, [main, other], users, OPTIONS, busy).partition.name == "other"
    assert choose(asked, [main, other], users, OPTIONS, Reading(NOW, [], [main, other])).partition.name == "main"
    small = structs.replace(other, max_time_s=30.0)
    assert choose(asked, [main, small], users, OPTIONS, busy).partition.name == "main"
    with pytest.raises(SiteError, match="3 nodes are more than the 2"):
        choose(asked.replace(nodes=3), [main, other], users, OPTIONS, busy)


def test_partitions_closed_to_the_user_are_skipped_unless_named() -> None:
    main = partition("main", nodes(1, 2))
    theirs = structs.replace(partition("theirs", nodes(1, 2)), allowed={"groups": ("them",)})
    denied = structs.replace(partition("denied", nodes(1, 2)), denied={"accounts": ("us",)})
    down = structs.replace(partition("down", nodes(1, 2)), is_up=False)
    every = [down, denied, theirs, main]
    mine = usable(every, SlurmOptions(account="us"), frozenset(["us"]), Rights(account="us", qos="fast"))
    assert [one.name for one in mine] == ["main"]
    assert [one.name for one in usable(every, OPTIONS, frozenset(["them"]), Rights())] == ["main", "denied", "theirs"]
    assert [one.name for one in usable(every, SlurmOptions(partition="theirs"), frozenset(), Rights())] == ["theirs"]
    with pytest.raises(SiteError, match="no partition x"):
        usable(every, SlurmOptions(partition="x"), frozenset(), Rights())


def test_preferred_partitions_come_first_and_avoided_ones_only_by_name() -> None:
    site = [partition("main", nodes(1, 4)), partition("short", nodes(1, 2)), partition("debug", nodes(1, 1))]
    options = SlurmOptions(prefer_partitions="short", avoid_partitions="debug")
    found = usable(site, options, frozenset(), Rights())
    assert [one.name for one in found] == ["short", "main"]
    asked = Resources(cores=8, memory_bytes=10**9, nodes=1, walltime_s=60)
    busy = Reading(NOW, [job(1, 2, 3600, NOW, "n1 n2")], site)
    assert choose(asked, found, {}, options, busy).partition.name == "short"  # although main would start it at once
    assert choose(asked.replace(nodes=3), found, {}, options, busy).partition.name == "main"
    named = structs.replace(options, partition="debug")
    assert [one.name for one in usable(site, named, frozenset(), Rights())] == ["debug"]
    with pytest.raises(SiteError, match="there is no partition dbug; name one of debug, main, short"):
        usable(site, SlurmOptions(avoid_partitions="dbug"), frozenset(), Rights())


def test_a_task_that_names_partitions_stays_out_of_preemptible_ones() -> None:
    site = [partition(name, nodes(1, 4)) for name in ("main", "gpu", "low", "theirs")]
    options = SlurmOptions(preemptible="low,theirs,low")
    everywhere = usable(site, options, frozenset(), Rights())

    def goes_to(wish: Wish | None, closed: frozenset[str] = frozenset()) -> list[str]:
        wished = options.wishing(wish)
        found = usable(site, wished, frozenset(), Rights()) if wish else everywhere
        return [one.name for one in allowed(found, site, {"low", "theirs"}, wished, closed)]

    assert goes_to(None) == ["main", "gpu", "low", "theirs"]
    assert goes_to(None, frozenset(["theirs"])) == ["main", "gpu", "low"]  # to which sbatch would refuse the job
    assert goes_to(Wish(partition="gpu")) == ["gpu"]
    assert goes_to(Wish(partition="gpu,low")) == ["gpu", "low"]
    assert goes_to(Wish(partition="low")) == ["low"]
    assert goes_to(Wish(account="lab")) == ["main", "gpu", "low", "theirs"]
    with pytest.raises(SiteError, match="prefer-partitions: others may preempt jobs in low, so that it is not used"):
        allowed(everywhere, site, {"low"}, SlurmOptions(prefer_partitions="gpu,low"))


def test_a_partition_is_closed_to_accounts_that_it_does_not_name() -> None:
    theirs = partition("theirs", nodes(1, 2), allowed={"accounts": ("them",)})
    site = [partition("main", nodes(1, 2)), theirs]
    assert closed_to(site, frozenset(), Rights(account="us")) == {"theirs"}
    assert closed_to(site, frozenset(), Rights(account="them")) == set()
    assert closed_to(site, frozenset(), Rights()) == set()  # Slurm has to say it


def test_lists_of_partitions_may_be_empty_and_must_not_contradict_each_other() -> None:
    empty = {"preemptible": "", "prefer_partitions": "", "avoid_partitions": ""}
    assert options_of(empty) == OPTIONS
    with pytest.raises(InputError, match="partition b is to be both preferred and avoided"):
        options_of({"prefer_partitions": "a,b", "avoid_partitions": "b"})
    site = [partition("main", nodes(1, 2))]
    with pytest.raises(SiteError, match="avoid-partitions: no partition but main accepts your jobs"):
        usable(site, SlurmOptions(avoid_partitions="main"), frozenset(), Rights())


def test_a_cheaper_partition_is_taken_if_it_starts_a_job_hardly_later() -> None:
    dear = partition("main", nodes(1, 2), billing_weights="CPU=2.0,Mem=0.5G")
    cheap = partition("cheap", nodes(3, 4), billing_weights="CPU=0.5")
    site = [dear, cheap]
    asked = Resources(cores=8, memory_bytes=2 * 2**30, nodes=1, walltime_s=7200)
    choice = choose(asked, site, {}, OPTIONS, Reading(NOW, [job(1, 2, 700, NOW, "n3 n4")], site))
    assert choice.partition.name == "cheap"  # 700 s are less than a tenth of two hours
    assert choice.why == "partition cheap: main costs 17 and starts at once, cheap costs 4 and starts in 11m 40s"
    late = choose(asked, site, {}, OPTIONS, Reading(NOW, [job(1, 2, 800, NOW, "n3 n4")], site))
    assert late.partition.name == "main"
    free = Reading(NOW, [], site)
    risky = choose(asked, site, {}, OPTIONS, free, loss_s=lambda item, wait_s: 900.0 if item is cheap else 0.0)
    assert risky.partition.name == "main"
    assert risky.why.endswith("cheap costs 4 and starts at once (expected loss if others preempt it: 15m 00s)")


def test_what_a_job_is_charged() -> None:
    asked = Resources(cores=4, memory_bytes=8 * 2**30, gpus=2, nodes=3)
    priced = partition("main", nodes(1, 4), billing_weights="CPU=1.0,Mem=0.25G,GRES/gpu=2,GRES/gpu:a100=8")
    assert billing(asked, priced, Prices()) == 3 * (4 + 2 + 4)
    assert billing(asked, priced, Prices(), "a100") == 3 * (4 + 2 + 4 + 16)
    assert billing(asked, priced, Prices(factor=0.5, largest_only=True), "a100") == 0.5 * 3 * 16
    assert billing(asked, partition("main", nodes(1, 4)), Prices()) == 12


@given(
    st.lists(st.tuples(st.sampled_from([2, 4, 8, 64]), st.integers(1, 8), st.integers(0, 2)), min_size=1, max_size=12)
)
def test_what_a_partition_of_unlike_nodes_allows_is_accepted(kinds: list[tuple[int, int, int]]) -> None:
    mixed = tuple(
        Node(f"n{number}", True, cpus, memory * 10**9, gpus, ()) for number, (cpus, memory, gpus) in enumerate(kinds)
    )
    here = partition("main", mixed)
    for user in (UserLimits(), UserLimits(cpus=16, nodes=3)):
        found = rooms(here, user, OPTIONS, now=True)
        assert [why_not(most, here, user, OPTIONS) for most in found] == [""] * len(found)
        assert max(most.memory_bytes for most in found) >= max(node.memory_bytes for node in mixed) / 1.1
