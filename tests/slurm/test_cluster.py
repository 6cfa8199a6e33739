"""`SlurmCluster` on a real Slurm: it finds, follows, ends and explains jobs, even if Slurm's commands lie."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from msgspec import structs

from headway.clusters.base import Cluster, JobNews
from headway.clusters.local import RunJobs
from headway.clusters.slurm.agreement import agreement
from headway.clusters.slurm.backfill import Backfill
from headway.clusters.slurm.cluster import SlurmCluster
from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.site import SlurmSite
from headway.drivers.manager_jobs import manager_request
from headway.drivers.run_settings import RunSettings
from headway.model.errors import SiteError
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending
from headway.model.resources import Resources
from headway.testing import ClusterContract
from tests.slurm.configuration import Configuration, Partition
from tests.slurm.lab import SlurmLab
from tests.slurm.lies import LIES, lying
from tests.slurm.processes import wait_until

QUICK = SlurmOptions(interval_s=0.2, timeout_s=5.0, resubmit_s=1.0, open_s=8.0)
SMALL = JobRequest(Resources(cores=1, memory_bytes=10**8, walltime_s=300))
SMALL_SHARE = JobRequest(SMALL.per_node, places=1)
WITHOUT_END_MARK = (
    "sh",
    "-c",
    "mkdir .ended-0; sleep 1000",
)  # as if its node had died before the job could write its end mark
HUNGRY = "x = bytearray(400_000_000); import time; time.sleep(60)"


@pytest.fixture
def here(slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch) -> SlurmLab:
    return reach(slurm, monkeypatch)


@pytest.fixture
def accounted(slurm_with_accounting: SlurmLab, monkeypatch: pytest.MonkeyPatch) -> SlurmLab:
    return reach(slurm_with_accounting, monkeypatch)


def reach(lab: SlurmLab, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str] | None = None) -> SlurmLab:
    for name, value in (environment or lab.environment()).items():
        monkeypatch.setenv(name, value)
    return lab


def cluster(path: Path, *command: str, options: SlurmOptions = QUICK) -> SlurmCluster:
    def node_command(_tag: str) -> Sequence[str]:
        return command or ("sleep", "1000")

    return SlurmCluster(RunJobs("test", str(path), path / "jobs"), options, node_command)


def follow(slurm: SlurmCluster, tag: str, until: Callable[[JobNews], bool], patience_s: float = 120.0) -> JobNews:
    deadline = time.monotonic() + patience_s
    while not until(news := slurm.news([tag])[tag]):
        assert time.monotonic() < deadline, f"timed out; the last news was {news}"
        time.sleep(0.1)
    return news


def is_running(news: JobNews) -> bool:
    return news.phase is JobPhase.RUNNING


def is_over(news: JobNews) -> bool:
    return news.phase is JobPhase.ENDED and news.ending is not None


class TestContract(ClusterContract):
    patience_s = 120.0

    @pytest.fixture(autouse=True)
    def begin(self, here: SlurmLab) -> Iterator[None]:
        self.lab = here
        yield
        here.tidy()

    def make(self, path: Path) -> Cluster:
        return cluster(path)


def test_a_job_runs_once_on_every_node_and_its_files_are_private(here: SlurmLab, tmp_path: Path) -> None:
    slurm = cluster(tmp_path, "sh", "-c", 'echo "$SLURMD_NODENAME is up"; umask')
    slurm.submit(JobRequest(Resources(cores=2, memory_bytes=10**9, nodes=3, walltime_s=90)), "run1-a")
    news = follow(slurm, "run1-a", is_over)
    assert news.ending is Ending.SUCCESS
    assert len(news.nodes) == 3
    assert news.started_at is not None
    assert news.ended_at is not None
    assert here.now() - 200 < news.started_at <= news.ended_at
    folder = tmp_path / "jobs" / "run1-a"
    lines = (folder / f"slurm-{news.job_id}.log").read_text().splitlines()
    assert sorted(line for line in lines if "is up" in line) == [f"{node} is up" for node in news.nodes]
    for path in (folder, *folder.iterdir()):
        if not path.is_symlink():
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert slurm.calls["sbatch"] == 1
    shown = here.run("scontrol", "show", "job", str(news.job_id)).stdout
    assert "TimeLimit=00:02:00" in shown
    assert "OverSubscribe=NO" in shown
    assert "Requeue=0" in shown


def test_a_job_for_a_share_gets_only_the_cores_and_memory_it_requests(here: SlurmLab, tmp_path: Path) -> None:
    slurm = cluster(tmp_path, options=SlurmOptions(interval_s=0.2, flags=("--nice=5",)))
    slurm.submit(JobRequest(Resources(cores=2.5, memory_bytes=10**9, walltime_s=60), places=1), "run1-a")
    news = follow(slurm, "run1-a", is_running)
    shown = here.run("scontrol", "show", "job", str(news.job_id)).stdout
    assert "NumCPUs=3 " in shown
    assert "MinMemoryNode=1210M" in shown
    assert "Nice=5" in shown
    slurm.cancel(["run1-a"])


def test_a_dependent_job_starts_after_its_predecessor_ends(
    here: SlurmLab, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    slurm = cluster(tmp_path)
    slurm.submit(SMALL, "run1-a")
    slurm.submit(SMALL, "run1-b", after="run1-a")
    follow(slurm, "run1-a", is_running)
    second = slurm.news(["run1-b"])["run1-b"]
    assert second.phase is JobPhase.PENDING
    follow(slurm, "run1-b", lambda news: "Dependency" in news.message)
    shown = here.run("scontrol", "show", "job", str(second.job_id)).stdout
    assert "Dependency=afterany:" in shown
    slurm.cancel(["run1-a"])
    follow(slurm, "run1-b", is_running)
    slurm.admit("run1-b")  # nothing that a user has to know happens to a job that has started by itself
    assert not caplog.records
    slurm.cancel(["run1-b"])
    with pytest.raises(SiteError, match="never submitted"):
        slurm.submit(SMALL, "run1-c", after="run1-x")


def test_a_dependent_job_that_is_admitted_starts_before_its_predecessor_ends_and_keeps_its_rank(
    here: SlurmLab, tmp_path: Path
) -> None:
    """Two jobs take all nodes; what one of them leaves goes to the job that was submitted next."""
    slurm = cluster(tmp_path)
    nodes = slurm.limits().nodes
    most = JobRequest(SMALL.per_node.replace(nodes=nodes - 1))
    one = JobRequest(SMALL.per_node)
    slurm.submit(one, "run1-a")
    slurm.submit(most, "run1-b")
    slurm.submit(most, "run1-c", after="run1-a")
    slurm.submit(most, "run1-d")
    for tag in ("run1-a", "run1-b"):
        follow(slurm, tag, is_running)
    follow(slurm, "run1-c", lambda news: "Dependency" in news.message)
    slurm.admit("run1-c")
    slurm.admit("run1-c")  # nothing happens
    slurm.cancel(["run1-b"])
    follow(slurm, "run1-c", is_running)
    assert slurm.poll(["run1-a", "run1-d"]) == {"run1-a": JobPhase.RUNNING, "run1-d": JobPhase.PENDING}
    slurm.admit("run1-c")
    slurm.admit("run1-a")  # neither for a job that runs, nor for one that depends on nothing
    slurm.cancel(["run1-a", "run1-c", "run1-d"])
    slurm.admit("run1-c")  # nor for one that is over


def test_slurm_is_polled_once_per_interval_but_end_marks_are_seen_at_once(here: SlurmLab, tmp_path: Path) -> None:
    slurm = cluster(tmp_path, "true", options=SlurmOptions(interval_s=500))
    slurm.submit(SMALL, "run1-a")
    follow(slurm, "run1-a", lambda news: news.phase is JobPhase.ENDED)
    assert slurm.calls["squeue"] <= 2  # one to choose a partition, one to poll


def test_slurm_is_asked_for_the_cause_of_an_end_when_much_depends_on_it(here: SlurmLab, tmp_path: Path) -> None:
    slurm = cluster(tmp_path, "true", options=SlurmOptions(interval_s=500))
    slurm.submit(SMALL, "run1-a")

    def has_ending(news: JobNews) -> bool:
        slurm.ask_now()
        return is_over(news)

    assert follow(slurm, "run1-a", has_ending).ending is Ending.SUCCESS


def test_requests_beyond_every_partition_are_refused_without_calling_sbatch(here: SlurmLab, tmp_path: Path) -> None:
    slurm = cluster(tmp_path)
    assert slurm.limits().replace(disk_bytes=0) == Resources(
        cores=8, memory_bytes=16_000 * 2**20, nodes=8, walltime_s=86400
    )
    for number, beyond in enumerate(({"nodes": 9}, {"cores": 9}, {"memory_bytes": 17 * 2**30}, {"walltime_s": 86460})):
        with pytest.raises(SiteError, match="more than"):
            slurm.submit(JobRequest(SMALL.per_node.replace(**beyond)), f"run1-{number}")
        assert slurm.poll([f"run1-{number}"]) == {f"run1-{number}": JobPhase.ENDED}
    with pytest.raises(SiteError, match="there is no partition nowhere"):
        cluster(tmp_path, options=SlurmOptions(partition="nowhere")).limits()
    assert "sbatch" not in slurm.calls


def test_endings_are_told_apart_without_accounting(here: SlurmLab, tmp_path: Path) -> None:
    """Memory under OverMemoryKill, an exit code, and an scancel that Headway did not call."""
    options = SlurmOptions(interval_s=0.2)
    hungry = cluster(tmp_path, sys.executable, "-c", HUNGRY, options=options)
    failing = cluster(tmp_path, "sh", "-c", "exit 3", options=options)
    idle = cluster(tmp_path, options=options)
    hungry.submit(SMALL_SHARE, "run1-memory")
    failing.submit(SMALL, "run1-code")
    idle.submit(SMALL, "run1-scancel")
    number = follow(idle, "run1-scancel", is_running).job_id
    here.run("scancel", str(number))
    by_hand = follow(idle, "run1-scancel", is_over)
    assert by_hand.ending is Ending.CANCELLED
    assert by_hand.message == "it was cancelled by an unknown user, not by Headway"
    code = follow(failing, "run1-code", is_over)
    assert (code.ending, code.message) == (Ending.EXIT_CODE, "it ended with exit code 3")
    assert follow(hungry, "run1-memory", is_over).ending is Ending.MEMORY


def test_a_job_that_its_cgroup_killed_ended_for_memory(
    slurm_with_cgroups: SlurmLab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reach(slurm_with_cgroups, monkeypatch)
    hungry = cluster(tmp_path, sys.executable, "-c", HUNGRY, options=SlurmOptions(interval_s=0.2))
    hungry.submit(SMALL_SHARE, "run1-memory")
    assert follow(hungry, "run1-memory", is_over).ending is Ending.MEMORY


def test_a_job_whose_node_dies_is_lost_without_blame_or_requeued(here: SlurmLab, tmp_path: Path) -> None:
    plain = cluster(tmp_path, options=SlurmOptions(interval_s=0.5, flags=("--nodelist=n3",)))
    again = cluster(tmp_path, options=SlurmOptions(interval_s=0.5, flags=("--nodelist=n4",), requeue=True))
    plain.submit(SMALL, "run1-lost")
    again.submit(SMALL, "run1-again")
    follow(plain, "run1-lost", is_running)
    before = follow(again, "run1-again", is_running)
    here.kill_node("n3")
    here.kill_node("n4")
    news = follow(plain, "run1-lost", is_over)
    assert news.ending is Ending.NODE_LOST
    assert news.ending.blameless
    waiting = follow(again, "run1-again", lambda news: news.phase is JobPhase.PENDING)
    assert (waiting.job_id, waiting.restarts) == (before.job_id, 1)
    again.cancel(["run1-again"])


def test_an_unreachable_controller_only_delays_jobs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with SlurmLab(Configuration(nodes=2)) as lab:
        reach(lab, monkeypatch)
        options = SlurmOptions(interval_s=0.5, timeout_s=2.0, resubmit_s=1.0)
        # The end of a job while slurmctld is down would be reported a minute later: slurmstepd waits before it retries.
        ends_later = ("sh", "-c", f"until test -e {tmp_path}/go; do sleep 0.1; done")
        asker = cluster(tmp_path, *ends_later, options=options)
        asker.submit(SMALL, "run1-a")
        follow(asker, "run1-a", is_running)
        lab.stop_controller()
        asker.submit(SMALL, "run1-b")
        assert asker.poll(["run1-a"])["run1-a"] is not JobPhase.PENDING
        assert asker.poll(["run1-b"])["run1-b"] is not JobPhase.ENDED
        assert asker.find(["run1-b"]) == {"run1-b"}
        lab.start_controller()
        (tmp_path / "go").touch()
        for tag in ("run1-a", "run1-b"):
            assert follow(asker, tag, is_over).ending is Ending.SUCCESS
        names = lab.run("squeue", "-h", "-t", "all", "-o", "%j").stdout.split()
        assert sorted(names) == ["run1-a", "run1-b"]


def test_a_new_manager_finds_the_jobs_of_the_old_one(here: SlurmLab, tmp_path: Path) -> None:
    cluster(tmp_path).submit(SMALL, "run1-a")
    new = cluster(tmp_path)
    new.submit(SMALL, "run1-a")
    assert new.find(["run1-a", "run1-b"]) == {"run1-a"}
    follow(new, "run1-a", is_running)
    assert new.calls.get("sbatch", 0) == 0
    new.cancel(["run1-a"])
    assert new.poll(["run1-a"]) == {"run1-a": JobPhase.ENDED}
    wait_until(lambda: here.run("squeue", "-h").stdout == "", "Slurm to clean up after it")


def test_only_a_failed_query_is_repeated(here: SlurmLab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failing_once = f"""#!/bin/sh
mkdir {tmp_path}/failed 2> /dev/null && exit 1
exec {shutil.which("sinfo")} "$@"
"""
    reach(here, monkeypatch, in_front_of("sinfo", failing_once, here, tmp_path))
    commands = Commands()
    site = SlurmSite(commands, SlurmOptions(interval_s=0))
    site.wait_for_answer()
    assert commands.calls == {"squeue": 1, "sinfo": 2, "scontrol": 1}


def test_a_site_with_accounting_is_read_by_four_calls(accounted: SlurmLab) -> None:
    commands = Commands()
    site = SlurmSite(commands, SlurmOptions())
    site.wait_for_answer()
    assert commands.calls == {"squeue": 1, "sinfo": 1, "scontrol": 1, "sacctmgr": 1}
    assert (site.rights().account, site.rights().qos) == ("lab", "normal")


def test_a_command_that_reads_no_questions_is_called_for_each(here: SlurmLab, tmp_path: Path) -> None:
    deaf = tmp_path / "scontrol"
    deaf.write_text(f'#!/bin/sh\nexec {shutil.which("scontrol")} "$@" < /dev/null\n')
    deaf.chmod(0o755)
    asked = ("show config", "show partition")
    several = Commands().ask_all("scontrol", "--oneliner", questions=asked)
    commands = Commands()
    each = commands.ask_all(str(deaf), "--oneliner", questions=asked)
    assert commands.calls[str(deaf)] == 3
    assert [text and len(text.splitlines()) for text in each] == [text and len(text.splitlines()) for text in several]


def test_own_jobs_count_in_the_plan_before_the_queue_is_read_again(here: SlurmLab, tmp_path: Path) -> None:
    slurm = cluster(tmp_path, options=SlurmOptions(interval_s=500, nodes="whole"))
    assert slurm.snapshot().free[0] == 8
    slurm.submit(JobRequest(SMALL.per_node.replace(nodes=3)), "run1-a")
    assert slurm.snapshot().free[0] == 5
    slurm.submit(JobRequest(SMALL.per_node.replace(nodes=8)), "run1-b")
    slurm.cancel(["run1-b"])
    assert slurm.snapshot().free[0] == 5
    assert slurm.calls["squeue"] == 1  # also for the job that was cancelled while it waited
    slurm.cancel(["run1-a"])


def test_truncated_output_counts_as_no_answer() -> None:
    commands = Commands()
    assert commands.ask("printf", r"a\nb\n") == "a\nb\n"
    assert commands.ask("printf", r"a\nb") is None
    assert commands.ask("true") == ""


def test_every_call_to_the_controller_is_counted(
    here: SlurmLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    liar = lying(here, "errors", 0, 1)  # at rate 0 it records all calls and never lies
    reach(here, monkeypatch, liar.environment())
    slurm = cluster(tmp_path, "true")
    slurm.limits()
    slurm.snapshot()
    slurm.submit(SMALL, "run1-a")
    follow(slurm, "run1-a", is_over)
    slurm.submit(SMALL, "run1-b")
    slurm.cancel(["run1-b"])
    assert slurm.calls == Counter(call.command for call in liar.calls())
    assert set(slurm.calls) == {"sbatch", "squeue", "scancel", "sinfo", "scontrol"}


def test_a_constraint_that_no_node_meets_is_named(here: SlurmLab, tmp_path: Path) -> None:
    slurm = cluster(tmp_path, options=SlurmOptions(constraint="gold"))
    with pytest.raises(SiteError, match="no node of main, debug has gold; leave it out: nodes there have none"):
        slurm.limits()


# --- accounting ---


def in_front_of(command: str, script: str, lab: SlurmLab, path: Path) -> dict[str, str]:
    """Return the lab's environment with a script that replaces one command."""
    wrapper = path / "bin" / command
    wrapper.parent.mkdir()
    wrapper.write_text(script)
    wrapper.chmod(0o755)
    environment = lab.environment()
    return environment | {"PATH": f"{wrapper.parent}:{environment['PATH']}"}


def forgetful(lab: SlurmLab, path: Path) -> dict[str, str]:
    """Return the lab's environment with a squeue that shows no ended jobs."""
    script = f"""#!/bin/sh
shift 2
exec {shutil.which("squeue")} --noheader "$@"
"""
    return in_front_of("squeue", script, lab, path)


def test_sacct_reports_jobs_that_squeue_no_longer_lists(
    accounted: SlurmLab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reach(accounted, monkeypatch, forgetful(accounted, tmp_path))
    slurm = cluster(tmp_path, *WITHOUT_END_MARK, options=SlurmOptions(interval_s=0.5))
    slurm.submit(SMALL, "run1-a")
    number = follow(slurm, "run1-a", is_running).job_id
    wait_until((tmp_path / "jobs" / "run1-a" / ".ended-0").exists, "the job to work")
    accounted.run("scancel", str(number))
    news = follow(slurm, "run1-a", is_over)
    assert (news.job_id, news.ending) == (number, Ending.CANCELLED)
    assert news.message == f"it was cancelled by user {os.getuid()}, not by Headway"
    assert slurm.calls["sacct"] >= 1


def test_without_accounting_a_vanished_job_is_unknown_until_it_is_given_up(
    here: SlurmLab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reach(here, monkeypatch, forgetful(here, tmp_path))
    slurm = cluster(tmp_path, *WITHOUT_END_MARK, options=SlurmOptions(interval_s=0.2, open_s=3.0))
    slurm.submit(SMALL, "run1-a")
    number = follow(slurm, "run1-a", is_running).job_id
    wait_until((tmp_path / "jobs" / "run1-a" / ".ended-0").exists, "the job to work")
    here.run("scancel", str(number))
    gone = follow(slurm, "run1-a", lambda news: news.phase is not JobPhase.RUNNING)
    assert gone.phase is JobPhase.UNKNOWN
    assert slurm.find(["run1-a"]) == {"run1-a"}
    given_up = follow(slurm, "run1-a", is_over)
    assert (given_up.ending, given_up.message) == (
        Ending.NODE_LOST,
        "Slurm has forgotten it, and does not say how it ended",
    )
    assert len(given_up.nodes) == 1


def test_a_job_that_headway_cancelled_counts_as_cancelled_despite_its_end_mark(
    here: SlurmLab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """squeue no longer lists the job, and its end mark holds an exit code."""
    reach(here, monkeypatch, forgetful(here, tmp_path))
    slurm = cluster(tmp_path, "sh", "-c", "touch begun; sleep 1000", options=SlurmOptions(interval_s=0.2))
    slurm.submit(SMALL, "run1-a")
    folder = tmp_path / "jobs" / "run1-a"
    wait_until((folder / "begun").exists, "the job to work")
    slurm.cancel(["run1-a"])
    wait_until((folder / "ended-0").exists, "its mark")
    for asker in (slurm, cluster(tmp_path)):
        assert follow(asker, "run1-a", is_over).ending is Ending.CANCELLED


def test_jobs_beyond_the_users_submit_limit_are_held_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limited = Configuration(
        nodes=2, accounting=True, max_submitted_per_user=2, partitions=(Partition("main", max_time_min=60),)
    )
    with SlurmLab(limited) as lab:
        reach(lab, monkeypatch)
        slurm = cluster(tmp_path)
        assert slurm.most_jobs() == 2
        with pytest.raises(SiteError, match="you may have 2 jobs in the queue: a manager in a job"):
            manager_request({}, RunSettings(manager="job"), tmp_path, 3)
        slurm.submit(SMALL, "run1-a")
        slurm.submit(SMALL, "run1-b")
        wait_until(lambda: slurm.poll(["run1-a", "run1-b"])["run1-b"] is JobPhase.RUNNING, "both to run")
        slurm.submit(SMALL, "run1-c")
        held = slurm.news(["run1-c"])["run1-c"]
        assert (held.phase, held.message) == (
            JobPhase.PENDING,
            "you have 2 jobs in the queue and may have 2 (MaxSubmit of account lab)",
        )
        slurm.cancel(["run1-a"])
        follow(slurm, "run1-c", is_running)
        assert slurm.calls["sbatch"] == 3
        slurm.cancel(["run1-b", "run1-c"])
        # A run whose manager is in a job leaves room for the next manager.
        managed = cluster(tmp_path, options=structs.replace(QUICK, managed_in_job=True))
        assert managed.most_jobs() == 1
        managed.submit(SMALL, "run1-d")
        managed.submit(SMALL, "run1-e")
        assert managed.news(["run1-e"])["run1-e"].message.endswith("; one is kept for the next manager")
        managed.cancel(["run1-d", "run1-e"])


# --- the queue twin ---


def test_the_queue_twin_agrees_with_slurms_planned_starts(here: SlurmLab, tmp_path: Path) -> None:
    for minutes in (2, 3, 4, 5, 6, 7):
        here.submit("sleep 1000", "-N3", "--exclusive", f"--time={minutes}")
    slurm = cluster(tmp_path)

    def planned() -> bool:
        starts = here.run("squeue", "-h", "-t", "PENDING", "-o", "%S").stdout.split()
        return len(starts) == 4 and "N/A" not in starts

    wait_until(planned, "Slurm's plan")
    to_the_minute = Backfill(interval_s=60)  # the ends of planned jobs count in steps of a minute (`bf_resolution`)
    found = agreement(slurm._site.reading(), "main", to_the_minute, in_cores=True)
    assert found.jobs == found.same == 4
    assert abs(found.later_s or 0.0) <= 60
    plan = slurm.snapshot()
    assert plan.counts == "cores"
    assert plan.free[0] == 2 * 8
    assert plan.free[-1] == 8 * 8
    # No probes: with visible waiting jobs, the twin knows more than --test-only.
    assert slurm.calls.get("sbatch", 0) == 0


def test_the_queue_twin_is_corrected_by_at_most_five_probes(here: SlurmLab, tmp_path: Path) -> None:
    before = int(here.submit("true"))
    here.wait_for_job(before)
    slurm = cluster(tmp_path)
    assert slurm.snapshot().free == [64.0]
    assert 1 <= slurm.calls["sbatch"] <= 5
    assert here.run("squeue", "-h").stdout == ""  # nothing was submitted


def test_no_more_probes_follow_a_failed_one(here: SlurmLab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reach(here, monkeypatch, in_front_of("sbatch", "#!/bin/sh\nexit 1\n", here, tmp_path))
    slurm = cluster(tmp_path)
    assert slurm.snapshot().free == [64.0]
    assert slurm.calls["sbatch"] == 1


def test_doctor_reports_on_each_part_of_slurm(here: SlurmLab, tmp_path: Path) -> None:
    environment = {**os.environ, **here.environment(), "HEADWAY_HISTORY": "none"}
    doctor = [sys.executable, "-m", "headway", "doctor", "--on", "slurm", "--json", "-C", str(tmp_path)]
    done = subprocess.run(doctor, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for about in ('"slurm"', '"polling"', '"accounting"', '"partitions"', '"queue twin"', '"past waits"', '"calls"'):
        assert about in done.stdout
    environment["PATH"] = str(tmp_path)
    done = subprocess.run(doctor, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "no login node" in done.stdout


# --- lies ---


@pytest.mark.parametrize("lie", LIES)
def test_no_lie_loses_or_duplicates_a_job(
    slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lie: str
) -> None:
    liar = lying(slurm, lie, 0.25, 7, late_s=1.5)
    reach(slurm, monkeypatch, liar.environment())
    options = SlurmOptions(interval_s=0.3, timeout_s=1.0, resubmit_s=1.0, open_s=60.0)
    tags = ["run1-0", "run1-1"]
    script = 'echo "$SLURM_JOB_ID" >> ran; sleep 1'
    told = cluster(tmp_path, "sh", "-c", script, options=options)
    for tag in tags:
        told.submit(SMALL, tag)
    idle = cluster(tmp_path, options=options)
    idle.submit(SMALL, "run1-idle")
    for tag in tags:
        assert follow(told, tag, is_over).ending is Ending.SUCCESS
        ran = (tmp_path / "jobs" / tag / "ran").read_text().split()
        assert len(ran) == 1, "the job must run exactly once"
    follow(idle, "run1-idle", is_running)
    idle.cancel(["run1-idle"])
    assert follow(idle, "run1-idle", is_over).ending is Ending.CANCELLED
    assert any(call.lie for call in liar.calls())
    late = liar.wait_for_late_jobs()
    wait_until(
        lambda: told.news(tags) and idle.news(["run1-idle"]) and not slurm.run("squeue", "-h").stdout, f"{late} to go"
    )
    for tag in tags:
        assert len((tmp_path / "jobs" / tag / "ran").read_text().split()) == 1
